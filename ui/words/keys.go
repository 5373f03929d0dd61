package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys are names of keys as texts have them, and what the user has in their place. Nil changes nothing. It is not changed once made.
type Keys struct{ names map[string]string }

// NewKeys is over names of ours and what to say instead.
func NewKeys(names map[string]string) *Keys {
	if len(names) == 0 {
		return nil
	}
	return &Keys{names}
}

// swap puts the user's keys into a text: the longest name that stands there as a word. verbs says that the text is a format.
func (k *Keys) swap(s string, verbs bool) string {
	if k == nil {
		return s
	}
	var b strings.Builder
	part := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '+' || r == '/')
	}
	before := rune(' ')
	for i := 0; i < len(s); {
		best := ""
		if !part(before) {
			for name := range k.names {
				after, _ := utf8.DecodeRuneInString(s[min(i+len(name), len(s)):])
				if len(name) > len(best) && strings.HasPrefix(s[i:], name) && !part(after) {
					best = name
				}
			}
		}
		if best != "" {
			name := k.names[best]
			if verbs {
				name = strings.ReplaceAll(name, "%", "%%")
			}
			b.WriteString(name)
			i += len(best)
			before = 'x'
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		b.WriteString(s[i : i+n])
		before, i = r, i+n
	}
	return b.String()
}
