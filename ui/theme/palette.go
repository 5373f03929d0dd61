package theme

import (
	"image/color"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// palette is the colours of one theme, by role and by ground.
type palette struct {
	roles   [roles]color.RGBA
	grounds [grounds]color.RGBA
}

func paletteOf(n Name) palette {
	switch n {
	case Light:
		return palette{
			roles:   [roles]color.RGBA{Rule: rgb(0xB9B3A6), Faint: rgb(0x645F55), Text: rgb(0x2A2823), Strong: rgb(0x0C0B09), Accent: rgb(0x07665A), Warn: rgb(0x7A4B00), Error: rgb(0xA8211A)},
			grounds: [grounds]color.RGBA{OnBase: rgb(0xFBFAF6), OnPanel: rgb(0xF3F1EA), OnRaised: rgb(0xE6E2D8), OnRow: rgb(0xE6E2D8)},
		}
	case Contrast:
		return palette{
			roles:   [roles]color.RGBA{Rule: rgb(0xA8A8A8), Faint: rgb(0xCFCFCF), Text: rgb(0xFFFFFF), Strong: rgb(0xFFFFFF), Accent: rgb(0x5CF5E0), Warn: rgb(0xFFD54A), Error: rgb(0xFFA59D)},
			grounds: [grounds]color.RGBA{OnBase: rgb(0x000000), OnPanel: rgb(0x000000), OnRaised: rgb(0x262626), OnRow: rgb(0x262626)},
		}
	}
	return palette{
		roles:   [roles]color.RGBA{Rule: rgb(0x46525A), Faint: rgb(0x8A969E), Text: rgb(0xD3DADF), Strong: rgb(0xF5F8F9), Accent: rgb(0x6FD6C5), Warn: rgb(0xE8B964), Error: rgb(0xF58E84)},
		grounds: [grounds]color.RGBA{OnBase: rgb(0x101417), OnPanel: rgb(0x161B1F), OnRaised: rgb(0x212A30), OnRow: rgb(0x212A30)},
	}
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

// greyish is how far the channels of a colour may lie apart for a terminal of 256 colours to show it as a grey: its cube of
// six steps has no dark colours between black and navy, its ramp of greys has.
const greyish = 24

// convert gives a colour at a depth.
func convert(p colorprofile.Profile, c color.RGBA) color.Color {
	if p != colorprofile.ANSI256 || max(c.R, c.G, c.B)-min(c.R, c.G, c.B) >= greyish {
		return p.Convert(c)
	}
	light := (299*int(c.R) + 587*int(c.G) + 114*int(c.B) + 500) / 1000
	best, away := 231, 255-light // white of the cube
	for i := range 24 {
		if d := abs(8 + 10*i - light); d < away {
			best, away = 232+i, d
		}
	}
	if light < away {
		best = 16 // black of the cube
	}
	return ansi.IndexedColor(best)
}

func abs(n int) int { return max(n, -n) }
