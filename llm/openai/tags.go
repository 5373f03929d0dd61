package openai

import "strings"

// The tags in which models put their reasoning, when no server takes it out.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// jsonOpens are how a reply in the shape of a schema begins.
var jsonOpens = []string{"{", "[", "```"}

// tags splits text that begins with <think> into reasoning and text. A tag that is cut by the end of a delta is held back
// until the next one tells what it is.
//
// Some models are made to think by their template, which has the beginning: of their replies only the end tells. An end without a
// beginning makes reasoning of what was taken for text before it, where that can be known: when the model is one that may think, or
// when a reply was asked for in a form and begins as such behind the end, not before it. All else stays text, since an answer that
// speaks of the tags is worth more than reasoning that is not shown.
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

	may   bool     // the model may think without a tag that says so
	opens []string // how a reply in the form that was asked for begins

	// early says that a reply begins with reasoning although no tag says so, waits that it may; all is what came of it, in case it never
	// ends.
	early, waits bool
	all          strings.Builder

	// Where the text stands: an end in a fence, in code or behind a quote is only spoken of.
	last  byte
	run   byte // backticks or tildes at the end, and how many
	ticks int
	fence byte // what the fence is made of; 0 is none
	code  int  // how many backticks began code in this line; 0 is none
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
		return t.judge(s)
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
			is, more := t.opened(trimmed)
			if more {
				t.held = s
				return "", ""
			}
			t.state, t.over = tagText, t.over || is
			t.waits = t.may && len(t.opens) > 0 && !t.over
			return t.judge(s)
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

// judge takes in text of an answer, and keeps it while it may be thought in front of a form: calls in there are not to be run.
func (t *tags) judge(s string) (reasoning, text string) {
	reasoning, text = t.look(s)
	switch {
	case !t.waits:
		return reasoning, text
	case t.void: // nobody was told of what stood before
		reasoning, t.void, t.waits = t.all.String()+reasoning, false, false
	case t.over:
		text, t.waits = t.all.String()+text, false
	default:
		t.all.WriteString(text)
		return "", ""
	}
	t.all.Reset()
	return reasoning, text
}

// opened says whether text begins as a reply in the form that was asked for; more says that it may.
func (t *tags) opened(s string) (is, more bool) {
	for _, o := range t.opens {
		n := min(len(s), len(o))
		if strings.EqualFold(s[:n], o[:n]) {
			is, more = is || n == len(o), more || n < len(o)
		}
	}
	return is, more && !is
}

// look finds an end without a beginning in an answer. It gives what of s is reasoning and what is text, in this order; void says
// that all text before s was reasoning too.
func (t *tags) look(s string) (reasoning, text string) {
	if t.over || t.split {
		return "", s
	}
	if strings.IndexByte(s, '<') < 0 {
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
		switch t.meant(behind) {
		case unknown:
			t.held = s[from:]
			return "", s[:from]
		case meant:
			t.stray, t.void, t.over = true, true, true
			return s[:from], strings.TrimLeft(behind, " \t\r\n")
		}
		t.over = true // the answer speaks of the tags
		return "", s
	}
}

// verdict is what an end without a beginning is.
type verdict int

const (
	unknown verdict = iota // what follows tells
	meant
	spokenOf
)

// meant judges an end without a beginning by what stands before and behind it.
func (t *tags) meant(behind string) verdict {
	t.settle()
	if t.spoken || t.quoted() {
		t.told = t.told || t.spoken
		return spokenOf
	}
	rest := strings.TrimLeft(behind, " \t\r\n")
	near := len(behind)-len(rest) <= maxBlank
	is, more := t.opened(rest)
	switch {
	case near && (rest == "" || more):
		return unknown
	case near && is, near && t.may && t.ended() && strings.HasPrefix(strings.TrimPrefix(behind, "\r"), "\n"):
		return meant
	}
	t.told = t.told || t.last != ' ' && t.last != '\t'
	return spokenOf
}

// quoted says whether what follows is only spoken of.
func (t *tags) quoted() bool {
	return t.fence != 0 || t.code > 0 || strings.IndexByte("`\"'", t.last) >= 0
}

// ended says whether a line or a sentence is at its end, or nothing came yet. Other scripts have their own marks.
func (t *tags) ended() bool {
	return t.last == 0 || t.last >= 0x80 || strings.IndexByte("\n.!?", t.last) >= 0
}

// walk follows where text stands: in a fence, or in code in a line, which a line break ends.
func (t *tags) walk(s string) {
	if s == "" {
		return
	}
	t.last = s[len(s)-1]
	if t.ticks == 0 && t.code == 0 && strings.IndexByte(s, '`') < 0 && strings.IndexByte(s, '~') < 0 {
		return
	}
	for i := range len(s) {
		c := s[i]
		if c != t.run {
			t.settle()
		}
		switch c {
		case '`', '~':
			t.run = c
			t.ticks++
		case '\n':
			t.code = 0
		}
	}
}

// settle takes in the marks that stand in a row: three and more are a fence, one or two backticks begin code in a line, which as many end.
func (t *tags) settle() {
	switch n := t.ticks; {
	case n >= 3 && t.fence == 0:
		t.fence = t.run
	case n >= 3 && t.fence == t.run:
		t.fence = 0
	case n > 0 && n < 3 && t.run == '`' && t.fence == 0:
		switch t.code {
		case 0:
			t.code = n
		case n:
			t.code = 0
		}
	}
	t.run, t.ticks = 0, 0
}

// flush gives what was held back. Reasoning that the profile expected and that never ended was the answer, when the reply is
// whole; so was what came before an end with nothing behind it, unless the reply has calls.
func (t *tags) flush(whole, calls bool) (reasoning, text string) {
	held := t.held
	t.held = ""
	if t.waits {
		held = t.all.String() + held
	}
	switch {
	case t.state == tagInside && t.early && whole:
		return held, t.all.String() + held
	case t.state == tagInside:
		return held, ""
	case strings.HasPrefix(held, thinkClose) && strings.TrimLeft(held[len(thinkClose):], " \t\r\n") == "" && !t.over && t.may && t.ended() && calls:
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
