package record

import (
	"bytes"
	"net/url"
	"slices"

	"vitrine/llm"
)

// Secrets hide texts in all the forms in which they travel. The zero value hides nothing.
type Secrets struct{ forms [][]byte }

// NewSecrets takes the texts that nobody else may see. Words that JSON itself is made of hide nothing.
func NewSecrets(texts ...string) Secrets {
	seen := map[string]bool{}
	for _, t := range texts {
		if len(t) < llm.MinSecret || slices.Contains([]string{"true", "false", "null"}, t) {
			continue
		}
		for _, f := range llm.SecretForms(t) {
			seen[f] = true
		}
	}
	var s Secrets
	for f := range seen {
		s.forms = append(s.forms, []byte(f))
	}
	// The longest first, in case one is a part of another.
	slices.SortFunc(s.forms, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	return s
}

// hide gives b with a star for each byte of a secret, and a nine for each of one that is only digits: what was JSON stays JSON.
// b itself stays as it is.
func (s Secrets) hide(b []byte) []byte {
	copied := false
	for _, f := range s.forms {
		with := byte('*')
		if !bytes.ContainsFunc(f, func(r rune) bool { return r < '0' || r > '9' }) {
			with = '9'
		}
		for at := 0; ; {
			i := bytes.Index(b[at:], f)
			if i < 0 {
				break
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

// OfURL gives the parts of a URL that nobody else may see: user and password, and the values of the query.
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
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	return secrets
}
