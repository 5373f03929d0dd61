package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"vitrine/runtime/clock"
)

// cinema shows one view after the other, with Bubble Tea's renderer.
type cinema struct{ view tea.View }

func (c *cinema) Init() tea.Cmd { return nil }

func (c *cinema) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if v, ok := msg.(tea.View); ok {
		c.view = v
	}
	return c, nil
}

func (c *cinema) View() tea.View { return c.view }

// stockShows plays golden screens one over the other with Bubble Tea's own renderer and wants of each the cells that it would
// have painted whole, characters and styles.
func stockShows(t *testing.T, w, h int, film []tea.View) {
	term := newTerminal(w, h)
	p := tea.NewProgram(&cinema{}, append(stockOptions(clock.Real()), tea.WithInput(nil), tea.WithOutput(term), tea.WithWindowSize(w, h),
		tea.WithColorProfile(colorprofile.TrueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}))...)
	end := make(chan error, 1)
	go func() {
		_, err := p.Run()
		end <- err
	}()
	p.Send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	for i, v := range film {
		p.Send(v)
		want := repaint(v.Content, w, h, ansi.GraphemeWidth)
		bad := ""
		for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			if bad = term.differs(want); bad == "" {
				break
			}
		}
		if bad != "" {
			t.Errorf("screen %d, painted by Bubble Tea: %s", i, bad)
		}
		if t.Failed() {
			break
		}
	}
	p.Quit()
	if err := <-end; err != nil {
		t.Error(err)
	}
	term.close()
}

// differs says what of the terminal is not as it should be.
func (t *terminal) differs(want *uv.Buffer) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return differs(want, t.emu.CellAt)
}

// repaint is a frame painted whole.
func repaint(content string, w, h int, method ansi.Method) *uv.Buffer {
	buf := uv.NewScreenBuffer(w, h)
	buf.Method = method
	uv.NewStyledString(content).Draw(buf, buf.Bounds())
	return buf.Buffer
}

// differs tells of the first row whose cells are not those of want, characters, colours and links; empty: there is none.
func differs(want *uv.Buffer, got func(x, y int) *uv.Cell) string {
	for y := range want.Height() {
		for x := range want.Width() {
			if a, b := seen(want.CellAt(x, y)), seen(got(x, y)); a.Content != b.Content || !a.Style.Equal(&b.Style) || a.Link.URL != b.Link.URL {
				return fmt.Sprintf("row %d is\n%s\nand should be\n%s", y, styledRow(want.Width(), y, got), styledRow(want.Width(), y, want.CellAt))
			}
		}
	}
	return ""
}

// seen is what of a cell can be seen: of a blank one its ground.
func seen(c *uv.Cell) uv.Cell {
	if c == nil {
		return uv.Cell{Content: " "}
	}
	s := uv.Cell{Content: c.Content, Style: c.Style, Link: c.Link}
	switch {
	case c.Content == "" && c.Width == 0: // the second half of a wide character
		return uv.Cell{}
	case c.Content == "" || c.Content == " ":
		s.Content, s.Link = " ", uv.Link{}
		s.Style = uv.Style{Bg: c.Style.Bg, Attrs: c.Style.Attrs & (uv.AttrReverse | uv.AttrStrikethrough), Underline: c.Style.Underline}
	case strings.Contains(c.Content, "\u2060"): // it has no width, and the emulator drops it
		s.Content = strings.ReplaceAll(c.Content, "\u2060", "")
	}
	return s
}

// styledRow gives a row as text, with a bar after each cell and the style before each whose style is another.
func styledRow(w, y int, at func(x, y int) *uv.Cell) string {
	var b strings.Builder
	var last uv.Style
	for x := range w {
		c := seen(at(x, y))
		if c.Content == "" {
			continue
		}
		if !c.Style.Equal(&last) {
			b.WriteString("{" + strings.TrimPrefix(c.Style.String(), "\x1b") + "}")
			last = c.Style
		}
		b.WriteString(c.Content + "|")
	}
	return b.String()
}
