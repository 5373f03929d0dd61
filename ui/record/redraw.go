package record

import (
	"strconv"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/emulator"
)

// censor lets through what is written to a terminal while it shows no secret. Else it draws, in its place, the difference between
// what the recording shows and the masked screen. So no byte of a frame that holds a secret is recorded.
type censor struct {
	mask   *masker
	real   *emulator.Terminal // what the user sees
	shown  *emulator.Terminal // what the recording shows
	synced bool               // both show the same
	sized  bool               // the size changed: what a player shows is not known
	tail   string             // the last characters that were written
}

func newCensor(secrets []string, w, h int) *censor {
	m := newMasker(secrets)
	if m == nil {
		return nil
	}
	return &censor{mask: m, real: emulator.New(w, h, ansi.WcWidth), shown: emulator.New(w, h, ansi.WcWidth), synced: true}
}

func (c *censor) resize(w, h int) {
	c.real.Resize(w, h)
	c.shown.Resize(w, h)
	c.sized = true
}

// frame gives what is recorded of a frame, which holds whole sequences and characters.
func (c *censor) frame(out string) string {
	feed(c.real, out)
	screen, found := c.mask.screen(c.real.Screen())
	if !found && c.synced && !c.holds(out) {
		feed(c.shown, out)
		c.sized = false
		return out
	}
	modes := c.modes(out)
	if c.sized {
		modes += ansi.ResetStyle + ansi.EraseEntireScreen
		c.sized = false
	}
	feed(c.shown, modes)
	drawn := redraw(c.shown.Screen(), screen)
	feed(c.shown, drawn)
	c.synced = !found && c.shown.Screen().Diff(screen) == ""
	return modes + drawn
}

// holds says that a secret is in what is written, though perhaps never on a screen: over frames, between moves of the cursor, in a
// title.
func (c *censor) holds(out string) bool {
	var b strings.Builder
	b.WriteString(c.tail)
	found := false
	pieces(out, func(k kind, s string) {
		switch k {
		case text:
			b.WriteString(s)
		case command:
			found = found || c.mask.has(s)
		}
	})
	written := b.String()
	c.tail = written[max(0, len(written)-c.mask.longest):]
	return found || c.mask.has(written)
}

// modes gives of a frame what is no text: modes, the shape of the cursor, the title with its secrets masked.
func (c *censor) modes(out string) string {
	var b strings.Builder
	pieces(out, func(k kind, s string) {
		switch {
		case s == ansi.SetModeSynchronizedOutput, s == ansi.ResetModeSynchronizedOutput, s == ansi.SetModeTextCursorEnable, s == ansi.ResetModeTextCursorEnable:
		case k == csi && strings.ContainsAny(s[len(s)-1:], "hlq"):
			b.WriteString(s)
		case k == command && len(s) > 4 && s[1] == ']' && s[2] >= '0' && s[2] <= '2' && s[3] == ';':
			b.WriteString(s[:4] + strings.Map(visible, c.mask.string(s[4:])) + "\a")
		}
	})
	return b.String()
}

// visible drops control characters.
func visible(r rune) rune {
	if r < 0x20 || r == 0x7f {
		return -1
	}
	return r
}

// pieces cuts what is written into characters and sequences.
func pieces(s string, each func(k kind, s string)) {
	for s != "" {
		k, n := next(s)
		if n == 0 {
			n = len(s)
		}
		each(k, s[:n])
		s = s[n:]
	}
}

// feed writes to a terminal, which counts by cluster from where the output says so. Titles, links, pictures and the like are left out:
// no cell shows them, and the emulator would print what follows a byte 9C in them, which many Chinese characters have.
func feed(t *emulator.Terminal, out string) {
	var b strings.Builder
	pieces(out, func(k kind, s string) {
		if k == command {
			return
		}
		b.WriteString(s)
		switch s {
		case ansi.SetModeUnicodeCore:
			t.Write(b.String())
			b.Reset()
			t.SetMethod(ansi.GraphemeWidth)
		case ansi.ResetModeUnicodeCore:
			t.Write(b.String())
			b.Reset()
			t.SetMethod(ansi.WcWidth)
		}
	})
	t.Write(b.String())
}

// redraw gives what brings a terminal from one screen to another of the same size. Links are left out.
func redraw(from, to emulator.Screen) string {
	var b strings.Builder
	b.WriteString(ansi.ResetModeTextCursorEnable + ansi.ResetStyle) // the cursor is not seen flying about
	var pen uv.Style
	w, h := to.Size()
	for y := range h {
		at := -1 // where the terminal writes next in this row
		for x := 0; x < w; x++ {
			cell := to.Whole(x, y)
			if cell.Width == 0 && to.Second(x, y) || same(from, to, x, y) {
				continue
			}
			if at != x {
				moveTo(&b, x, y)
			}
			if cell.Content == "" {
				cell.Content, cell.Width = " ", 1
			}
			b.WriteString(uv.StyleDiff(&pen, &cell.Style))
			pen = cell.Style
			b.WriteString(cell.Content)
			if at = x + cell.Width; len(cell.Content) > 1 {
				at = -1 // terminals may differ
			}
		}
	}
	b.WriteString(ansi.ResetStyle)
	if x, y, ok := to.Cursor(); ok {
		moveTo(&b, x, y)
		b.WriteString(ansi.SetModeTextCursorEnable)
	}
	return b.String()
}

// same says that a cell, and the second half of a wide one, need not be written.
func same(from, to emulator.Screen, x, y int) bool {
	a, b := from.Whole(x, y), to.Whole(x, y)
	return a.Content == b.Content && a.Width == b.Width && a.Style.Equal(&b.Style)
}

func moveTo(b *strings.Builder, x, y int) {
	b.WriteString("\x1b[" + strconv.Itoa(y+1) + ";" + strconv.Itoa(x+1) + "H")
}
