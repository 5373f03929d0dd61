package theme

import (
	"image/color"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

func TestPaint(t *testing.T) {
	for _, c := range []struct {
		name string
		opts Options
		fg   Role
		bg   Bg
		bold bool
		want string
	}{
		{"dark", Options{Profile: colorprofile.TrueColor}, Text, OnBase, false, "\x1b[38;2;211;218;223;48;2;16;20;23mx\x1b[m"},
		{"light bold", Options{Name: Light, Profile: colorprofile.TrueColor}, Accent, OnRaised, true, "\x1b[1;38;2;7;102;90;48;2;230;226;216mx\x1b[m"},
		{"sixteen", Options{Profile: colorprofile.ANSI}, Error, OnBase, false, "\x1b[31mx\x1b[m"},
		{"sixteen, nothing to say", Options{Profile: colorprofile.ANSI}, Text, OnPanel, false, "x"},
		{"sixteen, row", Options{Profile: colorprofile.ANSI}, Strong, OnRow, true, "\x1b[1;7mx\x1b[m"},
		{"no colour", Options{Profile: colorprofile.ASCII}, Accent, OnBase, false, "x"},
		{"no colour, strong", Options{Profile: colorprofile.ASCII}, Strong, OnRow, false, "\x1b[1;7mx\x1b[m"},
		{"no terminal", Options{Profile: colorprofile.NoTTY}, Strong, OnRow, true, "x"},
	} {
		if got := New(c.opts).Paint(c.fg, c.bg, c.bold, "x"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	th := New(Options{Profile: colorprofile.ANSI256})
	if got := th.Paint(Warn, OnBase, false, "x"); !strings.Contains(got, "38;5;") || !strings.Contains(got, "48;5;") {
		t.Errorf("256 colours: %q", got)
	}
	if th.Paint(Warn, OnBase, true, "") != "" {
		t.Error("nothing is painted")
	}
	if th.Color(Accent) == nil || th.Ground(OnBase) == nil || New(Options{Profile: colorprofile.ANSI}).Color(Accent) != nil {
		t.Error("colours are given from 256 on")
	}
	if got := th.Extra(Attrs{Italic: true, Underline: true, Strike: true}); got != "\x1b[3;4;4;9m" {
		t.Errorf("Extra = %q", got)
	}
	if New(Options{Profile: colorprofile.NoTTY}).Extra(Attrs{Italic: true}) != "" || th.Extra(Attrs{}) != "" {
		t.Error("Extra without attributes")
	}
	if th.Options().Profile != colorprofile.ANSI256 {
		t.Error("Options")
	}
}

// The least contrast of each role on any ground is the design's, in each of the three sets of colours.
func TestContrast(t *testing.T) {
	for n, least := range map[Name]map[Role]float64{
		Dark:     {Faint: 4.8, Text: 10.3, Strong: 13, Accent: 8.4, Warn: 8.0, Error: 6.3},
		Light:    {Faint: 4.9, Text: 11.4, Strong: 13, Accent: 5.3, Warn: 5.7, Error: 5.6},
		Contrast: {Faint: 9.7, Text: 15.1, Strong: 13, Accent: 11.2, Warn: 10.7, Error: 8.0},
	} {
		p := paletteOf(n)
		for r, want := range least {
			for g, bg := range p.grounds {
				if got := contrast(p.roles[r], bg); got < want-0.06 {
					t.Errorf("%s: role %d on ground %d has a contrast of %.2f, want %.1f", n, r, g, got, want)
				}
			}
		}
	}
}

// The look of 16 colours leaves the terminal's own colours and grounds, whatever the terminal could do, and no bright black.
func TestSixteen(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
		th, want := New(Options{Name: Sixteen, Profile: profile}), New(Options{Profile: colorprofile.ANSI})
		for r := range roles {
			for g := range grounds {
				for _, bold := range []bool{false, true} {
					got := th.Paint(r, g, bold, "x")
					if got != want.Paint(r, g, bold, "x") || strings.Contains(got, "8;") || strings.Contains(got, "[9") {
						t.Errorf("profile %v, role %d on %d: %q", profile, r, g, got)
					}
				}
			}
		}
		if th.Ground(OnBase) != nil || th.Color(Accent) != nil {
			t.Error("it has colours of its own")
		}
	}
	if got := New(Options{Name: Sixteen, Profile: colorprofile.ASCII}).Paint(Error, OnBase, false, "x"); got != "x" {
		t.Errorf("without colours it writes %q", got)
	}
}

func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.RGBA) float64 {
	f := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.03928 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*f(c.R) + 0.7152*f(c.G) + 0.0722*f(c.B)
}

// All glyphs are one cell wide both ways of counting, and the ASCII ones are ASCII.
func TestGlyphs(t *testing.T) {
	for _, g := range []Glyphs{unicodeGlyphs(), asciiGlyphs()} {
		ascii := g.Here == ">"
		v := reflect.ValueOf(g)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			var all []string
			switch f := v.Field(i).Interface().(type) {
			case string:
				all = []string{f}
			case [4]string:
				all = f[:]
			case [10]string:
				all = f[:]
			}
			want := 1
			if strings.HasPrefix(name, "Mark") {
				want = 2
			}
			for _, s := range all {
				if ansi.StringWidth(s) != want || ansi.StringWidthWc(s) != want {
					t.Errorf("%s %q is not %d wide", name, s, want)
				}
				for _, r := range s {
					if ascii && (r < ' ' || r > '~') {
						t.Errorf("%s %q is not ASCII", name, s)
					}
					if r >= 0x2500 && r <= 0x259f || r >= 0x2190 && r <= 0x2199 || r == '…' || r == '·' {
						t.Errorf("%s %q has an ambiguous width", name, s)
					}
				}
			}
		}
	}
}

func TestSpinner(t *testing.T) {
	th := New(Options{})
	if th.Spinner(2) != "⠹" || th.Spinner(12) != "⠹" || th.Spinner(-8) != "⠹" {
		t.Error("all spinners turn in ten frames")
	}
	if th.Brand(1, true) != "⣏⣻" || th.Brand(-3, true) != "⣏⣻" || th.Brand(1, false) != "⣏⣹" {
		t.Error("the mark turns while something works")
	}
	still := New(Options{Reduced: true})
	if still.Spinner(3) != "⠿" || still.Brand(2, true) != "⣏⣹" || !still.Reduced() {
		t.Error("reduced motion still moves")
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		n    int
		est  bool
		want string
	}{{412, false, "412"}, {3112, false, "3.1k"}, {6000, false, "6k"}, {1_200_000, false, "1.2M"}, {3300, true, "~3.3k"}, {-1, true, "-"}, {999_960, false, "1.0M"}, {100_000, false, "100k"}} {
		if got := Tokens(c.n, c.est); got != c.want {
			t.Errorf("Tokens(%d) = %q, want %q", c.n, got, c.want)
		}
	}
	f := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		f    *float64
		want string
	}{{nil, "-"}, {f(0.0012), "$0.0012"}, {f(1.2), "$1.20"}, {f(0.99996), "$1.00"}, {f(0), "$0.0000"}} {
		if got := Money(c.f); got != c.want {
			t.Errorf("Money = %q, want %q", got, c.want)
		}
	}
	for _, c := range []struct {
		n    int64
		want string
	}{{412, "412 B"}, {1229, "1.2 KB"}, {3_565_158, "3.4 MB"}, {5 << 40, "5120.0 GB"}, {-1, "-"}} {
		if got := Bytes(c.n); got != c.want {
			t.Errorf("Bytes(%d) = %q, want %q", c.n, got, c.want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 3112: "3,112", 1_234_567: "1,234,567", -1234: "-1,234"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

// With 256 colours the grounds stay what they are, shades of one grey that can be told apart: the nearest colour of the cube
// would be navy.
func TestGroundsOf256ColoursAreGreys(t *testing.T) {
	for _, name := range []Name{Dark, Light} {
		th := New(Options{Name: name, Profile: colorprofile.ANSI256})
		seen := map[int]bool{}
		for _, g := range []Bg{OnBase, OnPanel, OnRaised} {
			i, ok := index(th.Ground(g))
			if !ok || i != 16 && i < 231 {
				t.Errorf("%s: ground %d is colour %d", name, g, i)
			}
			if seen[i] {
				t.Errorf("%s: two grounds are colour %d", name, i)
			}
			seen[i] = true
		}
		if i, ok := index(th.Color(Accent)); !ok || i > 231 {
			t.Errorf("%s: the accent is grey %d", name, i)
		}
	}
}

// index is the place of a colour in the table of 256.
func index(c color.Color) (int, bool) {
	i, ok := c.(ansi.IndexedColor)
	return int(i), ok
}

// Dim makes all text the colour of hints, and no lines.
func TestDim(t *testing.T) {
	th, dim := New(Options{Profile: colorprofile.TrueColor}), New(Options{Profile: colorprofile.TrueColor, Dim: true})
	for _, r := range []Role{Faint, Text, Strong, Accent, Warn, Error} {
		if dim.Paint(r, OnBase, true, "x") != th.Paint(Faint, OnBase, false, "x") {
			t.Errorf("role %d is not dim", r)
		}
	}
	if dim.Paint(Rule, OnBase, false, "x") != th.Paint(Rule, OnBase, false, "x") {
		t.Error("rules change")
	}
}
