package protocol

import (
	"fmt"
	"strings"

	"vitrine/llm"
)

// mode is what the parser reads.
type mode int

const (
	prose   mode = iota // text, in which a call may start
	object              // within a JSON object that is no frame
	fenced              // within a code fence that holds no frame
	inFrame             // a JSON object that may be a frame, or is one
	inName              // behind Action:
	named               // behind the line with the name
	inInput             // behind Action Input:
	answer              // behind Final Answer:, before its text
	rest                // all that follows is the answer
	over                // behind a call
	marked              // behind a mark of the form that a model was trained on
	ended               // behind an answer: nothing more is taken
	stopped             // the reply is over, whatever still comes
)

// maxCalls bounds the calls of one reply.
const maxCalls = 64

// parser turns the text of a reply, in pieces of any size, into text, thought and calls.
type parser struct {
	tools toolbox
	mode  mode
	bol   bool // nothing but space stands before the next byte on its line
	lines int  // line breaks since the last byte that is no space
	// thinking: what is read is a thought. labelled: a label was seen, so that others are taken for labels too.
	thinking, labelled bool
	marks              bool   // what closes the emphasis of a label may come
	again              mode   // where a frame began
	held               []byte // not yet known what it is
	pre                []byte // what stood before the brace of a frame: a fence or a list
	frame              *frame
	name               string // of an action whose input is not read yet
	input              input
	depth              int // within an object that is no frame
	inStr              bool
	inEsc              bool
	line               []byte // of a fence
	extra              int    // bytes behind an answer
	marked             []byte // from a mark on
	specs              []llm.ToolSpec

	text, thought sink
	thoughts      strings.Builder // all thought so far, bounded
	pieces        []llm.Chunk
	calls         []llm.ToolCall
	taken         int // bytes of what is held back
	err           error
}

func newParser(tools []llm.ToolSpec) *parser {
	return &parser{tools: newToolbox(tools), specs: tools, bol: true}
}

// write takes the next piece of the reply.
func (p *parser) write(s string) {
	for i := 0; i < len(s) && p.mode != stopped && p.err == nil; i++ {
		p.step(s[i])
	}
	p.flush()
}

// take gives what came out since the last time.
func (p *parser) take() []llm.Chunk {
	pieces := p.pieces
	p.pieces = nil
	return pieces
}

// flush makes chunks of the text that is there. Thought and text keep their order: one is flushed when the other begins.
func (p *parser) flush() {
	if t := p.thought.take(); t != "" {
		if p.thoughts.Len() < maxKeptThought {
			p.thoughts.WriteString(t)
		}
		p.pieces = append(p.pieces, llm.Chunk{Reasoning: t})
	}
	if t := p.text.take(); t != "" {
		p.pieces = append(p.pieces, llm.Chunk{Text: t})
	}
}

func (p *parser) step(b byte) {
	switch p.mode {
	case prose, over:
		p.inProse(b)
	case object:
		p.inObject(b)
	case fenced:
		p.inFence(b)
	case inFrame:
		p.addFrame(b)
	case inName:
		p.inName(b)
	case named:
		p.afterName(b)
	case inInput:
		p.inInput(b)
	case marked:
		p.inMarked(b)
	case answer:
		p.beforeAnswer(b)
	case rest:
		p.say(b)
	case ended:
		if p.extra++; p.extra > maxExtra {
			p.mode = stopped
		}
	}
}

// maxExtra is how much behind an answer is read for the sake of the usage that the server reports at its end.
const maxExtra = 4 << 10

// say gives a byte to the thought or the text.
func (p *parser) say(b byte) {
	if p.thinking {
		_ = p.thought.WriteByte(b) // a sink never fails
		return
	}
	_ = p.text.WriteByte(b)
}

func (p *parser) sayAll(s []byte) {
	for _, b := range s {
		p.say(b)
	}
}

// reread reads bytes that were held back, in the mode that holds now.
func (p *parser) reread(s []byte) {
	for i := 0; i < len(s) && p.mode != stopped; i++ {
		p.step(s[i])
	}
}

// release takes the bytes that were held back.
func (p *parser) release() []byte {
	s := append([]byte(nil), p.held...)
	p.held = p.held[:0]
	return s
}

// inProse reads text. At the start of a line stands a label, a fence or a list with a frame; a frame stands anywhere.
func (p *parser) inProse(b byte) {
	if p.marks = p.marks && (isSpace(b) || b == '*' || b == '_'); p.marks && !isSpace(b) {
		return
	}
	if len(p.held) == 0 && isSpace(b) {
		if p.mode == prose {
			p.say(b)
		}
		if b == '\n' {
			p.bol = true
			p.lines++
		}
		return
	}
	p.held = append(p.held, b)
	l, at, seen := p.look()
	switch seen {
	case wait:
		return
	case aLabel:
		p.follow(l, at)
		return
	case anObject:
		s := p.release()
		p.enterFrame(s[:at])
		return
	case aMark:
		p.marked, p.mode = p.release(), marked
		return
	}
	s := p.release()
	if p.mode == over {
		p.beyond(s)
		return
	}
	if p.thinking && p.lines > 1 {
		p.thinking = false // a thought is one paragraph
	}
	p.bol, p.lines = false, 0
	if s[0] == '`' && strings.HasPrefix(string(s), "```") {
		p.mode, p.line = fenced, append(p.line[:0], ' ')
		p.reread(s)
		return
	}
	p.say(s[0])
	p.reread(s[1:])
}

// beyond reads what stands behind a call and starts nothing: what closes a fence or a list is dropped, anything else was
// written without the result, so the reply ends.
func (p *parser) beyond(s []byte) {
	p.bol = false
	switch {
	case strings.IndexByte(",;]}", s[0]) >= 0:
		p.reread(s[1:])
	case strings.HasPrefix(string(s), "```"):
		n := 3
		for n < len(s) && isWord(s[n]) {
			n++
		}
		p.reread(s[n:])
	case len(p.calls) == 0: // behind a frame that said nothing
		p.mode = prose
		p.reread(s)
	default:
		p.mode = stopped
	}
}

type seen int

const (
	wait seen = iota
	plain
	aLabel
	anObject
	aMark
)

// look says what the bytes that are held back begin.
func (p *parser) look() (l label, at int, _ seen) {
	s := string(p.held)
	if p.bol || p.mode == over {
		l, at, more := readLabel(s)
		if p.bol && l != noLabel {
			return l, at, aLabel
		}
		is, mark := readMark(s)
		switch {
		case is && len(p.calls) == 0:
			return noLabel, 0, aMark
		case p.bol && more, mark && len(p.calls) == 0:
			return noLabel, 0, wait
		}
		if at, ok, more := readOpener(s); ok {
			return noLabel, at, anObject
		} else if more {
			return noLabel, 0, wait
		}
		return noLabel, 0, plain
	}
	if s[0] == '{' {
		return noLabel, 0, anObject
	}
	return noLabel, 0, plain
}

// follow goes where a label leads. size is how much of what is held back it takes.
func (p *parser) follow(l label, size int) {
	s := p.release()
	behind := p.mode == over && len(p.calls) > 0
	p.bol, p.lines = false, 0
	switch {
	case behind && l != actionLabel:
		p.mode = stopped // what follows a call was made up
	case l == observationLabel && p.labelled:
		p.mode = stopped
	case l == observationLabel, l == inputLabel:
		p.mode = prose
		p.sayAll(s[:size])
		p.reread(s[size:])
	case l == thoughtLabel:
		p.mode, p.thinking, p.labelled, p.marks = prose, true, true, true
		p.reread(s[size:])
	case l == actionLabel:
		p.mode, p.name = inName, ""
		p.pre = append(p.pre[:0], s[:size]...)
		p.reread(s[size:])
	case l == answerLabel:
		p.mode, p.thinking, p.labelled = answer, false, true
		p.reread(s[size:])
	}
}

// enterFrame reads an object behind pre.
func (p *parser) enterFrame(pre []byte) {
	if p.mode != inFrame {
		p.again = p.mode
	}
	p.pre = append(p.pre[:0], pre...)
	p.mode, p.taken = inFrame, 0
	p.frame = &frame{tools: p.tools, stream: func(f field, b byte) {
		to := &p.text
		if f == thoughtOf {
			to = &p.thought
		}
		if len(p.calls) > 0 && f == answerOf {
			return // an answer behind a call was made up
		}
		_ = to.WriteByte(b) // a sink never fails
	}}
	p.addFrame('{')
}

func (p *parser) addFrame(b byte) {
	if !p.frame.answered {
		p.taken++
	}
	if p.taken > maxFrame && p.frame.own { // it is long JSON, and no call
		p.leaveObject()
		return
	}
	if p.taken > maxFrame {
		p.err = &llm.Error{Kind: llm.ErrTooLarge, Message: fmt.Sprintf("a call in the reply is longer than %d MiB", maxFrame>>20)}
		return
	}
	switch p.frame.add(b) {
	case noFrame:
		p.leaveObject()
	case closed:
		p.endFrame(true)
	case broken:
		p.endFrame(false)
	}
}

// leaveObject goes on after an object that is no frame: within it nothing starts a call.
func (p *parser) leaveObject() {
	raw := p.frame.raw
	p.frame = nil
	if p.again == over && len(p.calls) > 0 {
		p.mode = stopped
		return
	}
	isFence := len(p.pre) > 0 && p.pre[0] == '`'
	p.leaveThought()
	p.bol, p.lines = false, 0
	switch {
	case p.again == answer:
		p.mode = rest
	case isFence:
		p.mode, p.line = fenced, append(p.line[:0], ' ')
	case len(strings.TrimLeft(string(raw[1:]), " \t\r\n")) > 0 && strings.IndexByte("\"'", strings.TrimLeft(string(raw[1:]), " \t\r\n")[0]) >= 0:
		p.mode, p.depth, p.inStr, p.inEsc = object, 0, false, false
	default:
		p.mode = prose
		p.sayAll(p.pre)
		p.say(raw[0])
		p.reread(raw[1:])
		return
	}
	if p.mode == object {
		p.sayAll(p.pre)
		p.reread(raw)
		return
	}
	p.reread(append(append([]byte(nil), p.pre...), raw...))
}

// leaveThought ends a thought of more than one paragraph.
func (p *parser) leaveThought() {
	if p.lines > 1 {
		p.thinking = false
	}
}

func (p *parser) endFrame(whole bool) {
	f := p.frame
	switch f.end(whole) {
	case isCall:
		if f.argsText {
			f.args = p.tools.plain(f.name, f.args)
		}
		p.frame = nil
		p.call(f.name, f.args)
	case isAnswer:
		p.frame = nil
		if p.mode = ended; len(p.calls) > 0 {
			p.mode = stopped
		}
	case isEmpty:
		p.frame = nil
		p.mode, p.bol, p.lines, p.thinking = over, false, 0, false
	case isText:
		p.leaveObject()
	}
}

// call takes a call in.
func (p *parser) call(name, args string) {
	p.flush()
	i := len(p.calls)
	name, args = strings.ToValidUTF8(name, "\uFFFD"), strings.ToValidUTF8(args, "\uFFFD")
	p.calls = append(p.calls, llm.ToolCall{ID: fmt.Sprintf("text_%d", i+1), Name: name, Arguments: args})
	p.pieces = append(p.pieces, llm.Chunk{CallDelta: &llm.CallDelta{Index: i, Name: name, Arguments: args}})
	p.mode, p.bol, p.lines, p.thinking, p.labelled = over, false, 0, false, true
	if len(p.calls) >= maxCalls {
		p.mode = stopped
	}
}

// inObject reads an object that is text.
func (p *parser) inObject(b byte) {
	p.say(b)
	switch {
	case p.inEsc:
		p.inEsc = false
	case p.inStr:
		p.inEsc = b == '\\'
		p.inStr = b != '"'
	case b == '"':
		p.inStr = true
	case b == '{':
		p.depth++
	case b == '}':
		if p.depth--; p.depth <= 0 {
			p.mode, p.bol, p.lines = prose, false, 0
		}
	}
}

// inFence reads code until the line that closes it.
func (p *parser) inFence(b byte) {
	p.say(b)
	switch {
	case b == '\n':
		closes := strings.HasPrefix(strings.TrimLeft(string(p.line), "\t\r"), "```")
		p.line = p.line[:0]
		if closes {
			p.mode, p.bol, p.lines = prose, true, 1
		}
	case len(p.line) < maxLabel && (len(p.line) > 0 || !isSpace(b)):
		p.line = append(p.line, b)
	}
}

// beforeAnswer looks whether the answer behind its label is a frame.
func (p *parser) beforeAnswer(b byte) {
	if len(p.held) == 0 && (isSpace(b) || b == '*' || b == '_') {
		return
	}
	p.held = append(p.held, b)
	at, ok, more := readOpener(string(p.held))
	switch {
	case more:
	case ok:
		s := p.release()
		p.enterFrame(s[:at])
	default:
		s := p.release()
		p.mode = rest
		p.reread(s)
	}
}

// end takes what was held back as what it is now known to be.
func (p *parser) end() {
	for p.err == nil {
		switch p.mode {
		case inFrame:
			p.endFrame(false)
			continue
		case inName:
			p.endName()
			continue
		case named:
			p.endNamed()
			continue
		case inInput:
			p.endInput()
			continue
		case marked:
			p.endMarked()
		case prose, answer:
			p.sayAll(p.release())
		}
		break
	}
	p.flush()
}
