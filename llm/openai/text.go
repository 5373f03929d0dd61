package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text of a server may hold half a character: an emoji whose two UTF-16 halves were escaped and then cut into two
// deltas, or cut for good. unquote keeps such halves, joiner puts them together again or replaces them.

// unquote decodes a JSON string that is known to be well formed. Lone halves of surrogate pairs become three bytes that
// are no UTF-8, for joiner.
func unquote(raw []byte) string {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	out := make([]byte, 0, len(raw))
	for b := raw[1 : len(raw)-1]; len(b) > 0; {
		if b[0] != '\\' {
			out, b = append(out, b[0]), b[1:]
			continue
		}
		if b[1] != 'u' {
			out, b = append(out, unescape(b[1])), b[2:]
			continue
		}
		r := hex4(b)
		b = b[6:]
		if low := hex4(b); utf16.DecodeRune(r, low) != utf8.RuneError {
			r, b = utf16.DecodeRune(r, low), b[6:]
		}
		if utf16.IsSurrogate(r) {
			out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

func unescape(b byte) byte {
	if i := strings.IndexByte("bfnrt", b); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return b
}

// hex4 reads \uXXXX at the start of b; 0 when there is none.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

// joiner turns the deltas of one text into valid UTF-8.
type joiner struct {
	high rune // the first half of a pair whose second half may be in the next delta
}

// add gives the text of one delta; a half at its end is kept for the next.
func (j *joiner) add(s string) string {
	if s == "" || j.high == 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if n == 1 && r == utf8.RuneError {
			r, n = half(s)
		}
		s = s[n:]
		if j.high != 0 {
			if whole := utf16.DecodeRune(j.high, r); whole != utf8.RuneError {
				r = whole
			} else {
				b.WriteRune(utf8.RuneError)
			}
			j.high = 0
		}
		if r >= 0xD800 && r < 0xDC00 {
			j.high = r
			continue
		}
		b.WriteRune(r) // a lone second half is written as U+FFFD
	}
	return b.String()
}

// flush gives what stands for a half that stayed alone.
func (j *joiner) flush() string {
	if j.high == 0 {
		return ""
	}
	j.high = 0
	return string(utf8.RuneError)
}

// half reads the three bytes that unquote made of half a pair.
func half(s string) (rune, int) {
	if len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] < 0xC0 && s[2] >= 0x80 && s[2] < 0xC0 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return utf8.RuneError, 1
}

// object scans JSON text as it grows and tells when it holds exactly one closed object.
type object struct {
	depth            int
	begun, over, bad bool
	quoted, escaped  bool
}

func (o *object) feed(s []byte) {
	for len(s) > 0 {
		if o.quoted && !o.escaped { // most of the text is within quotes
			n := 0
			for n < len(s) && s[n] != '"' && s[n] != '\\' {
				n++
			}
			if s = s[n:]; len(s) == 0 {
				return
			}
		}
		o.byte(s[0])
		s = s[1:]
	}
}

func (o *object) byte(c byte) {
	switch {
	case o.quoted:
		switch {
		case o.escaped:
			o.escaped = false
		case c == '\\':
			o.escaped = true
		case c == '"':
			o.quoted = false
		}
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
	case o.over:
		o.bad = true
	case !o.begun:
		o.begun, o.bad = true, c != '{'
		o.depth = 1
	case c == '"':
		o.quoted = true
	case c == '{' || c == '[':
		o.depth++
	case c == '}' || c == ']':
		o.depth--
		o.over = o.depth == 0
	}
}

func (o *object) closed() bool { return o.over && !o.bad }

// content is the content of a delta or message: a string, or a list of parts of which some may be thoughts, or one such part alone.
type content struct{ text, reasoning string }

// UnmarshalJSON never fails: what is neither is no text.
func (c *content) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		c.text = unquote(raw)
	case '[', '{':
		if raw[0] == '{' {
			raw = slices.Concat([]byte("["), raw, []byte("]"))
		}
		var parts []struct {
			Type     string   `json:"type"`
			Text     content  `json:"text"`
			Thinking *content `json:"thinking"`
		}
		_ = json.Unmarshal(raw, &parts) // what does not fit is left out
		for _, p := range parts {
			c.text += p.Text.text
			if p.Thinking != nil {
				c.reasoning += p.Thinking.text
			}
		}
	}
	return nil
}
