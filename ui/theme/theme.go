// Package theme gives the screen its colours, glyphs and number formats.
//
// Text has a role (what it is for) and stands on a ground (where it is). New computes the escape sequences of every pair once,
// for one background, colour depth and glyph set; Paint is then plain string concatenation. A theme never changes: another
// look is another theme, so a pointer to it is a key for caches. Bold and reverse video carry what colour cannot on
// terminals without it.
package theme

import (
	"image/color"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"vitrine/ui/words"
)

// Role is what a text is for.
type Role uint8

// The roles.
const (
	Rule   Role = iota // lines between panes
	Faint              // hints, times
	Text               // what is read
	Strong             // the user's words, headings, selection
	Accent             // here, or moving
	Warn
	Error
	roles
)

// Bg is the ground under a text.
type Bg uint8

// The grounds.
const (
	OnBase   Bg = iota // chat, tabs
	OnPanel            // trace, todos
	OnRaised           // input, dialogs
	OnRow              // the selected row
	grounds
)

// Name is a set of colours.
type Name string

// The sets of colours.
const (
	Dark     Name = "dark"
	Light    Name = "light"
	Contrast Name = "contrast"
	Sixteen  Name = "16" // the terminal's own colours
)

// Options choose a theme. The zero value is dark, without colours, with Unicode glyphs; New(Options{Profile:
// colorprofile.TrueColor}) is the full one.
type Options struct {
	Name Name
	// Profile is the colour depth. Up to colorprofile.Ascii nothing is coloured; NoTTY and Unknown have no attributes either.
	Profile colorprofile.Profile
	// ASCII takes glyphs that every terminal and font has.
	ASCII bool
	// Reduced asks for no motion.
	Reduced bool
	// NoLinks is for terminals that may not know links.
	NoLinks bool
	// Dim gives every text the colour of hints: for what is out of the model's sight.
	Dim bool
	// Lang is the language of the screen's texts: it goes where the theme goes, and a cache that holds for one holds for both.
	Lang words.Lang
	// Keys are the user's keys, for texts that name ours; nil: they are ours.
	Keys *words.Keys
}

// Theme is one look of the screen. It is immutable and safe for concurrent use.
type Theme struct {
	// Glyphs are the signs of the screen.
	Glyphs Glyphs
	opts   Options
	prefix [roles][grounds][2]string
	fg     [roles]color.Color // nil without colours
	bg     [grounds]color.Color
	reset  string
}

// New makes a theme. An unknown name is dark.
func New(opts Options) *Theme {
	t := &Theme{opts: opts, Glyphs: unicodeGlyphs()}
	if opts.ASCII {
		t.Glyphs = asciiGlyphs()
	}
	p, profile := paletteOf(opts.Name), opts.Profile
	if opts.Name == Sixteen {
		profile = min(profile, colorprofile.ANSI)
	}
	if profile > colorprofile.NoTTY {
		t.reset = "\x1b[m"
	}
	for r := range roles {
		for g := range grounds {
			for bold := range 2 {
				role, strong := r, bold == 1
				if opts.Dim && r != Rule {
					role, strong = Faint, false
				}
				t.prefix[r][g][bold] = prefixOf(style(p, profile, role, g, strong))
			}
		}
	}
	if profile >= colorprofile.ANSI256 {
		for r := range roles {
			t.fg[r] = convert(profile, p.roles[r])
		}
		for g := range grounds {
			t.bg[g] = convert(profile, p.grounds[g])
		}
	}
	return t
}

// Options gives what the theme was made of, for a theme that differs in one of them.
func (t *Theme) Options() Options { return t.opts }

// Color is the colour of a role, nil where the theme has none: for the cursor.
func (t *Theme) Color(r Role) color.Color { return t.fg[r] }

// Ground is the colour of a ground, nil where the theme has none: for the terminal's background.
func (t *Theme) Ground(g Bg) color.Color { return t.bg[g] }

// Lang is the language of texts.
func (t *Theme) Lang() words.Lang { return t.opts.Lang }

// T is one of our texts in the screen's language; see package words.
func (t *Theme) T(text words.Text, args ...any) string {
	return t.opts.Lang.Keyed(t.opts.Keys, text, args...)
}

// N is one of our texts in the singular or the plural.
func (t *Theme) N(n int, one words.One, many words.Text, args ...any) string {
	return t.opts.Lang.KeyedN(t.opts.Keys, n, one, many, args...)
}

// Tell is a text of another part of the program in the screen's language.
func (t *Theme) Tell(text string) string { return t.opts.Lang.Tell(text) }

// Duration writes how long something took.
func (t *Theme) Duration(d time.Duration) string { return t.opts.Lang.Duration(d) }

// Ago writes how long ago something was.
func (t *Theme) Ago(d time.Duration) string { return t.opts.Lang.Ago(d) }

// Reduced says that nothing should move.
func (t *Theme) Reduced() bool { return t.opts.Reduced }

// Style gives what to write before and after a text. Both are empty where the terminal shows no attributes.
func (t *Theme) Style(fg Role, bg Bg, bold bool) (prefix, suffix string) {
	b := 0
	if bold {
		b = 1
	}
	prefix = t.prefix[fg][bg][b]
	if prefix == "" {
		return "", ""
	}
	return prefix, t.reset
}

// Paint styles s, which must be padded already: the ground covers what s covers.
func (t *Theme) Paint(fg Role, bg Bg, bold bool, s string) string {
	if s == "" {
		return ""
	}
	prefix, suffix := t.Style(fg, bg, bold)
	return prefix + s + suffix
}

// Attrs are what Markdown adds to a style.
type Attrs struct{ Italic, Strike, Underline bool }

// Extra gives the sequence that adds attributes after a prefix of Style; the suffix ends them too.
func (t *Theme) Extra(a Attrs) string {
	if t.reset == "" || a == (Attrs{}) {
		return ""
	}
	return prefixOf(lipgloss.NewStyle().Italic(a.Italic).Underline(a.Underline).Strikethrough(a.Strike))
}

// Reverse gives what shows a stretch within a painted text in reverse, whatever its colours, and what ends that; a new style within
// it begins without. Both are empty where the terminal shows no attributes.
func (t *Theme) Reverse() (on, off string) {
	if t.reset == "" {
		return "", ""
	}
	return "\x1b[7m", "\x1b[27m"
}

// prefixOf is what a style writes before a text. It is taken once, when a theme is made: frames only join strings.
func prefixOf(s lipgloss.Style) string {
	prefix, _, _ := strings.Cut(s.Render(probe), probe)
	return prefix
}

// probe is a text that no style changes.
const probe = "x"

// style is a role on a ground at a colour depth.
func style(p palette, profile colorprofile.Profile, r Role, g Bg, bold bool) lipgloss.Style {
	s := lipgloss.NewStyle()
	switch {
	case profile <= colorprofile.NoTTY:
		return s
	case profile >= colorprofile.ANSI256:
		return s.Bold(bold).Foreground(convert(profile, p.roles[r])).Background(convert(profile, p.grounds[g]))
	}
	s = s.Bold(bold || r == Strong).Reverse(g == OnRow)
	if profile < colorprofile.ANSI {
		return s
	}
	// Sixteen colours are the user's own, so the ground stays theirs.
	switch r {
	case Rule, Faint:
		s = s.Faint(true)
	case Accent:
		s = s.Foreground(lipgloss.Cyan)
	case Warn:
		s = s.Foreground(lipgloss.Yellow)
	case Error:
		s = s.Foreground(lipgloss.Red)
	}
	return s
}
