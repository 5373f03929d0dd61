package record

import "image/color"

// Theme is the colours of what a terminal draws in no colour of its own. The zero value is dark.
type Theme struct {
	Text, Ground, Cursor color.RGBA
}
