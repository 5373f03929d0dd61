package llm_test

import (
	"testing"

	"vitrine/llm"
)

// What headers and parameters hold is hidden when it may be a secret, and left when it is a word, a version or a date.
func TestMayBeSecret(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"X-Team", "user", false}, {"X-Team", "assistant", false}, {"X-Stage", "production", false}, {"api-version", "2024-10-21", false}, {"v", "v1.2.3", false}, {"n", "4096", false},
		{"X-Org", "org-7", false}, {"X-Team", "hunter22", true}, {"X-Team", "correct-horse-battery", true}, {"X-Team", "abcdefghijklmnopq", true}, {"n", "123456789", true},
		{"X-Api-Key", "user", true}, {"Authorization", "x", true}, {"sig", "abcd", true}, {"Cookie", "a=b", true}, {"access_token", "word", true}, {"X-Password", "1234", true},
	} {
		if got := llm.MayBeSecret(c.name, c.value); got != c.want {
			t.Errorf("%s: %s: %v", c.name, c.value, got)
		}
	}
}
