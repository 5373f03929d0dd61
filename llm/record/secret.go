package record

import (
	"bytes"
	"net/url"
	"slices"
	"unicode"
	"unicode/utf8"

	"vitrine/llm"
)

// Secrets hide texts in all the forms in which they travel. The zero value hides nothing.
type Secrets struct{ forms []form }

// form is a way to write a secret. One that is like a word is hidden only where it stands alone and names no field.
type form struct {
	text []byte
	word bool
}

// protocol are the words that requests and answers are made of. One that is also a key, as servers without keys are given them, is none.
var protocol = []string{"true", "false", "null", "system", "developer", "user", "assistant", "tool", "function", "tools", "text", "string",
	"object", "array", "number", "integer", "boolean", "list", "model", "error", "stop", "length", "auto", "none", "required", "chat", "data"}

// NewSecrets takes the texts that nobody else may see. Words that the protocol itself is made of hide nothing.
func NewSecrets(texts ...string) Secrets {
	seen := map[string]bool{}
	for _, t := range texts {
		if len(t) < llm.MinSecret || slices.Contains(protocol, t) {
			continue
		}
		for _, f := range llm.SecretForms(t) {
			seen[f] = f == t && llm.Common(t) || seen[f]
		}
	}
	var s Secrets
	for f, word := range seen {
		s.forms = append(s.forms, form{[]byte(f), word})
	}
	// The longest first, in case one is a part of another.
	slices.SortFunc(s.forms, func(a, b form) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return bytes.Compare(a.text, b.text)
	})
	return s
}

// hide gives b with a star for each byte of a secret, and a nine for each of one that is only digits: what was JSON stays JSON.
// b itself stays as it is.
func (s Secrets) hide(b []byte) []byte {
	copied := false
	for _, one := range s.forms {
		f, with := one.text, byte('*')
		if !bytes.ContainsFunc(f, func(r rune) bool { return r < '0' || r > '9' }) {
			with = '9'
		}
		for at := 0; ; {
			i := bytes.Index(b[at:], f)
			if i < 0 {
				break
			}
			if one.word && !alone(b, at+i, at+i+len(f)) {
				at += i + len(f)
				continue
			}
			if !copied {
				b, copied = append([]byte(nil), b...), true
			}
			for k := range f {
				b[at+i+k] = with
			}
			at += i + len(f)
		}
	}
	return b
}

// alone says whether b[from:to] is no part of a longer word and no name of a field, which JSON within JSON has too.
func alone(b []byte, from, to int) bool {
	before, _ := utf8.DecodeLastRune(b[:from])
	after, _ := utf8.DecodeRune(b[to:])
	wordly := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if wordly(before) || wordly(after) {
		return false
	}
	if before != '"' {
		return true
	}
	rest := bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(b[to:min(len(b), to+16)], "\\"), []byte(`"`)), " \t\r\n")
	return !bytes.HasPrefix(rest, []byte(":"))
}

// OfURL gives the parts of a URL that nobody else may see: user and password, and what of the query may be secret.
func OfURL(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var secrets []string
	if u.User != nil {
		pw, _ := u.User.Password()
		secrets = append(secrets, pw, u.User.Username()+":"+pw)
		if pw == "" {
			secrets = append(secrets, u.User.Username())
		}
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if llm.MayBeSecret(name, value) {
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}
