package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"vitrine/llm"
)

// The names of the file tools.
const (
	toolList  = "list_dir"
	toolRead  = "read_file"
	toolWrite = "write_file"
)

// maxFileLines bounds how many lines of a file an answer quotes.
const maxFileLines = 60

// A request about files is one message: what is to be written may hold anything, so it is understood before the message is cut into
// clauses. The patterns stand on folded text: lower case, half width, simplified, straight quotes. A path is quoted, or a word that
// looks like one; behind the word file it may look like any.
const (
	enPlease = `(?s)^\s*(?:(?:please|now|ok|okay|then|can you|could you|would you|hey)[, ]+)*`
	zhPlease = `(?s)^\s*(?:请|帮我|麻烦你?|你?能不能|现在|然后|\s)*`
	quoted   = "(?:\"[^\"\\n]+\"|'[^'\\n]+'|`[^`\\n]+`)"
	anyWord  = `(?:` + quoted + `|[^\s"'` + "`" + `,:;?!，。：；？！]+)`
	lazyWord = `(?:` + quoted + `|[^\s"'` + "`" + `,:;?!，。：；？！]+?)`
	pathWord = `(?:` + quoted + `|[^\s"'` + "`" + `,:;?!，。：；？！]*(?:\.[a-z][a-z0-9]{0,7}|/[^\s"'` + "`" + `,:;?!，。：；？！]*)|readme|license|makefile|dockerfile)`
	fileWord = `(?:(?:the |a |an )?(?:new |empty |text )*file (?:called |named )?(?P<any>` + anyWord + `)|(?:the )?(?P<path>` + pathWord + `))`
	zhFile   = `(?:(?:一个)?(?:新|空)?的?文件\s*(?P<any>` + lazyWord + `)|(?P<path>` + pathWord + `))`
	fullStop = `[\s.!?。]*$`
)

// filePattern is one way to ask.
type filePattern struct {
	re     *regexp.Regexp
	action string
	lang   lang
}

// filePatterns are tried in order. The table is immutable.
var filePatterns = sync.OnceValue(func() []filePattern {
	return []filePattern{
		{regexp.MustCompile(enPlease + `(?:list|show me|show)(?: me)?(?: all)?(?: the| my| of the)* (?:files|folders?|director(?:y|ies))(?: and folders)?(?: (?:in|of|under|inside|from)(?: the)?(?: folder| directory)? (?P<any>` + anyWord + `(?: (?:folder|directory))?)| here)?` + fullStop), toolList, english},
		{regexp.MustCompile(enPlease + `(?:what|which) files (?:are|do you see|can you see|do we have|exist)(?: there)?(?: (?:in|under|inside)(?: the)?(?: folder| directory)? (?P<any>` + anyWord + `(?: (?:folder|directory))?)| here)?` + fullStop), toolList, english},
		{regexp.MustCompile(enPlease + `(?:ls|dir)(?: (?P<any>` + anyWord + `))?` + fullStop), toolList, english},
		{regexp.MustCompile(enPlease + `(?:read|open|show me|show|print|cat|display|view|what is in|what's in)(?: me)?(?: the content of| the contents of)? ` + fileWord + fullStop), toolRead, english},
		{regexp.MustCompile(enPlease + `(?:write|create|make|save|overwrite) ` + fileWord + `(?: (?:with|containing|saying|that says|holding|to say)|\s*:)(?: (?:the )?(?:content|contents|text)\b)?:?\s*(?P<content>\S.*)$`), toolWrite, english},
		{regexp.MustCompile(enPlease + `(?:create|make) ` + `(?:the |a |an )?(?:new |empty |text )*file (?:called |named )?(?P<any>` + anyWord + `)` + fullStop), toolWrite, english},
		{regexp.MustCompile(enPlease + `(?:write|save|put) (?P<tail>\S.*?)\s+(?:to|into|in) ` + fileWord + fullStop), toolWrite, english},

		{regexp.MustCompile(zhPlease + `(?:列出|列一下|列|显示|看看|看一下|查看)(?:一下)?\s*(?:(?P<any>` + lazyWord + `)\s*(?:目录|文件夹)?(?:里面?|下面?|中)?的?)?(?:所有|全部)?的?(?:文件(?:列表)?|目录)` + fullStop), toolList, chinese},
		{regexp.MustCompile(zhPlease + `(?:看看|看一下|查看|告诉我|列出)?\s*(?:(?P<any>` + lazyWord + `)\s*)?(?:目录|文件夹)?(?:里面?|下面?|中)?\s*(?:有|都有)(?:哪些|什么)文件` + fullStop), toolList, chinese},
		{regexp.MustCompile(zhPlease + `(?:读取|读一下|读|打开|显示|查看|看看|看一下)(?:一下)?\s*` + zhFile + `\s*(?:文件)?(?:的?内容)?` + fullStop), toolRead, chinese},
		{regexp.MustCompile(zhPlease + `(?:写入|写|创建|新建|建|保存)\s*` + zhFile + `\s*(?:文件)?[\s,，]*(?:内容(?:为|是|写)?|写入|写上|:)[\s:：]*(?P<content>\S.*)$`), toolWrite, chinese},
		{regexp.MustCompile(zhPlease + `(?:创建|新建|建)\s*(?:一个)?(?:新|空)?的?文件\s*(?P<any>` + anyWord + `)` + fullStop), toolWrite, chinese},
		{regexp.MustCompile(zhPlease + `(?:把|将)\s*(?P<tail>\S.*?)\s*(?:写入|写到|写进|保存到|存到|存入)\s*` + zhFile + `(?:文件)?(?:里面?|中)?` + fullStop), toolWrite, chinese},
	}
})

// fileRequest understands a message that asks for something to be done with a file.
func fileRequest(text string) (intent, bool) {
	text = clean(text)
	p := newPhrase(strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
	for _, fp := range filePatterns() {
		at := fp.re.FindStringSubmatchIndex(p.f)
		if at == nil {
			continue
		}
		in := intent{kind: intentFile, action: fp.action, lang: fp.lang}
		part := func(name string) (s string, from int) {
			i := fp.re.SubexpIndex(name)
			if i < 0 || at[2*i] < 0 {
				return "", -1
			}
			before, _ := p.at(at[2*i])
			upTo, _ := p.at(at[2*i+1])
			return upTo.s[len(before.s):], len(before.s)
		}
		for _, name := range []string{"any", "path"} {
			if s, from := part(name); from >= 0 {
				in.path = unquoted(s)
			}
		}
		content, from := part("tail")
		if from >= 0 && len(text) > len(p.s) {
			continue // its end was not looked at
		}
		if _, from = part("content"); from >= 0 {
			content = text[from:] // with what was not
		}
		if in.text = written(content); in.pathFits() {
			return in, true
		}
	}
	return intent{}, false
}

// pathFits checks the path, and gives the folder itself its name.
func (in *intent) pathFits() bool {
	if in.action == toolList {
		for _, w := range []string{" folder", " directory"} {
			in.path = strings.TrimSuffix(in.path, w)
		}
		switch fold(in.path) {
		case "", "here", "this", "the current", "this folder", "current", "current folder", "当前", "所有", "全部", "我的", "当前目录", "当前文件夹", "这个", "这里", "这个目录", "这个文件夹", "本":
			in.path = "."
		}
	}
	return in.path != "" && !isNumber(strings.NewReplacer("/", "", ".", "").Replace(in.path))
}

// unquoted takes quotes off that stand around all of s.
func unquoted(s string) string {
	f := fold(s)
	if len(f) >= 2 && strings.ContainsRune("\"'`", rune(f[0])) && f[len(f)-1] == f[0] && strings.Count(f, f[:1]) == 2 {
		runes := []rune(s)
		return string(runes[1 : len(runes)-1])
	}
	return s
}

var fenced = regexp.MustCompile("(?s)^```[^\\n`]*\\n(.*?)\\n?```$")

// written is the content that a message gives for a file: without the quotes or the fence around it, with a line end.
func written(s string) string {
	s = strings.TrimSpace(s)
	if m := fenced.FindStringSubmatch(s); m != nil {
		s = m[1]
	} else {
		s = unquoted(s)
	}
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

// files answers a request about files: with the call that comes next, or with what came of it. A file is read before it is
// written, as write_file demands of one that is there.
func (a answerer) files(in intent) reply {
	next := in.action
	if n := len(a.results); n > 0 {
		last := a.results[n-1]
		goOn := in.action == toolWrite && last.call.Name == toolRead && (last.OK || last.Error != nil && last.Error.Code == "not_found")
		switch {
		case !goOn:
			return reply{text: a.shown(last)}
		case last.OK && in.text == "":
			return reply{text: fmt.Sprintf(a.t.fileThere, in.path)}
		}
	} else if in.action == toolWrite {
		next = toolRead
	}
	if !a.tools[next] {
		return reply{text: fmt.Sprintf(a.t.noTool, next)}
	}
	args := object("path", in.path)
	if next == toolWrite {
		args = object("path", in.path, "content", in.text)
	}
	return reply{calls: []llm.ToolCall{{Name: next, Arguments: args}}}
}

// fileData is the data of a result of a file tool.
type fileData struct {
	Path    string   `json:"path"`
	Entries string   `json:"entries"`
	Names   []string `json:"names"`
	Lines   string   `json:"lines"`
	Form    string   `json:"form"`
	Text    string   `json:"text"`
	Change  string   `json:"change"`
	Note    string   `json:"note"`
}

// fileDone says what a file tool's result said; ok is false when it has another shape.
func (a answerer) fileDone(r result) (text string, ok bool) {
	var d fileData
	if json.Unmarshal(r.Data, &d) != nil || d.Path == "" {
		return "", false
	}
	switch r.call.Name {
	case toolList:
		return a.fileList(d), true
	case toolRead:
		return a.fileText(d), true
	}
	return noted(fmt.Sprintf(a.t.wrote, d.Path, d.Change), d.Note), true
}

func (a answerer) fileList(d fileData) string {
	if d.Path == "." {
		d.Path = a.t.here
	}
	if len(d.Names) == 0 {
		return fmt.Sprintf(a.t.folderEmpty, d.Path)
	}
	of, _, _ := strings.Cut(d.Entries, ",")
	return fmt.Sprintf(a.t.folder, d.Path, of) + "\n\n" + fence(strings.Join(d.Names, "\n"))
}

func (a answerer) fileText(d fileData) string {
	if d.Text == "" {
		return fmt.Sprintf(a.t.fileEmpty, d.Path)
	}
	of, _, _ := strings.Cut(d.Lines, ",")
	head := fmt.Sprintf(a.t.file, d.Path, of)
	if d.Form != "" {
		head += " (" + oneLine(d.Form) + ")"
	}
	lines := strings.Split(strings.TrimSuffix(d.Text, "\n"), "\n")
	for i, l := range lines {
		if _, text, ok := strings.Cut(l, "\t"); ok {
			lines[i] = text
		}
	}
	more := ""
	if len(lines) > maxFileLines {
		lines, more = lines[:maxFileLines], "\n\n…"
	}
	return head + "\n\n" + fence(strings.Join(lines, "\n")) + more
}

// fence writes text so that Markdown leaves it as it is.
func fence(s string) string {
	mark := "```"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	return mark + "text\n" + s + "\n" + mark
}
