package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"vitrine/llm"
)

// toolbox knows the tools of a request by their names in lower case.
type toolbox map[string]llm.ToolSpec

func newToolbox(tools []llm.ToolSpec) toolbox {
	t := toolbox{}
	for _, spec := range tools {
		t[lower(spec.Name)] = spec
	}
	return t
}

func (t toolbox) has(name string) bool {
	_, ok := t[lower(strings.TrimSpace(name))]
	return ok
}

// plain makes arguments of a text that is no object. A tool that takes one text, and needs nothing else, gets it as that;
// otherwise the text stays as it is, for an error that quotes it.
func (t toolbox) plain(name, text string) string {
	trimmed := strings.TrimSpace(text)
	switch {
	case slices.Contains([]string{"", "none", "null", "n/a"}, lower(trimmed)):
		return ""
	case strings.IndexByte("{[", trimmed[0]) >= 0:
		return trimmed
	}
	var schema struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
	spec := t[lower(strings.TrimSpace(name))]
	if json.Unmarshal(spec.Schema, &schema) != nil {
		return text
	}
	only := ""
	switch {
	case len(schema.Required) == 1:
		only = schema.Required[0]
	case len(schema.Properties) == 1:
		for only = range schema.Properties {
		}
	}
	if schema.Properties[only].Type != "string" {
		return text
	}
	var unquoted string
	if json.Unmarshal([]byte(trimmed), &unquoted) == nil {
		trimmed = unquoted
	}
	b, err := json.Marshal(map[string]string{only: trimmed})
	if err != nil {
		return text
	}
	return string(b)
}

// inName reads the name behind Action:, on the same line or the next that is not empty.
func (p *parser) inName(b byte) {
	if len(p.held) == 0 && (isSpace(b) || b == '*' || b == '_') {
		p.pre = append(p.pre, b)
		return
	}
	p.held = append(p.held, b)
	if c := p.held[0]; c == '{' || c == '`' {
		at, ok, more := readOpener(string(p.held))
		switch {
		case ok:
			s := p.release()
			p.labelled, p.mode = true, prose
			p.enterFrame(s[:at])
			return
		case more:
			return
		}
	}
	switch {
	case b == '\n':
		p.endName()
	case len(p.held) > maxName:
		p.noAction(p.release())
	}
}

// noAction takes what looked like an action as text.
func (p *parser) noAction(s []byte) {
	p.mode = prose
	p.sayAll(p.pre)
	p.sayAll(s)
	if len(s) > 0 && s[len(s)-1] == '\n' {
		p.bol, p.lines = true, 1
	}
}

// endName takes the line of the name as a whole. A call may stand in it with its arguments, as in name(arguments).
func (p *parser) endName() {
	line := p.release()
	p.pre = append(p.pre, line...)
	name := strings.TrimSpace(string(line))
	if i := strings.IndexAny(name, "([{"); i > 0 && p.tools.has(name[:i]) {
		args := strings.TrimRight(name[i:], " `*")
		if c := args[len(args)-1]; args[0] != '{' && (c == ')' || c == ']') {
			args = args[1 : len(args)-1]
		}
		name = strings.TrimSpace(name[:i])
		p.call(name, p.tools.plain(name, args))
		return
	}
	var quoted string
	if json.Unmarshal([]byte(name), &quoted) == nil {
		p.name = quoted
	} else {
		p.name = strings.Trim(name, " \t\r*_`[]'\"")
	}
	p.mode, p.bol, p.lines = named, true, 0
}

// afterName looks for the input behind a name.
func (p *parser) afterName(b byte) {
	if len(p.held) == 0 && isSpace(b) {
		p.pre = append(p.pre, b)
		p.bol = p.bol || b == '\n'
		return
	}
	p.held = append(p.held, b)
	l, size, more := readLabel(string(p.held))
	switch {
	case l == inputLabel:
		s := p.release()
		p.mode, p.input = inInput, input{}
		p.reread(s[size:])
	case l == noLabel && more && len(p.held) < maxLabel:
	case l == noLabel && strings.IndexByte("{`", p.held[0]) >= 0:
		s := p.release()
		p.mode, p.input = inInput, input{}
		p.reread(s)
	default:
		s := p.release()
		p.endNamed()
		p.bol = true
		p.reread(s)
	}
}

// endNamed decides on a name without input.
func (p *parser) endNamed() {
	name := lower(p.name)
	switch {
	case p.tools.has(p.name):
		p.call(p.name, "")
	case slices.Contains(finalWords, name), name == "":
		p.mode, p.thinking, p.labelled = prose, false, true
	case p.labelled:
		p.call(p.name, "")
	default:
		p.noAction(nil)
	}
	p.sayHeld()
}

func (p *parser) sayHeld() {
	if s := p.release(); p.mode == prose {
		p.sayAll(s)
	}
}

// input is what is read of an action's input.
type input struct {
	text   []byte
	begun  bool
	json   bool // it started with a brace or a bracket
	fence  bool
	depth  int
	quoted bool
	escape bool
	line   []byte // the beginning of the current line, when it is not the first
	inLine bool
	start  int // where in text the current line starts
}

// inInput reads an action's input: an object to its closing brace, anything else to the next label.
func (p *parser) inInput(b byte) {
	in := &p.input
	if len(in.text) >= maxFrame {
		p.err = &llm.Error{Kind: llm.ErrTooLarge, Message: "the input of an action in the reply is too long"}
		return
	}
	in.text = append(in.text, b)
	if b == '\n' {
		in.line, in.inLine, in.start = in.line[:0], true, len(in.text)
	} else if in.inLine && len(in.line) < maxLabel {
		in.line = append(in.line, b)
		if l, size, _ := readLabel(string(in.line)); l != noLabel {
			line := append([]byte(nil), in.line...)
			in.text = in.text[:in.start]
			p.endInput()
			p.afterInput(l, size, line)
			return
		}
	}
	if !in.begun {
		p.beginInput(b)
		return
	}
	if in.json && in.scan(b) {
		p.endInput()
	}
}

// afterInput goes on at a label that ended an input.
func (p *parser) afterInput(l label, size int, line []byte) {
	if p.mode == stopped {
		return
	}
	p.bol = true
	p.held = append(p.held[:0], line...)
	p.follow(l, size)
}

func (p *parser) beginInput(b byte) {
	in := &p.input
	trimmed := strings.TrimLeft(string(in.text), " \t\r\n*_")
	if trimmed == "" {
		return
	}
	if strings.HasPrefix("```", trimmed) && len(trimmed) < 3 {
		return
	}
	if strings.HasPrefix(trimmed, "```") {
		n := 3
		for n < len(trimmed) && isWord(trimmed[n]) {
			n++
		}
		if n = skipSpace(trimmed, n); n == len(trimmed) {
			return
		}
		in.fence = true
	}
	in.begun = true
	if b == '{' || b == '[' {
		in.json = true
		in.scan(b)
	}
}

// scan follows an object and reports its end.
func (in *input) scan(b byte) bool {
	switch {
	case in.escape:
		in.escape = false
	case in.quoted:
		in.escape = b == '\\'
		in.quoted = b != '"'
	case b == '"':
		in.quoted = true
	case b == '{', b == '[':
		in.depth++
	case b == '}', b == ']':
		in.depth--
		return in.depth == 0
	}
	return false
}

// endInput makes the call, or the answer where the name says that it is one.
func (p *parser) endInput() {
	text := strings.TrimLeft(strings.TrimSpace(string(p.input.text)), "*_ ")
	if p.input.fence {
		text = strings.TrimPrefix(text, "```")
		text = strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "```"))
	}
	if inner := strings.Trim(text, "`"); !p.input.fence && text != "" && text[0] == '`' && (text[len(text)-1] == '`' || strings.HasPrefix(inner, "{")) {
		text = strings.TrimSpace(inner) // code in a line
	}
	p.input = input{}
	if slices.Contains(finalWords, lower(p.name)) && !p.tools.has(p.name) {
		var unquoted string
		if json.Unmarshal([]byte(text), &unquoted) == nil {
			text = unquoted
		}
		p.thinking, p.mode = false, ended
		p.text.WriteString(text)
		return
	}
	p.call(p.name, p.tools.plain(p.name, text))
}
