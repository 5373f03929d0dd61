package protocol

import (
	"strings"

	"vitrine/llm"
	"vitrine/llm/textcall"
)

// Models fall back to the forms that they were trained on, whatever form they are asked for: an object with name and arguments, alone or
// within marks of their own. Calls of tools that exist are read in these too.

// endOwn decides what a frame of the trained form is: JSON of all kinds begins so, and only a call of a tool that exists, with arguments and
// nothing else, is one.
func (f *frame) endOwn(whole bool) outcome {
	if !f.hasName || !f.hasArgs || f.foreign || !f.tools.has(f.name) {
		return isText
	}
	f.closeArgs(whole)
	return isCall
}

// maxMark is the longest mark of calls, in bytes.
const maxMark = 48

// readMark says whether text begins with a mark of the trained forms, and whether it may still become one.
func readMark(s string) (is, more bool) {
	if len(s) > maxMark {
		return false, false
	}
	for _, mark := range textcall.Openings() {
		is = is || strings.HasPrefix(s, mark)
		more = more || strings.HasPrefix(mark, s)
	}
	return is, more && !is
}

// inMarked keeps what follows a mark, to the end of the reply.
func (p *parser) inMarked(b byte) {
	if p.marked = append(p.marked, b); len(p.marked) > maxMarked {
		p.endMarked()
	}
}

// maxMarked bounds what may follow a mark, in bytes.
const maxMarked = 1 << 20

// endMarked reads the calls behind a mark. What follows them was written without their results; what are none is text.
func (p *parser) endMarked() {
	text := string(p.marked)
	p.marked, p.mode = nil, rest
	found, _ := textcall.Read(text, p.specs)
	if len(found) == 0 {
		p.thinking = false
		p.sayAll([]byte(text))
		return
	}
	for _, c := range found {
		if p.mode != stopped {
			p.call(c.Name, c.Arguments)
		}
	}
	p.mode = stopped
}

// notes gives what the client below tells, but that calls are in the text, where they are meant to be. Of what looks like one and was not read it
// tells what helps here.
func (p *parser) notes(notes []llm.Note) (out []llm.Note) {
	for _, n := range notes {
		if n.Code == llm.NoteToolText {
			if len(p.calls) > 0 {
				continue
			}
			n.Todo = "--protocol (AGENT_PROTOCOL) takes another form; /model changes the model"
		}
		out = append(out, n)
	}
	return out
}
