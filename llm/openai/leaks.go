package openai

import (
	"strings"

	"vitrine/llm"
	"vitrine/llm/textcall"
)

// leaks are the openings of calls that servers leave in the text when they have no parser for the model's way to call.
// Code is none: it is a part of many answers. It is immutable.
var leaks = textcall.Openings()

// bareLeak stands for the opening of a call that is JSON and all of the reply.
const bareLeak = `{"name": ...}`

// maxLeak bounds the text that may turn out to be a call, in bytes.
const maxLeak = 1 << 20

// leakFinder looks for calls in text. It only tells of them; with parse it holds back what begins as one and reads it at
// the end of the reply.
type leakFinder struct {
	parse  bool
	bare   bool            // a reply that is nothing but JSON may be a call
	found  string          // the opening that was found
	tail   string          // what may be the beginning of an opening
	before byte            // what stands before the tail
	held   strings.Builder // with parse, what follows an opening
	gave   bool            // too much was held
	json   strings.Builder // with bare, all that came
	other  bool            // what came is no JSON, or too much
}

// add takes in text and gives what of it to show.
func (f *leakFinder) add(s string) string {
	if s == "" {
		return ""
	}
	if f.found != "" {
		return f.hold(s)
	}
	if f.bare && !f.other {
		if s = f.wait(s); s == "" {
			return ""
		}
	}
	if f.tail == "" && strings.IndexByte(s, '<') < 0 && strings.IndexByte(s, '[') < 0 {
		f.before = s[len(s)-1]
		return s
	}
	joined := f.tail + s
	at := f.look(joined)
	f.tail = ""
	if at >= 0 && f.parse {
		return joined[:at] + f.hold(joined[at:])
	}
	if at >= 0 {
		return s
	}
	keep := len(joined) - opening(joined)
	f.tail = joined[keep:]
	if keep > 0 {
		f.before = joined[keep-1]
	}
	if f.parse {
		return joined[:keep]
	}
	return s
}

// look finds the first opening. One right behind a backtick is only spoken of.
func (f *leakFinder) look(s string) int {
	for from := 0; ; {
		at := -1
		for _, l := range leaks {
			if i := strings.Index(s[from:], l); i >= 0 && (at < 0 || from+i < at) {
				at, f.found = from+i, l
			}
		}
		before := f.before
		if at > 0 {
			before = s[at-1]
		}
		if at < 0 || before != '`' {
			return at
		}
		from = at + len(f.found)
		f.found = ""
	}
}

// opening says how many bytes at the end of s may begin an opening.
func opening(s string) (most int) {
	for _, l := range leaks {
		most = max(most, partOf(s, l))
	}
	return most
}

func (f *leakFinder) hold(s string) string {
	if !f.parse || f.gave {
		return s
	}
	if f.held.Len()+len(s) > maxLeak {
		f.gave = true
		s = f.held.String() + s
		f.held.Reset()
		return s
	}
	f.held.WriteString(s)
	return ""
}

// wait keeps text that is JSON from its first byte on, and gives what of it to show.
func (f *leakFinder) wait(s string) string {
	f.json.WriteString(s)
	all := f.json.String()
	begun := strings.TrimLeft(all, " \t\r\n")
	if f.other = begun != "" && begun[0] != '{' || len(all) > maxLeak; f.other {
		f.json.Reset()
		if f.parse {
			return all
		}
		return s
	}
	if f.parse {
		return ""
	}
	return s
}

// drop forgets all that came, since it was reasoning, and gives what of it was held back.
func (f *leakFinder) drop() (held string) {
	if f.parse {
		held = f.json.String() + f.held.String() + f.tail
	}
	*f = leakFinder{parse: f.parse, bare: f.bare}
	return held
}

// finish gives the calls that were held back, or the text when it is none.
func (f *leakFinder) finish(tools []llm.ToolSpec) (found []piece, text string) {
	if whole := f.json.String(); whole != "" && f.found == "" {
		calls := textcall.ReadBare(whole, tools)
		if len(calls) > 0 {
			f.found = bareLeak
		}
		switch {
		case !f.parse:
			return nil, ""
		case len(calls) == 0:
			return nil, whole
		}
		return read(calls), ""
	}
	text = f.held.String()
	if !f.parse {
		return nil, ""
	}
	if text == "" {
		return nil, f.tail
	}
	calls, rest := textcall.Read(text, tools)
	if rest != "" || len(calls) == 0 {
		return nil, text
	}
	return read(calls), ""
}

func read(calls []textcall.Call) (found []piece) {
	for _, c := range calls {
		found = append(found, piece{name: c.Name, args: c.Arguments, whole: true})
	}
	return found
}
