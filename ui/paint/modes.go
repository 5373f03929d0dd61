package paint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Here is what is said to a terminal beside cells, and what is known of terminals' ways.

// Leave gives what brings the terminal back to what it was before the first frame; nothing when there was none. The frame
// after it enters again.
func (p *Painter) Leave() []byte {
	if !p.begun {
		return nil
	}
	p.buf.Reset()
	if p.last.MouseMode != tea.MouseModeNone {
		p.buf.WriteString(mouse(tea.MouseModeNone))
	}
	if p.core {
		p.buf.WriteString(ansi.ResetModeUnicodeCore)
	}
	if p.shape != 0 {
		p.buf.WriteString(ansi.SetCursorStyle(0))
	}
	p.buf.WriteString(p.leave())
	p.begun, p.core, p.shape = false, false, 0
	return p.buf.Bytes()
}

// enter sets what is taken back after the last frame: the terminal's title is kept, the other screen, no wrapping at the edge (a
// character that a terminal counts otherwise must not push the next row), pastes in brackets, and keys told apart in both known ways.
func (p *Painter) enter() string {
	if p.cfg.Old || p.cfg.Bare {
		return "\x1b[?7l"
	}
	return keepTitle + ansi.SetModeAltScreenSaveCursor + "\x1b[?7l" + ansi.SetModeBracketedPaste + ansi.SetModifyOtherKeys2 + "\x1b[>1u"
}

// leave takes it back. The other screen is left empty: tmux shows what stood in it on the first screen when the size changed
// meanwhile. Where titles are not kept ours is taken away.
func (p *Painter) leave() string {
	if p.cfg.Old {
		return "\x1b[m\x1b[?7h\x1b[r\x1b[H" + ansi.EraseEntireScreen + ansi.SetModeTextCursorEnable
	}
	if p.cfg.Bare {
		return "\x1b[m\x1b[?7h" + ansi.SetModeTextCursorEnable
	}
	title := ""
	if p.last.WindowTitle != "" {
		title = ansi.SetWindowTitle("")
	}
	return "\x1b[m" + "\x1b[<1u" + ansi.ResetModifyOtherKeys + ansi.ResetModeBracketedPaste + "\x1b[?7h" + ansi.EraseEntireScreen + ansi.ResetModeAltScreenSaveCursor +
		ansi.SetModeTextCursorEnable + title + giveTitle
}

// The title's stack of the terminal.
const (
	keepTitle = "\x1b[22;2t"
	giveTitle = "\x1b[23;2t"
)

// mouse switches to what the mouse is to tell.
func mouse(m tea.MouseMode) string {
	const off = ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr
	switch m {
	case tea.MouseModeCellMotion:
		return ansi.ResetModeMouseAnyEvent + ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	case tea.MouseModeAllMotion:
		return ansi.ResetModeMouseButtonEvent + ansi.SetModeMouseAnyEvent + ansi.SetModeMouseExtSgr
	}
	return off
}

// sure says that every terminal gives the cluster the same width: it is one code point, and neither an emoji, of which terminals
// know more or fewer, nor a sign that some count as wide beside Chinese.
func sure(cluster string) bool {
	if len(cluster) == 1 {
		return true
	}
	r, n := utf8.DecodeRuneInString(cluster)
	switch {
	case n != len(cluster):
		return false
	case r >= 0x2010 && r <= 0x2bff:
		return r >= 0x2800 && r <= 0x28ff || strings.ContainsRune(neutral, r)
	case r >= 0xa0 && r <= 0xff:
		return unicode.IsLetter(r)
	}
	return r < 0x1f000 || r > 0x1ffff
}

// neutral are the signs of our own screen: one cell everywhere.
const neutral = "❯▸▾✓✗◦⚑◉⋯"
