package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth bounds the nesting of arguments; no tool's schema comes near it.
const maxJSONDepth = 128

// flaw is the first place where a text stops being acceptable JSON.
type flaw struct {
	at   int    // byte offset
	what string // what is wrong there
	// open says that the text is a proper beginning that does not close.
	open bool
}

// scanner checks JSON strictly. Over encoding/json it tells a text that ends too early from one that is wrong, and refuses
// what would silently change on decoding: duplicate keys, lone surrogates, invalid UTF-8.
type scanner struct {
	s   string
	pos int
}

// scanJSON checks that s is exactly one JSON value with optional space around it. kind is the value's JSON type.
func scanJSON(s string) (kind string, f *flaw) {
	sc := &scanner{s: s}
	sc.space()
	kind = sc.kind()
	if f = sc.value(0); f != nil {
		return kind, f
	}
	sc.space()
	if sc.pos < len(s) {
		return kind, sc.wrong("unexpected " + sc.found() + " after the " + kind)
	}
	return kind, nil
}

func (sc *scanner) wrong(what string) *flaw { return &flaw{at: sc.pos, what: what} }

// unexpected is the flaw of finding something else than wanted here; at the end of the text it is an open one.
func (sc *scanner) unexpected(wanted string) *flaw {
	if sc.pos >= len(sc.s) {
		return &flaw{at: len(sc.s), what: "the text ends where " + wanted + " is expected", open: true}
	}
	return sc.wrong("expected " + wanted + ", found " + sc.found())
}

func (sc *scanner) found() string {
	if sc.pos >= len(sc.s) {
		return "the end"
	}
	r, n := utf8.DecodeRuneInString(sc.s[sc.pos:])
	if r == utf8.RuneError && n == 1 {
		return fmt.Sprintf("the byte 0x%02X", sc.s[sc.pos])
	}
	return strconv.QuoteRune(r)
}

func (sc *scanner) space() {
	for sc.pos < len(sc.s) {
		switch sc.s[sc.pos] {
		case ' ', '\t', '\n', '\r':
			sc.pos++
		default:
			return
		}
	}
}

func (sc *scanner) peek() byte {
	if sc.pos < len(sc.s) {
		return sc.s[sc.pos]
	}
	return 0
}

// kind names the JSON type of what starts here.
func (sc *scanner) kind() string {
	switch c := sc.peek(); {
	case c == '{':
		return "object"
	case c == '[':
		return "array"
	case c == '"':
		return "string"
	case c == 't' || c == 'f':
		return "boolean"
	case c == 'n':
		return "null"
	}
	return "number"
}

func (sc *scanner) value(depth int) *flaw {
	if depth > maxJSONDepth {
		return sc.wrong(fmt.Sprintf("nested deeper than %d levels", maxJSONDepth))
	}
	switch c := sc.peek(); {
	case c == '{':
		return sc.object(depth)
	case c == '[':
		return sc.array(depth)
	case c == '"':
		_, f := sc.str()
		return f
	case c == '-' || c >= '0' && c <= '9':
		return sc.number()
	case c == 't':
		return sc.literal("true")
	case c == 'f':
		return sc.literal("false")
	case c == 'n':
		return sc.literal("null")
	}
	return sc.unexpected("a value")
}

func (sc *scanner) object(depth int) *flaw {
	sc.pos++
	seen := map[string]bool{}
	sc.space()
	if sc.peek() == '}' {
		sc.pos++
		return nil
	}
	for {
		sc.space()
		if sc.peek() != '"' {
			return sc.unexpected("a key in double quotes")
		}
		at := sc.pos
		key, f := sc.str()
		if f != nil {
			return f
		}
		if seen[key] {
			return &flaw{at: at, what: "the key " + strconv.Quote(CleanLine(key, 60)) + " occurs twice"}
		}
		seen[key] = true
		sc.space()
		if sc.peek() != ':' {
			return sc.unexpected("':' after a key")
		}
		sc.pos++
		sc.space()
		if f := sc.value(depth + 1); f != nil {
			return f
		}
		sc.space()
		switch sc.peek() {
		case ',':
			sc.pos++
		case '}':
			sc.pos++
			return nil
		default:
			return sc.unexpected("',' or '}'")
		}
	}
}

func (sc *scanner) array(depth int) *flaw {
	sc.pos++
	sc.space()
	if sc.peek() == ']' {
		sc.pos++
		return nil
	}
	for {
		sc.space()
		if f := sc.value(depth + 1); f != nil {
			return f
		}
		sc.space()
		switch sc.peek() {
		case ',':
			sc.pos++
		case ']':
			sc.pos++
			return nil
		default:
			return sc.unexpected("',' or ']'")
		}
	}
}

func (sc *scanner) literal(word string) *flaw {
	for i := range len(word) {
		if sc.pos >= len(sc.s) || sc.s[sc.pos] != word[i] {
			return sc.unexpected(word)
		}
		sc.pos++
	}
	return nil
}

func (sc *scanner) number() *flaw {
	if sc.peek() == '-' {
		sc.pos++
	}
	if sc.peek() == '0' {
		sc.pos++
	} else if f := sc.digits(); f != nil {
		return f
	}
	if sc.peek() == '.' {
		sc.pos++
		if f := sc.digits(); f != nil {
			return f
		}
	}
	if c := sc.peek(); c == 'e' || c == 'E' {
		sc.pos++
		if c := sc.peek(); c == '+' || c == '-' {
			sc.pos++
		}
		return sc.digits()
	}
	return nil
}

func (sc *scanner) digits() *flaw {
	start := sc.pos
	for c := sc.peek(); c >= '0' && c <= '9'; c = sc.peek() {
		sc.pos++
	}
	if sc.pos == start {
		return sc.unexpected("a digit")
	}
	return nil
}

// str passes a string and gives its meaning.
func (sc *scanner) str() (string, *flaw) {
	start := sc.pos
	sc.pos++
	for sc.pos < len(sc.s) {
		switch c := sc.s[sc.pos]; {
		case c == '"':
			sc.pos++
			var v string
			if err := json.Unmarshal([]byte(sc.s[start:sc.pos]), &v); err != nil {
				return "", &flaw{at: start, what: "a string that cannot be decoded"}
			}
			return v, nil
		case c == '\\':
			if f := sc.escape(); f != nil {
				return "", f
			}
		case c < 0x20:
			return "", sc.wrong(fmt.Sprintf("the control character 0x%02X inside a string (write it as an escape)", c))
		default:
			r, n := utf8.DecodeRuneInString(sc.s[sc.pos:])
			if r == utf8.RuneError && n == 1 {
				return "", sc.wrong("invalid UTF-8, " + sc.found())
			}
			sc.pos += n
		}
	}
	return "", sc.unexpected("the end of a string")
}

func (sc *scanner) escape() *flaw {
	if sc.pos+1 >= len(sc.s) {
		sc.pos++
		return sc.unexpected("the rest of an escape")
	}
	switch sc.s[sc.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		sc.pos += 2
		return nil
	case 'u':
	default:
		return sc.wrong("the escape \\" + CleanLine(sc.s[sc.pos+1:sc.pos+2], 1) + " does not exist")
	}
	at := sc.pos
	hi, f := sc.hex()
	if f != nil || !utf16.IsSurrogate(hi) {
		return f
	}
	if sc.pos >= len(sc.s) || sc.pos+1 == len(sc.s) && sc.s[sc.pos] == '\\' {
		sc.pos = len(sc.s)
		return sc.unexpected("the second half of a surrogate pair")
	}
	if sc.s[sc.pos] == '\\' && sc.s[sc.pos+1] == 'u' {
		lo, f := sc.hex()
		if f != nil {
			return f
		}
		if utf16.DecodeRune(hi, lo) != utf8.RuneError {
			return nil
		}
	}
	return &flaw{at: at, what: "a lone surrogate " + sc.s[at:at+6] + ", which is no character"}
}

// hex passes \uXXXX.
func (sc *scanner) hex() (rune, *flaw) {
	sc.pos += 2
	var v rune
	for range 4 {
		c := sc.peek()
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, sc.unexpected("four hexadecimal digits after \\u")
		}
		sc.pos++
	}
	return v, nil
}

// decodeJSON gives the value of a text that scanJSON accepted, numbers as they are written.
func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return v, nil
}

// encodeJSON writes v without the escapes that only HTML needs; keys are sorted.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
