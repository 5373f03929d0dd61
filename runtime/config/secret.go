package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a text that must appear nowhere: however it is printed or marshalled, only its length is told. Reveal gives the
// text itself, for the one place that sends it.
type Secret string

// Reveal gives the text.
func (s Secret) Reveal() string { return string(s) }

// String tells whether the secret is set, and its length.
func (s Secret) String() string {
	if s == "" {
		return "not set"
	}
	return fmt.Sprintf("set, %d characters", len([]rune(string(s))))
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// Format writes String for every verb, so that %x and %q show no more than %v does.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText is String; JSON, TOML and map keys use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON is String as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Secrets are the keys of the configuration and of its profiles, as they are: nothing that is made for others may hold them.
func (c Config) Secrets() []string {
	return append(c.Profiles.Secrets(), c.OpenAIKey.Reveal(), c.OpenRouterKey.Reveal())
}
