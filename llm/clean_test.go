package llm_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"vitrine/llm"
)

const key = "sk-verysecret-0123456789"

// B112: what a server said becomes one clean line without the key.
func TestCleanText(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":            {"bad schema", "bad schema"},
		"lines":            {" a\r\n\tb \u2028 c ", "a b c"},
		"page":             {"<html><h1>Bad Gateway</h1></html>", "Bad Gateway"},
		"whole page":       {"<!DOCTYPE html>\n<head><title>502 &amp; more</title><style>h1 {color: red}</style><script>alert(1)</script></head><!-- x --><body><p>nginx</p>", "502 & more nginx"},
		"page in a string": {"upstream said <html><body>no</body>", "upstream said no"},
		"no page":          {"want 1 < 2 and a <b", "want 1 < 2 and a <b"},
		"colours":          {"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;u\x1b\\y \x1bPq\x1b\\z \x9b \u009b31mq", "red xy z \uFFFD q"},
		"bell and nul":     {"a\x07b\x00c\x7f", "abc"},
		"direction":        {"a\u202Eb\u2066c\uFEFF", "abc"},
		"joined emoji":     {"👩‍👩‍👧", "👩‍👩‍👧"},
		"invalid":          {"a\xffb\xed\xa0\x80", "a\uFFFDb\uFFFD"},
		"key":              {"bad key " + key + ", " + key, "bad key ***, ***"},
		"key encoded":      {"bad " + base64.StdEncoding.EncodeToString([]byte(key)) + " and " + base64.URLEncoding.EncodeToString([]byte("Bearer "+key)), "bad *** and QmVhcmVyIH***Q=="},
		"key in a page":    {"<p>bad key sk&#45;verysecret&#45;0123456789</p>", "bad key ***"},
		"key in colours":   {"sk-very\x1b[1msecret-0123456789", "***"},
		"key in controls":  {"x" + key[:5] + "\x00" + key[5:], "x***"},
		"other key":        {"upstream refused Bearer abcdefgh12345 and sk-proj_abcdefgh", "upstream refused Bearer *** and ***"},
		"escape in a page": {"<p>&#27;[31mred&#27;[0m</p>", "red"},
		"empty":            {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := llm.CleanText(c.in, key, "", "abc"[:2]); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCleanTextCuts(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		size int // in characters
	}{
		"fits":     {strings.Repeat("x", 300), 300},
		"long":     {strings.Repeat("x", 301), 300},
		"han":      {strings.Repeat("错", 301), 300},
		"families": {strings.Repeat("👩‍👩‍👧", 100), 296}, // five characters each, none is cut in two
		"huge":     {"<p>" + strings.Repeat("<b>x</b> ", 1<<20), 300},
	} {
		t.Run(name, func(t *testing.T) {
			got := llm.CleanText(c.in)
			if n := utf8.RuneCountInString(got); n != c.size || !utf8.ValidString(got) {
				t.Errorf("%d characters, want %d: %q", n, c.size, got)
			}
		})
	}
}

// Whatever comes in, what goes out is short, valid, without control characters and without the key.
func TestCleanTextProperty(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{key, key[:9], key[9:], "\x1b", "\x1b[", "\x1b]", "31m", "<", "<p>", "</html>", "&#27;", "&lt;", "\u009b", "\u202e", "\r", "\xf0\x9f", " "}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(piece).Draw(t, "in"), "")
		got := llm.CleanText(in, key)
		if utf8.RuneCountInString(got) > llm.MaxErrorText || !utf8.ValidString(got) || strings.Contains(got, key) {
			t.Fatalf("%q gives %q", in, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Fatalf("%q gives %q", in, got)
		}
	})
}
