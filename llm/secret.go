package llm

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// MinSecret is the shortest text that is taken for a secret, in bytes; shorter ones are placeholders.
const MinSecret = 4

// SecretForms gives the ways to write a secret: as it is, escaped for URLs and JSON, and in base64, alone or within other text.
func SecretForms(s string) []string {
	forms := []string{s, url.QueryEscape(s), url.PathEscape(s), strings.ToLower(url.QueryEscape(s))}
	if b, err := json.Marshal(s); err == nil {
		forms = append(forms, string(b[1:len(b)-1]))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			// Of what stands around it in the same base64, only whole groups are known.
			text := enc.EncodeToString(append(make([]byte, before), s...))
			from := []int{0, 2, 3}[before]
			to := len(text)
			if (before+len(s))%3 != 0 {
				to--
			}
			if to-from >= 2*MinSecret {
				forms = append(forms, text[from:to])
			}
		}
	}
	return forms
}
