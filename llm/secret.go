package llm

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// MinSecret is the shortest text that is taken for a secret, in bytes; shorter ones are placeholders.
const MinSecret = 4

// What secrets look like; immutable.
var (
	secretNames = lazily(`(?i)key|auth|token|secret|cookie|pass|pwd|cred|sig|session|code`)
	// plainValue is a word, a number, a date or a version; immutable.
	plainValue = lazily(`^(?:[a-zA-Z]{1,16}|[vV]?\d{1,4}(?:[._-]\d{1,4}){0,3})$`)
)

// shortValue is the length from which on a value may be a secret though its name does not say so, in bytes.
const shortValue = 8

// MayBeSecret says whether the value of a header or of a parameter is to be hidden: when its name says so, or when it is more than a
// short text, a word, a date or a version. Those stand in many texts, and hiding them there would tell more than it hides.
func MayBeSecret(name, value string) bool {
	return secretNames().MatchString(name) || len(value) >= shortValue && !plainValue().MatchString(value)
}

// Common says whether a secret is like a word that texts have anyway, such as the keys that servers without keys are given.
func Common(secret string) bool { return len(secret) < shortValue || plainValue().MatchString(secret) }

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
