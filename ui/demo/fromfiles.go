package demo

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
)

// The tools of files, whose results tell what lay in the folder.
const (
	readTool, listTool, writeTool = "read_file", "list_dir", "write_file"
)

// Bounds of what is made up of a file of which parts are known.
const (
	mostLines    = 20_000
	longestLine  = 64 << 10
	mostPadding  = 1 << 20
	mostText     = 1 << 20 // of all files
	mostOldFiles = mostFiles
)

// storyFiles are the files that a session found in its folder, as far as its results and its attachments tell: as they were before it
// wrote them. It is fed the session's messages in order.
type storyFiles struct {
	all  map[string]*oldFile
	args map[string]json.RawMessage // of calls by their ids
}

// oldFile is a file that was there, or a folder: its name ends in a slash.
type oldFile struct {
	was     bool           // before the session wrote it
	written bool           // by the session: what is read from now on is its own
	text    string         // when it is known as a whole
	lines   map[int]string // else those that were read
	total   int
	form    string
}

// fileResult is what results of the tools of files have of use here.
type fileResult struct {
	OK   bool `json:"ok"`
	Data struct {
		Path   string   `json:"path"`
		Lines  string   `json:"lines"`
		Form   string   `json:"form"`
		Text   string   `json:"text"`
		Change string   `json:"change"`
		Names  []string `json:"names"`
	} `json:"data"`
}

// file gives what is known of a file; nil for one that a script cannot have.
func (s *storyFiles) file(name string) *oldFile {
	f := s.all[name]
	if f == nil && len(s.all) < mostOldFiles {
		if _, err := (&Script{Files: map[string]string{name: ""}}).checkFiles(); err != nil {
			return nil
		}
		f = &oldFile{}
		s.all[name] = f
	}
	return f
}

// message takes one of the session's stored messages.
func (s *storyFiles) message(m runtime.MessageRow) {
	switch m.Kind {
	case llm.KindUser:
		_, files := attach.Split(m.Content)
		for _, f := range files {
			s.attached(f)
		}
	case llm.KindAssistant:
		for _, c := range m.ToolCalls {
			s.args[c.ID] = json.RawMessage(c.Arguments)
		}
	case llm.KindTool:
		s.result(m)
	}
}

// attached takes a file of an input.
func (s *storyFiles) attached(a attach.File) {
	switch a.Refused {
	case "":
		if f := s.file(a.Name); f != nil && !f.was && !f.written {
			f.was = true
			f.text = a.Text + strings.Repeat("\n", int(min(max(a.Bytes-int64(len(a.Text)), 0), mostPadding)))
		}
	case attach.Folder:
		if f := s.file(strings.TrimSuffix(a.Name, "/") + "/"); f != nil {
			f.was = true
		}
	}
}

// result takes what a tool gave.
func (s *storyFiles) result(m runtime.MessageRow) {
	var r fileResult
	if err := json.Unmarshal([]byte(m.Content), &r); err != nil || !r.OK {
		return // it is cut, or tells of no file
	}
	var args struct{ Path, Content string }
	_ = json.Unmarshal(s.args[m.ToolCallID], &args) // without them the result has to do
	switch m.ToolName {
	case readTool:
		for _, name := range []string{r.Data.Path, path.Clean(args.Path)} { // the second may have been a link to the first
			if f := s.file(name); f != nil && name != "." {
				f.read(r)
			}
		}
	case writeTool:
		if f := s.file(r.Data.Path); f != nil {
			if r.Data.Change == "unchanged" && !f.was && !f.written {
				f.was, f.text = true, args.Content
			}
			f.written = true
		}
	case listTool:
		for _, name := range r.Data.Names {
			if strings.HasSuffix(name, ")") || strings.HasSuffix(name, "]") || strings.Contains(name, " -> ") || strings.Contains(name, "<") {
				continue // a remark, a link, a name with signs that do not show
			}
			listed := path.Join(r.Data.Path, name)
			if strings.HasSuffix(name, "/") {
				listed += "/"
			}
			if f := s.file(listed); f != nil && !f.written {
				f.was = true
			}
		}
	}
}

var (
	linesOf   = regexp.MustCompile(`^\d+-\d+ of (?:more than )?(\d+)`)
	clipped   = regexp.MustCompile(`^(.*) \[the line has (\d+) bytes; the first \d+ are shown\]$`)
	crlfLines = regexp.MustCompile(`CRLF in (\d+) lines`)
)

// read takes lines that were read.
func (f *oldFile) read(r fileResult) {
	if f.written || f.text != "" {
		return
	}
	f.was, f.form = true, r.Data.Form
	if m := linesOf.FindStringSubmatch(r.Data.Lines); m != nil {
		f.total, _ = strconv.Atoi(m[1])
	}
	if f.lines == nil {
		f.lines = map[int]string{}
	}
	for row := range strings.Lines(r.Data.Text) {
		number, line, _ := strings.Cut(strings.TrimSuffix(row, "\n"), "\t")
		n, err := strconv.Atoi(number)
		if _, known := f.lines[n]; known || err != nil || n < 1 || n > mostLines {
			continue
		}
		if m := clipped.FindStringSubmatch(line); m != nil {
			long, _ := strconv.Atoi(m[2])
			line = m[1] + strings.Repeat(".", max(0, min(long-1, longestLine)-len(m[1])))
		}
		f.lines[n] = line
	}
}

// content is the file as far as it is known; lines that were not read are empty.
func (f *oldFile) content() string {
	if f.text != "" {
		return f.text
	}
	var b strings.Builder
	if strings.Contains(f.form, "byte order mark") {
		b.WriteString("\ufeff")
	}
	total, returns := min(f.total, mostLines), 0
	if m := crlfLines.FindStringSubmatch(f.form); m != nil {
		returns, _ = strconv.Atoi(m[1])
	} else if strings.Contains(f.form, "CRLF") {
		returns = total
	}
	for n := 1; n <= total; n++ {
		b.WriteString(f.lines[n])
		switch {
		case n == total && strings.Contains(f.form, "no line end after the last line"):
		case n <= returns:
			b.WriteString("\r\n")
		default:
			b.WriteString("\n")
		}
	}
	return b.String()
}

// table is the table [files] of what was there. A name that is a file at one time and a folder at another is what has more in it, and
// texts beyond the bound are cut.
func (s *storyFiles) table(hide func(string) string) map[string]string {
	found, left := map[string]string{}, mostText
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		if f := s.all[name]; f.was {
			text := hide(f.content())
			if len(text) > left {
				text = strings.ToValidUTF8(text[:left], "")
			}
			left -= len(text)
			found[hide(name)] = text
		}
	}
	for name := range found {
		bare, folder := strings.CutSuffix(name, "/")
		for dir := path.Dir(bare); dir != "."; dir = path.Dir(dir) {
			delete(found, dir)
			delete(found, dir+"/") // a folder is there with what is in it
		}
		if _, ok := found[bare]; ok && folder {
			delete(found, name)
		}
	}
	return found
}
