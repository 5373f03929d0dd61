package llm

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// MaxErrorText is the longest text of a server that an error quotes, in characters.
const MaxErrorText = 300

// maxCleaned bounds what is looked at, in bytes: the page behind a snippet may be long.
const maxCleaned = 64 << 10

const masked = "***"

// lazily compiles an expression when it is needed first: a program that starts needs none.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// What is looked for in what servers send; immutable.
var (
	escapes = lazily(`(?s)\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x{9b}[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]?`)
	markup  = lazily(`(?i)^\s*<|<!doctype|<html|<body|</?(?:h[1-6]|p|div|title|center)\b`)
	unseen  = lazily(`(?is)<!--.*?-->|<script\b.*?</script\s*>|<style\b.*?</style\s*>`)
	tags    = lazily(`(?s)</?[a-zA-Z!?][^>]*>?`)
	tokens  = lazily(`(?i)(\bbearer\s+)[\w.~+/=-]{8,}|\bsk-[\w-]{8,}`)
)

// CleanText makes text that a server sent fit for a person to read in one line: HTML becomes text, control sequences,
// control and direction characters go, white space is folded, secrets, however they are encoded, and what looks like a key are masked, and what is
// left is cut to MaxErrorText characters. Secrets shorter than four bytes are taken for placeholders and left.
func CleanText(s string, secrets ...string) string {
	if len(s) > maxCleaned {
		s = s[:maxCleaned]
	}
	// The longest first, in case one secret is a part of another.
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	s = mask(strings.ToValidUTF8(s, "\uFFFD"), secrets)
	if markup().MatchString(s) {
		s = html.UnescapeString(tags().ReplaceAllString(unseen().ReplaceAllString(s, " "), " "))
	}
	s = escapes().ReplaceAllString(s, "")
	s = strings.Map(printable, s)
	return cutRunes(mask(strings.Join(strings.Fields(s), " "), secrets), MaxErrorText)
}

func mask(s string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) < MinSecret {
			continue
		}
		for _, form := range SecretForms(secret) {
			s = strings.ReplaceAll(s, form, masked)
		}
	}
	return tokens().ReplaceAllString(s, "${1}"+masked)
}

// printable drops what could move the cursor or turn the direction of writing.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF':
		return -1
	}
	return r
}

// cutRunes cuts s to n characters, on a grapheme, with an ellipsis as the last one if something was cut.
func cutRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	end, used := 0, 1
	for g := graphemes.FromString(s); g.Next(); {
		if used += utf8.RuneCountInString(g.Value()); used > n {
			break
		}
		end += len(g.Value())
	}
	return s[:end] + "…"
}
