package openai

import "strings"

// The tags in which models put their reasoning, when no server takes it out.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// tags splits text that begins with <think> into reasoning and text. A tag that is cut by the end of a delta is held back
// until the next one tells what it is.
type tags struct {
	off    bool
	state  tagState
	held   string
	split  bool // there was reasoning
	stray  bool // an end without a beginning came
	before string
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
	if t.state == tagText {
		t.look(s)
		return "", s
	}
	s, t.held = t.held+s, ""
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
			t.look(s)
			return "", s
		}
	}
	if t.state == tagInside {
		i := strings.Index(s, thinkClose)
		if i < 0 {
			keep := partOf(s, thinkClose)
			t.held = s[len(s)-keep:]
			return s[:len(s)-keep], ""
		}
		reasoning, s, t.state = s[:i], s[i+len(thinkClose):], tagAfter
	}
	if text = strings.TrimLeft(s, " \t\r\n"); text != "" {
		t.state = tagText
	}
	return reasoning, text
}

// look finds an end without a beginning in an answer, also one that is cut into two deltas.
func (t *tags) look(s string) {
	if t.stray {
		return
	}
	if t.before == "" && strings.IndexByte(s, '<') < 0 {
		return
	}
	joined := t.before + s
	t.stray = strings.Contains(joined, thinkClose)
	t.before = joined[len(joined)-partOf(joined, thinkClose):]
}

// flush gives what was held back.
func (t *tags) flush() (reasoning, text string) {
	held := t.held
	t.held = ""
	if t.state == tagInside {
		return held, ""
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
