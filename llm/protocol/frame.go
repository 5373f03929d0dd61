package protocol

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// verdict is what is known of a frame after a byte.
type verdict int

const (
	open    verdict = iota
	closed          // it ended as it should
	noFrame         // its first key is none of ours
	broken          // it is no JSON from here on
)

// place is where in a frame the next byte stands.
type place int

const (
	atKey place = iota
	inKey
	atColon
	atValue
	inString
	atQuote // behind a quote that may end the string or stand within it
	inNest
	inScalar
	afterValue
)

// Bounds of a frame, in bytes.
const (
	maxFrame = 4 << 20
	maxName  = 512
)

// frame reads one JSON object byte by byte. Its own keys may stand in single quotes, commas may be left over, and a quote
// within a string that no comma or brace follows is taken for a part of it; what stands in the arguments is kept as it came.
type frame struct {
	tools  toolbox
	stream func(f field, b byte) // takes the thought and the answer as they come

	raw      []byte // the source, for as long as it may be no frame
	place    place
	keys     int
	foreign  bool // it has keys that are none of ours
	own      bool // its first key is of the form that models were trained on: then all are
	key      []byte
	field    field
	quote    byte
	escape   []byte
	high     rune
	held     []byte // from a quote on, until it is known what it is
	comma    bool   // held has a comma
	value    []byte
	depth    int
	nested   byte // the quote of a string within a nested value
	nestedEx bool
	before   byte // the last byte within a nested value that is no space

	action, name string
	hasName      bool
	args         string
	hasArgs      bool
	argsClosed   bool
	argsText     bool // the arguments came as a string
	answered     bool
	thoughtful   bool
}

// add takes the next byte; the first is the opening brace.
func (f *frame) add(b byte) verdict {
	if !f.answered {
		if f.raw = append(f.raw, b); len(f.raw) == 1 {
			return open
		}
	}
	return f.step(b)
}

func (f *frame) step(b byte) verdict {
	switch f.place {
	case atKey:
		return f.atKey(b)
	case inKey:
		return f.inKey(b)
	case atColon:
		if b == ':' {
			f.place = atValue
			return open
		}
		return f.unless(isSpace(b))
	case atValue:
		return f.atValue(b)
	case inString:
		f.inString(b)
	case atQuote:
		return f.atQuote(b)
	case inNest:
		f.inNest(b)
	case inScalar:
		if b != ',' && b != '}' && !isSpace(b) {
			f.keep(b)
			return open
		}
		f.endValue(true)
		return f.step(b)
	case afterValue:
		switch {
		case b == '}':
			return closed
		case b == ',':
			f.place = atKey
			return open
		}
		return f.unless(isSpace(b))
	}
	return open
}

// unless is broken but for what may stand there.
func (f *frame) unless(fine bool) verdict {
	if fine {
		return open
	}
	return broken
}

func (f *frame) atKey(b byte) verdict {
	switch {
	case b == '"', b == '\'':
		f.quote, f.key, f.place = b, f.key[:0], inKey
		return open
	case f.keys == 0 && !isSpace(b):
		return noFrame
	case b == '}':
		return closed
	}
	return f.unless(isSpace(b) || b == ',')
}

func (f *frame) inKey(b byte) verdict {
	if b != f.quote {
		f.key = append(f.key, b)
		switch {
		case f.keys == 0 && !isKey(lower(string(f.key)), strings.HasPrefix):
			return noFrame
		case len(f.key) > maxName:
			return broken
		}
		return open
	}
	if f.keys == 0 && !isKey(lower(string(f.key)), func(k, s string) bool { return k == s }) {
		return noFrame
	}
	f.keys++
	f.field = f.means(lower(string(f.key)))
	f.foreign = f.foreign || f.field == otherField
	f.place = atColon
	return open
}

func (f *frame) atValue(b byte) verdict {
	f.value = f.value[:0]
	switch {
	case isSpace(b):
		return open
	case b == '"', b == '\'':
		f.quote, f.place = b, inString
		if f.field == argsOf {
			f.args, f.hasArgs, f.argsText, f.argsClosed = "", true, true, false
		}
		return open
	case b == '{', b == '[':
		f.place, f.depth, f.before, f.nested = inNest, 1, b, 0
		f.keep(b)
		return open
	case b == '}', b == ',':
		return broken
	}
	f.place = inScalar
	f.keep(b)
	return open
}

// keep takes a byte of a value as it stands in the source.
func (f *frame) keep(b byte) {
	if f.field == argsOf || f.field == answerOf || f.field == thoughtOf || len(f.value) < maxName {
		f.value = append(f.value, b)
	}
}

// char takes a byte of a string's text.
func (f *frame) char(b byte) {
	switch f.field {
	case thoughtOf, answerOf:
		f.stream(f.field, b)
		f.answered = f.answered || f.field == answerOf && !isSpace(b)
		f.thoughtful = f.thoughtful || f.field == thoughtOf
	default:
		f.keep(b)
	}
	if f.answered {
		f.raw = nil
	}
}

func (f *frame) rune(r rune) {
	if f.high != 0 {
		if whole := utf16.DecodeRune(f.high, r); whole != utf8.RuneError {
			r = whole
		} else {
			f.chars(string(utf8.RuneError))
		}
		f.high = 0
	}
	switch {
	case r >= 0xD800 && r < 0xDC00:
		f.high = r
		return
	case utf16.IsSurrogate(r):
		r = utf8.RuneError
	}
	f.chars(string(r))
}

func (f *frame) chars(s string) {
	for i := range len(s) {
		f.char(s[i])
	}
}

func (f *frame) inString(b byte) {
	switch {
	case len(f.escape) > 0:
		f.escaped(b)
		return
	case b == '\\':
		f.escape = append(f.escape, b)
		return
	case b == f.quote:
		f.held, f.comma, f.place = append(f.held[:0], b), false, atQuote
		return
	}
	f.lone()
	f.char(b)
}

// lone writes what stands for half a character whose other half did not come.
func (f *frame) lone() {
	if f.high != 0 {
		f.high = 0
		f.chars(string(utf8.RuneError))
	}
}

// escaped takes a byte behind a backslash. What is no escape of JSON stays as it is.
func (f *frame) escaped(b byte) {
	f.escape = append(f.escape, b)
	if f.escape[1] == 'u' {
		r, ok := rune(0), true
		for _, c := range f.escape[2:] {
			n := strings.IndexByte("0123456789abcdef", c|0x20)
			if c < '0' || n < 0 {
				ok = false
				break
			}
			r = r<<4 | rune(n)
		}
		if ok && len(f.escape) < 6 {
			return
		}
		if ok {
			f.escape = f.escape[:0]
			f.rune(r)
			return
		}
		rest := string(f.escape)
		f.escape = f.escape[:0]
		f.lone()
		f.chars(rest[:len(rest)-1])
		f.inString(b)
		return
	}
	f.escape = f.escape[:0]
	f.lone()
	switch i := strings.IndexByte(`bfnrt"\/'`, b); {
	case i < 0:
		f.chars("\\" + string([]byte{b}))
	case i < 5:
		f.char("\b\f\n\r\t"[i])
	default:
		f.char(b)
	}
}

// atQuote decides on a quote by what comes behind it.
func (f *frame) atQuote(b byte) verdict {
	switch {
	case isSpace(b) && len(f.held) < maxName:
		f.held = append(f.held, b)
		return open
	case b == '}', f.comma && (b == '"' || b == '\''):
	case b == ',' && !f.comma:
		f.held, f.comma = append(f.held, b), true
		return open
	default: // it stands within the string
		again := append(append([]byte(nil), f.held[1:]...), b)
		f.lone()
		f.char(f.held[0])
		f.place = inString
		for _, c := range again {
			if v := f.step(c); v != open {
				return v
			}
		}
		return open
	}
	f.endString()
	if f.comma {
		f.place = atKey
	}
	return f.step(b)
}

func (f *frame) endString() {
	f.chars(string(f.escape))
	f.escape = f.escape[:0]
	f.lone()
	f.held = f.held[:0]
	f.endValue(false)
}

// inNest takes a byte of an object or a list. A single quote opens a string only where a value or a key may start.
func (f *frame) inNest(b byte) {
	f.keep(b)
	switch {
	case f.nested != 0:
		switch {
		case f.nestedEx:
			f.nestedEx = false
		case b == '\\':
			f.nestedEx = true
		case b == f.nested:
			f.nested = 0
		}
		return
	case b == '"', b == '\'' && strings.IndexByte("{[,:", f.before) >= 0:
		f.nested = b
	case b == '{', b == '[':
		f.depth++
	case b == '}', b == ']':
		if f.depth--; f.depth == 0 {
			f.endValue(true)
			return
		}
	}
	if !isSpace(b) {
		f.before = b
	}
}

// endValue takes a whole value; source says that it stands as in the source and is no string.
func (f *frame) endValue(source bool) {
	f.place = afterValue
	text := string(f.value)
	null := source && (text == "null" || text == "None")
	switch f.field {
	case actionOf:
		if !source {
			f.action = text
		}
	case nameOf:
		if !source {
			f.name, f.hasName = text, !slices.Contains([]string{"", "none", "null"}, lower(strings.TrimSpace(text)))
		}
	case argsOf:
		f.hasArgs, f.argsClosed, f.argsText = true, true, !source
		if f.args = text; null {
			f.args = ""
		}
	case answerOf:
		if source && !null {
			f.chars(text)
		}
	}
}

// outcome is what a frame amounts to.
type outcome int

const (
	isText   outcome = iota // no frame after all: its source is text
	isCall                  // name and arguments say what is called
	isAnswer                // the answer was streamed
	isEmpty                 // a frame that says nothing to anybody
)

// end decides what the frame is, at its closing brace or where it broke off.
func (f *frame) end(whole bool) outcome {
	if !whole {
		f.breakOff()
	}
	if f.own {
		return f.endOwn(whole)
	}
	action := lower(strings.TrimSpace(f.action))
	final := slices.Contains(finalWords, action)
	switch known := f.tools.has(f.action); {
	case known:
	case final && !f.answered && f.hasArgs && !f.hasName:
		f.field = answerOf // the answer stands where arguments would
		f.chars(f.args)
		return isAnswer
	case final && f.answered:
		return isAnswer
	}
	switch {
	case f.hasName && (!f.foreign || f.hasArgs || f.action != ""):
		f.closeArgs(whole)
		return isCall
	case action != "" && !final && !slices.Contains(callWords, action) && (f.hasArgs || f.tools.has(f.action)):
		f.name = f.action
		f.closeArgs(whole)
		return isCall
	case f.answered:
		return isAnswer
	case f.thoughtful && !f.foreign, slices.Contains(callWords, action), final:
		return isEmpty
	}
	return isText
}

// closeArgs makes sure that arguments that did not come to their end are not taken for whole ones.
func (f *frame) closeArgs(whole bool) {
	switch {
	case whole || f.argsClosed:
	case f.args == "" || f.argsText:
		f.args, f.argsText = "{"+f.args, false
	}
}

// breakOff takes what there is of a value that has no end.
func (f *frame) breakOff() {
	switch f.place {
	case inString:
		f.chars(string(f.escape))
		f.lone()
	case atQuote:
		f.endString()
		return
	case inNest, inScalar:
		if f.place == inScalar && f.field != argsOf {
			return
		}
	default:
		return
	}
	if f.field == argsOf {
		f.hasArgs, f.argsClosed, f.args = true, false, string(f.value)
	}
}
