package record

import (
	"image/color"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/theme"
)

// Theme is the colours of what a terminal draws in no colour of its own, and its sixteen. The zero value is the dark one.
type Theme struct {
	Text, Ground, Cursor color.RGBA
	// Bar and Rule are the title bar and the edge of the window, Dots its three dots.
	Bar, Rule color.RGBA
	Dots      [3]color.RGBA
	Basic     [16]color.RGBA
}

// NewTheme is the look of a theme of the screen. An unknown name is dark.
func NewTheme(name theme.Name) Theme {
	t := theme.New(theme.Options{Name: name, Profile: colorprofile.TrueColor})
	return Theme{
		Text: solid(t.Color(theme.Text)), Ground: solid(t.Ground(theme.OnBase)), Cursor: solid(t.Color(theme.Accent)),
		Bar: solid(t.Ground(theme.OnRaised)), Rule: solid(t.Color(theme.Rule)),
		Dots:  [3]color.RGBA{solid(t.Color(theme.Error)), solid(t.Color(theme.Warn)), solid(t.Color(theme.Accent))},
		Basic: basic(name),
	}
}

func (t Theme) filled() Theme {
	if t == (Theme{}) {
		return NewTheme(theme.Dark)
	}
	return t
}

// basic is the sixteen colours, on a dark ground or on a light one.
func basic(name theme.Name) (colors [16]color.RGBA) {
	hex := [16]uint32{0x21262B, 0xE06C65, 0x7FC07A, 0xD9B25F, 0x6BA4E0, 0xC08AD6, 0x5FC3BD, 0xC6CDD2, 0x5D6870, 0xF58E84, 0x9BDB95, 0xF0CE7E, 0x8DBFF5, 0xD9A9EC, 0x82DDD6, 0xF5F8F9}
	if name == theme.Light {
		hex = [16]uint32{0x2A2823, 0xA8211A, 0x2F6B21, 0x7A4B00, 0x1C4F96, 0x7A2D8C, 0x07665A, 0xD6D1C4, 0x645F55, 0xC63A32, 0x43852F, 0x96651A, 0x2F69B8, 0x9544A8, 0x1B8375, 0xFBFAF6}
	}
	for i, h := range hex {
		colors[i] = color.RGBA{uint8(h >> 16), uint8(h >> 8), uint8(h), 0xff}
	}
	return colors
}

// color gives the colour of a cell; nil is none.
func (t *Theme) color(c color.Color, none color.RGBA) color.RGBA {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return t.Basic[c&15]
	case ansi.IndexedColor:
		if c < 16 {
			return t.Basic[c]
		}
	}
	return solid(c)
}

// solid is a colour without transparency.
func solid(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0xff}
}

// between is the colour at q of n steps from one to another.
func between(from, to color.RGBA, q, n int) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*(n-q) + int(b)*q + n/2) / n) }
	return color.RGBA{mix(from.R, to.R), mix(from.G, to.G), mix(from.B, to.B), 0xff}
}
