package paint

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/runtime/clock"
)

// nasty draws text as a hostile tool could send it.
func nasty() *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{
		"a", "b", "Z", "9", " ", "  ", "-", "word", "(", ")", ".", "\n", "\r\n", "\r", "\t", "\x00", "\x07", "\x7f",
		"e\u0301", "\u0301", "\u093e", "\u0915\u093e", "\u0938\u094d\u0924\u0947", "\u0915\u094d\u0937", "\u0e33", "\uff76\uff9e", "\uff9e",
		"你", "好", "。", "「", "」", "한", "\u1112\u1161\u11ab", "\u1112", "\u1161",
		"\U0001F399\uFE0F", "\U0001F485\U0001F3FB", "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466", "\U0001F1F5\U0001F1F1", "\U0001F1F5",
		"\U0001F3FB", "\uFE0F", "\u200D", "\u200C", "1\uFE0F\u20E3", "\u26A0\uFE0F", "\U0001F3F4\U000E0067\U000E007F", "\U0001FAC6", "\U0001F47D",
		"\u0600", "\u06dd", "\u0628\u200c\u0628", "\u202E", "\u2066", "\u200B", "\uFEFF", "\uFFFE", "\U000E0041", "\u2028", "\u0085", "\u009b31m", "\u009d52;c;eA==\u009c",
		"\x1b[31m", "\x1b]8;;http://evil.example\x1b\\safe\x1b]8;;\x1b\\", "\x1b]0;t\x07", "\x1bP1$r\x1b\\", "\x1b", "\x1b(B", "\x1b]open", "\x1b[", "\xff", "\xe4\xbd", "\x9b",
	})
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			return rapid.String().Draw(t, "any")
		}
		return strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "pieces"), "")
	})
}

// hasControl finds anything that a terminal or a reader could be misled by.
func hasControl(s string) bool {
	for _, r := range s {
		switch {
		case r == '\n':
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x61c:
			return true
		case r == 0x200b, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f, nonCharacter(r), r == 0x2028, r == 0x2029:
			return true
		}
	}
	return !utf8.ValidString(s)
}

func TestCleanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := nasty().Draw(t, "a"), nasty().Draw(t, "b")
		ca := Clean(a)
		if hasControl(ca) {
			t.Fatalf("Clean(%q) = %q", a, ca)
		}
		if again := Clean(ca); again != ca {
			t.Fatalf("not idempotent: %q, then %q", ca, again)
		}
		if !strings.HasSuffix(a, "\r") {
			if got, want := Clean(a+"\n"+b), ca+"\n"+Clean(b); got != want {
				t.Fatalf("not by line: %q, want %q", got, want)
			}
		}
		if l := CleanLine(a); strings.ContainsAny(l, "\n") || hasControl(l) {
			t.Fatalf("CleanLine(%q) = %q", a, l)
		}
	})
}

func TestClean(t *testing.T) { // B016
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"a\tb", "a    b"},
		{"a\r\nb\rc", "a\nb\nc"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\", "safe.example"},
		{"x\u009b31my", "xy"},
		{"x\u009d52;c;eA==\u009cy", "xy"},
		{"x\x1b]52;c;eA==\x07y", "xy"},
		{"x\x1bP+q544e\x1b\\y", "xy"},
		{"open \x1b]0;never ends", "open 0;never ends"},
		{"a\u202Eb\u2066c\u200Fd", "abcd"},
		{"a\u200Bb\uFEFFc\u00ADd", "abcd"},
		{"\xff\xe4", "\uFFFD\uFFFD"},
		{"tag\U000E0041\U000E007F", "tag"},
		{"\u0301x", "\u25CC\u0301x"},
		{"e\u0301", "e\u0301"},
		{"\U0001F468\u200D\U0001F469", "\U0001F468\u200D\U0001F469"},
		{"a\u200Db", "ab"},
		{"\u0645\u06CC\u200C\u062E", "\u0645\u06CC\u200C\u062E"},
		{"\u26A0\uFE0F", "\u26A0\uFE0F"},
		{"e" + strings.Repeat("\u0301", 50), "e" + strings.Repeat("\u0301", maxMarks)},
		{"l1\u2028l2", "l1\nl2"},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if got := CleanLine("\na\nb\n"); got != "a b" {
		t.Errorf("CleanLine = %q", got)
	}
}

// cellsOf counts the cells that one row takes on an emulator, which counts by cluster.
func cellsOf(row string) int {
	e := vt.NewEmulator(len(row)+10, 2)
	defer e.Close()
	_, _ = e.WriteString(row + "\x1b[m") // the sequence flushes the last cluster
	p := e.CursorPosition()
	return p.X
}

// byCodePoint counts as a terminal that knows nothing of clusters.
func byCodePoint(s string) int { return ansi.StringWidthWc(s) }

func TestWidthProperties(t *testing.T) { // B001
	rapid.Check(t, func(t *rapid.T) {
		s := Clean(nasty().Draw(t, "s"))
		w := rapid.IntRange(1, 30).Draw(t, "w")
		for _, m := range []Metrics{{}, {Grapheme: true}} {
			safe := m.Safe(s)
			if again := m.Safe(safe); again != safe {
				t.Fatalf("Safe is not idempotent: %q, then %q", safe, again)
			}
			rows := append(m.Wrap(safe, w), strings.Split(safe, "\n")...)
			for i, row := range rows {
				fit := m.Fit(row, w)
				edge := "  " + fit + "|"
				if i < len(rows)-strings.Count(safe, "\n")-1 && m.Width(row) > w {
					t.Fatalf("row %q is %d wide, want at most %d", row, m.Width(row), w)
				}
				if got := m.Width(edge); got != w+3 {
					t.Fatalf("%+v: %q measures %d, want %d", m, edge, got, w+3)
				}
				if got := m.method().StringWidth(edge); got != w+3 {
					t.Fatalf("%+v: the renderer counts %q as %d, want %d", m, edge, got, w+3)
				}
				if got := cellsOf(edge); got != w+3 {
					t.Fatalf("%+v: on a terminal that counts clusters %q takes %d, want %d", m, edge, got, w+3)
				}
				if got := byCodePoint(edge); !m.Grapheme && got != w+3 {
					t.Fatalf("on a terminal that counts code points %q takes %d, want %d", edge, got, w+3)
				}
			}
		}
	})
}

func TestSafe(t *testing.T) { // B001
	m := Metrics{}
	for _, c := range []struct{ in, want string }{
		{"plain e\u0301 你好", "plain e\u0301 你好"},
		{"\U0001F399\uFE0F mic", "\U0001F399 mic"},
		{"\U0001F485\U0001F3FB nails", "\U0001F485 nails"},
		{"\U0001F468\u200D\U0001F469\u200D\U0001F467 family", "\U0001F468 family"},
		{"\U0001F1F5\U0001F1F1 flag", "PL flag"},
		{"1\uFE0F\u20E3", "1"},
		{"\u0938\u094d\u0924\u0947", "\u0938\u094d\u2060\u0924\u0947"},
	} {
		if got := m.Safe(c.in); got != c.want {
			t.Errorf("Safe(%q) = %q, want %q", c.in, got, c.want)
		}
		if got := (Metrics{Grapheme: true}).Safe(c.in); got != c.in {
			t.Errorf("by grapheme Safe(%q) = %q", c.in, got)
		}
	}
}

func TestWrap(t *testing.T) {
	han := strings.Repeat("汉", 100)
	for _, c := range []struct {
		name, in string
		w        int
		want     []string
	}{
		{"words", "the quick brown fox", 10, []string{"the quick", "brown fox"}},
		{"exact", "abc def", 7, []string{"abc def"}},
		{"spaces at a break", "abc   def", 5, []string{"abc", "def"}},
		{"indentation", "  a bb", 4, []string{"  a", "bb"}},
		{"hard", "abcdefghij k", 4, []string{"abcd", "efgh", "ij k"}},
		{"hard after a word", "x abcdefghij", 4, []string{"x", "abcd", "efgh", "ij"}},
		{"hyphen", "well-known fact", 6, []string{"well-", "known", "fact"}},
		{"number", "a 2026-10-08", 8, []string{"a", "2026-10-", "08"}},
		{"lines", "a\n\nb", 5, []string{"a", "", "b"}},
		{"empty", "", 5, []string{""}},
		{"closing mark", "一二三四，五", 8, []string{"一二三", "四，五"}}, // B026
		{"opening mark", "一二三「四」", 8, []string{"一二三", "「四」"}},
		{"mixed", "用 Go 写的程序", 6, []string{"用 Go", "写的程", "序"}},
		{"wide in one cell", "汉a", 1, []string{"a"}},
		{"narrow", "ab", 0, []string{"a", "b"}},
	} {
		if d := cmp.Diff(c.want, Metrics{}.Wrap(c.in, c.w)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	rows := Metrics{}.Wrap(han, 30) // B026
	if len(rows) != 7 || rows[6] != strings.Repeat("汉", 10) {
		t.Errorf("100 Han characters in 30 cells: %d rows, last %q", len(rows), rows[len(rows)-1])
	}
}

func TestCutPadFit(t *testing.T) {
	m := Metrics{}
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{
		{"hello", 5, "hello"}, {"hello", 4, "hel⋯"}, {"hello", 1, "⋯"}, {"hello", 0, ""}, {"hello", -3, ""},
		{"日本語", 5, "日本⋯"}, {"日本語", 4, "日⋯ "}, {"a", 3, "a  "},
		{"\x1b[1mhello\x1b[m", 4, "\x1b[1mhel⋯\x1b[m"},
	} {
		if got := m.Fit(c.in, c.w); got != c.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
	if got := (Metrics{Mark: "$"}).Fit("hello", 3); got != "he$" {
		t.Errorf("with the ASCII mark: %q", got)
	}
	if got := m.FitRight("12", 4); got != "  12" {
		t.Errorf("FitRight = %q", got)
	}
	if got := Spaces(500); len(got) != 500 {
		t.Errorf("Spaces(500) has %d", len(got))
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31mb", "\x1b]8;;x\x1b\\y", "\u009d", "👩\u200d👩", "\xff", "क\u094dष", strings.Repeat("\x1b]", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if hasControl(c) || Clean(c) != c {
			t.Fatalf("Clean(%q) = %q", s, c)
		}
		m := Metrics{}
		for _, row := range m.Wrap(m.Safe(c), 7) {
			if w := m.Width(m.Fit(row, 7)); w != 7 {
				t.Fatalf("row %q is %d wide", row, w)
			}
		}
	})
}

func BenchmarkClean(b *testing.B) {
	ascii, mixed := strings.Repeat("the quick brown fox ", 100), strings.Repeat("用 Go 写的程序 ", 100)
	for name, s := range map[string]string{"ascii": ascii, "han": mixed} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for range b.N {
				_ = Clean(s)
			}
		})
	}
}

func BenchmarkWrap(b *testing.B) {
	s := strings.Repeat("the quick brown fox, ", 500)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for range b.N {
		_ = Metrics{}.Wrap(s, 76)
	}
}

// All that was read is handed on at once, however much longer it gets: who reads waits for the terminal, and would not come again for the rest.
func TestKeysLeaveNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := "\x1b[200~" + strings.Repeat("\x1b", 5000) + strings.Repeat("\xff", 5000) + "\x1b[201~k"
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	k := &Keys{File: r, Clock: clock.NewSim(time.Time{}), Ready: func(time.Duration) bool { return true }}
	var got strings.Builder
	for buf := make([]byte, 4096); ; {
		n, err := k.Read(buf)
		if err != nil {
			break
		}
		if got.Write(buf[:n]); len(k.out) > 0 {
			t.Fatalf("%d bytes are left behind", len(k.out))
		}
	}
	if s := got.String(); !strings.HasSuffix(s, "\x1b[201~k") || len(s) != 3*10_000+13 {
		t.Errorf("%d bytes came through", len(s))
	}
}
