package paint

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// B163: each character that hides something is spelled out.
func TestReveal(t *testing.T) {
	for in, want := range map[string]string{
		"a\u202eb":     "a<U+202E>b",
		"a\u2066b":     "a<U+2066>b",
		"a\u200bb":     "a<U+200B>b",
		"a\U000e0100b": "a<U+E0100>b",
		"a\u00a0b":     "a<U+00A0>b",
		"ls" + strings.Repeat(" ", 200) + "; rm x": "ls<200 spaces>; rm x",
		"rm x\recho":         "rm x<U+000D>echo",
		"\x1b[8mhid":         "<U+001B>[8mhid",
		"c\u0430t file":      "c<U+0430>t file",
		"\u043a\u043e\u0442": "\u043a\u043e\u0442",
		"<U+202E>":           "<U+003C>U+202E>",
		"a   b\tc\n d":       "a   b<U+0009>c\n d",
		"a\xffb":             "a<0xFF>b",
		"部署 файл":            "部署 файл",
	} {
		if got := Reveal(in); got != want {
			t.Errorf("Reveal(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"+        x := 1" + strings.Repeat(" ", 9) + "y <U+202E>\u202e": "+        x := 1<9 spaces>y <U+202E><U+202E>",
		"  12 + \tif x {\n  13 + \t\treturn\t// y":                      "  12 + ⇥   if x {\n  13 + ⇥   ⇥   return⇥   // y",
		"   1 - \t      aligned":                                        "   1 - ⇥         aligned",
		"+ ⇥   x":                                                       "+ <U+21E5>   x",
		"+ " + strings.Repeat("\t", 11) + "x":                           "+ <11 tabs>x",
		"+ a" + strings.Repeat("\t", 4) + "x":                           "+ a<4 tabs>x",
		"+ \u202e\tx\u200b\r":                                           "+ <U+202E>⇥   x<U+200B><U+000D>",
	} {
		if got := RevealLines(in); got != want {
			t.Errorf("RevealLines(%q) = %q, want %q", in, got, want)
		}
	}
}

// A tab is never shown as spaces or as another text is, so that a Makefile's change is seen as it is.
func TestRevealTabsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]string{"a", " ", "\t", "\t\t", "⇥", "   ", "+", "\n"})
		text := func(name string) string { return strings.Join(rapid.SliceOfN(alphabet, 0, 6).Draw(t, name), "") }
		a, b := text("a"), text("b")
		if a != b && RevealLines(a) == RevealLines(b) {
			t.Fatalf("%q and %q look alike: %q", a, b, RevealLines(a))
		}
		if r := RevealLines(a); Clean(r) != r {
			t.Fatalf("Clean changes %q", r)
		}
	})
}

// B163: two different texts are never shown alike, and nothing is left for Clean to take away.
func TestRevealIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]string{"a", " ", "    ", "\u202e", "\u200b", "\u00a0", "\r", "\x1b[8m", "\u0430", "<U+", "202E>", "<", "\n", "0x", "\U000e0100"})
		text := func(name string) string { return strings.Join(rapid.SliceOfN(alphabet, 0, 6).Draw(t, name), "") }
		a, b := text("a"), text("b")
		if a != b && Reveal(a) == Reveal(b) && !strings.Contains(a+b, "spaces") {
			t.Fatalf("%q and %q look alike: %q", a, b, Reveal(a))
		}
		if r := Reveal(a); Clean(r) != r {
			t.Fatalf("Clean changes %q", r)
		}
	})
}
