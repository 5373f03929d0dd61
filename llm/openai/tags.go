package openai

import "strings"

// The tags in which models put their reasoning, when no server takes it out.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// tags splits text that begins with <think> into reasoning and text. A tag that is cut by the end of a delta is held back
// until the next one tells what it is. An end without a beginning makes reasoning of what was taken for text before it.
type tags struct {
	off    bool
	state  tagState
	held   string
	split  bool // there was reasoning
	stray  bool // an end without a beginning came
	void   bool // all text until here was reasoning; who reads it puts it back
	spoken bool // a beginning came in the middle of an answer
	told   bool // and an end behind it, or one that may have been meant
	over   bool // no end without a beginning is looked for any more
	shaped bool // the answer is to be JSON: a reply that begins like it does not begin with reasoning

	// early says that a reply begins with reasoning although no tag says so; all is what came of it, in case it never ends.
	early bool
	all   strings.Builder

	// Where the text stands: an end in a fence or behind a quote is only spoken of.
	last  byte
	ticks int
	fence bool
}

type tagState int

const (
	tagStart  tagState = iota // nothing but blanks came
	tagInside                 // behind <think>
	tagAfter                  // behind </think>: blanks are dropped
	tagText                   // an answer
)

// add takes in a delta and gives what of it is reasoning and what is text, in this order.
func (t *tags) add(s string) (reasoning, text string) {
	if t.off {
		return "", s
	}
	s, t.held = t.held+s, ""
	if t.state == tagText {
		return t.look(s)
	}
	if t.state == tagStart && t.early && !strings.HasPrefix(thinkOpen, strings.TrimLeft(s, " \t\r\n")) {
		t.state = tagInside
		s = strings.TrimPrefix(strings.TrimLeft(s, " \t\r\n"), thinkOpen)
	}
	if t.state == tagStart {
		trimmed := strings.TrimLeft(s, " \t\r\n")
		switch {
		case strings.HasPrefix(trimmed, thinkOpen):
			t.state, t.split, s = tagInside, true, trimmed[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, trimmed):
			t.held = s
			return "", ""
		default:
			t.state = tagText
			t.over = t.over || t.shaped && strings.IndexByte("{[`", trimmed[0]) >= 0
			return t.look(s)
		}
	}
	if t.state == tagInside {
		i := strings.Index(s, thinkClose)
		if i < 0 {
			keep := partOf(s, thinkClose)
			t.held = s[len(s)-keep:]
			return t.note(s[:len(s)-keep]), ""
		}
		reasoning, s, t.state, t.early = s[:i], s[i+len(thinkClose):], tagAfter, false
		t.over = true
		t.all.Reset()
	}
	if text = strings.TrimLeft(s, " \t\r\n"); text != "" {
		t.state = tagText
	}
	return reasoning, text
}

// note keeps what came of early reasoning.
func (t *tags) note(s string) string {
	if t.early {
		t.all.WriteString(s)
	}
	return s
}

// maxBlank is how many blanks may follow an end without a beginning, in bytes.
const maxBlank = 1 << 10

// look finds an end without a beginning in an answer. It gives what of s is reasoning and what is text, in this order; void says
// that all text before s was reasoning too. An answer is lost when a tag that is only spoken of counts, so the end has to stand
// behind a line or a sentence, a line break has to follow, and behind that an answer.
func (t *tags) look(s string) (reasoning, text string) {
	if t.over || t.split || strings.IndexByte(s, '<') < 0 {
		t.walk(s)
		return "", s
	}
	for from := 0; ; {
		begin, end := strings.Index(s[from:], thinkOpen), strings.Index(s[from:], thinkClose)
		switch {
		case begin < 0 && end < 0:
			keep := max(partOf(s[from:], thinkOpen), partOf(s[from:], thinkClose))
			t.walk(s[from : len(s)-keep])
			t.held = s[len(s)-keep:]
			return "", s[:len(s)-keep]
		case begin >= 0 && (end < 0 || begin < end):
			t.spoken = true // it has a beginning, though not where reasoning has it
			t.walk(s[from : from+begin+len(thinkOpen)])
			from += begin + len(thinkOpen)
			continue
		}
		t.walk(s[from : from+end])
		from += end
		behind := s[from+len(thinkClose):]
		rest := strings.TrimLeft(behind, " \t\r\n")
		switch {
		case t.spoken || t.quoted():
			t.told = t.told || t.spoken
		case rest == "" && len(behind) <= maxBlank:
			t.held = s[from:] // what follows tells what it is
			return "", s[:from]
		case t.ended() && len(behind)-len(rest) <= maxBlank && strings.HasPrefix(strings.TrimPrefix(behind, "\r"), "\n"):
			t.stray, t.void, t.over = true, true, true
			return s[:from], rest
		default:
			t.told = t.told || t.last != ' ' && t.last != '\t'
		}
		t.over = true // the answer speaks of the tags
		t.walk(s[from:])
		return "", s
	}
}

// quoted says whether what follows is only spoken of.
func (t *tags) quoted() bool { return t.fence || strings.IndexByte("`\"'", t.last) >= 0 }

// ended says whether a line or a sentence is at its end, or nothing came yet. Other scripts have their own marks.
func (t *tags) ended() bool {
	return t.last == 0 || t.last >= 0x80 || strings.IndexByte("\n.!?", t.last) >= 0
}

// walk follows where text stands.
func (t *tags) walk(s string) {
	if s == "" {
		return
	}
	t.last = s[len(s)-1]
	if t.ticks == 0 && strings.IndexByte(s, '`') < 0 {
		return
	}
	for i := range len(s) {
		if s[i] != '`' {
			t.ticks = 0
			continue
		}
		if t.ticks++; t.ticks == 3 {
			t.fence = !t.fence
		}
	}
}

// flush gives what was held back. Reasoning that the profile expected and that never ended was the answer, when the reply is
// whole; so was what came before an end with nothing behind it, unless the reply has calls.
func (t *tags) flush(whole, calls bool) (reasoning, text string) {
	held := t.held
	t.held = ""
	switch {
	case t.state == tagInside && t.early && whole:
		return held, t.all.String() + held
	case t.state == tagInside:
		return held, ""
	case strings.HasPrefix(held, thinkClose) && !t.over && t.ended() && calls:
		t.stray, t.void, t.over = true, true, true
		return "", ""
	case strings.HasPrefix(held, thinkClose):
		t.told = t.told || t.last != ' ' && t.last != '\t'
	}
	return "", held
}

// partOf says how many bytes at the end of s are the beginning of a tag.
func partOf(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
