package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/hinshun/vt10x"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/ui/demo"
	"vitrine/ui/emulator"
	"vitrine/ui/record"
)

// filler stands in the second cell of a wide character of the other emulator, which knows none.
const filler = '\uE000'

// other is an emulator that somebody else wrote. It counts code points as one cell each; so of each cluster it gets the first code
// point, and fillers up to its width.
type other struct {
	term vt10x.Terminal
	w, h int
}

func newOther(w, h int) *other {
	return &other{term: vt10x.New(vt10x.WithSize(w, h), vt10x.WithWriter(io.Discard)), w: w, h: h}
}

func (o *other) show(t *testing.T, e record.Event) {
	t.Helper()
	switch e.Code {
	case record.Resize:
		if _, err := fmt.Sscanf(e.Data, "%dx%d", &o.w, &o.h); err != nil {
			t.Fatal(err)
		}
		o.term.Resize(o.w, o.h)
	case record.Output:
		var b strings.Builder
		var state byte
		for rest := e.Data; rest != ""; {
			seq, width, n, next := ansi.DecodeSequence(rest, state, nil)
			rest, state = rest[n:], next
			if width == 0 {
				if strings.HasPrefix(seq, "\x1b[>") || strings.HasPrefix(seq, "\x1b[<") { // it takes these for colours
					continue
				}
				b.WriteString(seq)
				continue
			}
			r, _ := utf8.DecodeRuneInString(seq)
			b.WriteString(string(r) + strings.Repeat(string(filler), width-1))
		}
		if _, err := o.term.Write([]byte(b.String())); err != nil {
			t.Fatal(err)
		}
	}
}

// row is the text of a row, the first code point of each cluster.
func (o *other) row(y int) string {
	var b strings.Builder
	for x := range o.w {
		switch r := o.term.Cell(x, y).Char; r {
		case filler:
		case 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// ours is the same of a screen of ours.
func ours(s emulator.Screen, y int) string {
	w, _ := s.Size()
	var b strings.Builder
	for x := range w {
		if c := s.Cell(x, y); c != "" {
			r, _ := utf8.DecodeRuneInString(c)
			b.WriteRune(r)
		} else if !s.Second(x, y) {
			b.WriteByte(' ')
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// same compares text, colours of what is seen, and the cursor.
func (o *other) same(s emulator.Screen) error {
	w, h := s.Size()
	if w != o.w || h != o.h {
		return fmt.Errorf("%dx%d and %dx%d", w, h, o.w, o.h)
	}
	for y := range h {
		if a, b := ours(s, y), o.row(y); a != b {
			return fmt.Errorf("row %d\n%q\n%q", y, a, b)
		}
		for x := range w {
			c, cell := s.Whole(x, y), o.term.Cell(x, y)
			if c.Style.Attrs&uv.AttrReverse != 0 || s.Second(x, y) {
				continue
			}
			if got, want := cell.BG, rgbOf(c, true); c.Style.Bg != nil && got != want || c.Style.Bg == nil && got != vt10x.DefaultBG {
				return fmt.Errorf("the ground at %d,%d is %x, not %x", x, y, got, want)
			}
			if got, want := cell.FG, rgbOf(c, false); c.Content != "" && c.Content != " " && c.Style.Fg != nil && got != want {
				return fmt.Errorf("the colour at %d,%d of %q is %x, not %x", x, y, c.Content, got, want)
			}
		}
	}
	x, y, shown := s.Cursor()
	if at := o.term.Cursor(); shown != o.term.CursorVisible() || shown && (at.X != x || at.Y != y) {
		return fmt.Errorf("the cursor stands at %d,%d (%v), not %d,%d (%v)", at.X, at.Y, o.term.CursorVisible(), x, y, shown)
	}
	return nil
}

func rgbOf(c uv.Cell, ground bool) vt10x.Color {
	color := c.Style.Fg
	if ground {
		color = c.Style.Bg
	}
	if color == nil {
		return 0
	}
	r, g, b, _ := color.RGBA()
	return vt10x.Color(r>>8<<16 | g>>8<<8 | b>>8)
}

// castEvents reads a cast.
func castEvents(t *testing.T, path string) (h record.Header, all []record.Event) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := record.NewCastReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header(), all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// A cast shows the same screen in an emulator that is not ours, after each of its events.
func TestCastsShowTheSameElsewhere(t *testing.T) {
	names := []string{"unicode", "acceptance"}
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if r := inProcess(t, wiring{}, dir, "demo", name, "--record", "a.cast"); r.code != 0 {
				t.Fatalf("%+v", r)
			}
			h, all := castEvents(t, filepath.Join(dir, "a.cast"))
			theirs, mine := newOther(h.Width, h.Height), emulator.New(h.Width, h.Height, ansi.GraphemeWidth)
			for i, e := range all {
				theirs.show(t, e)
				switch e.Code {
				case record.Output:
					mine.Write(e.Data)
				case record.Resize:
					mine.Resize(theirs.w, theirs.h)
				}
				if err := theirs.same(mine.Screen()); err != nil && e.Code == record.Output {
					t.Fatalf("after event %d of %d: %v", i, len(all), err)
				}
			}
			if got := mine.Screen().String(); len(strings.TrimSpace(got)) < 100 {
				t.Errorf("it ends on\n%s", got)
			}
		})
	}
}

// B193: shifts, charset switches and questions in what tools and models say reach no output: the live screen, the replayed one and
// the picture are equal.
func TestNoCharsetSwitchesB193(t *testing.T) {
	const evil = "test\x0ehello\x0fworld and \x1b(0qqq\x1b(B then \x05\x07 end"
	type none struct{}
	p := startPlay(t, t.TempDir(), stage{
		w: 100, h: 30, grapheme: true,
		model: func(clk clock.Clock) llm.Client {
			return scripted.New(clk, scripted.Calls(scripted.Call{Name: "shift", Args: "{}"}), scripted.Text("It said "+evil))
		},
		tools: func(clock.Clock) []tools.Tool {
			return []tools.Tool{tools.New("shift", "shifts out", tools.ReadOnly, func(context.Context, tools.Call, none) (tools.Output, error) {
				return tools.Output{Data: evil}, nil
			})}
		},
	})
	p.Enter("go")
	p.until("the end", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ✓ done") })
	p.Press("tab", "enter")
	p.Show()
	live := p.Screen()
	if !live.Has("testhelloworld and qqq then") {
		t.Fatalf("the screen shows\n%s", live)
	}
	dir := t.TempDir()
	cast, picture, plain := filepath.Join(dir, "a.cast"), filepath.Join(dir, "a.gif"), filepath.Join(dir, "a.txt")
	r, err := record.New(record.Config{Width: 100, Height: 30, Cast: cast, GIF: picture, Text: plain, Look: record.Look{NoFrame: true}})
	if err != nil {
		t.Fatal(err)
	}
	written := p.out.String()
	for i, n := 0, 0; n < len(written); i++ { // cut anywhere
		to := min(len(written), n+1+i*37%701)
		r.Frame(playStart.Add(time.Duration(i)*time.Millisecond), written[n:to])
		n = to
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x0e", "\x0f", "\x05", "\x1b(", "\x1b)"} {
		if strings.Contains(written, bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
	h, all := castEvents(t, cast)
	theirs := newOther(h.Width, h.Height)
	for _, e := range all {
		theirs.show(t, e)
	}
	if err := theirs.same(live); err != nil {
		t.Errorf("the replay differs: %v", err)
	}
	text, err := os.ReadFile(plain)
	if err != nil || !strings.HasSuffix(string(text), live.String()) {
		t.Errorf("the text is another one: %v\n%s", err, text)
	}
	// The picture of the live screen, painted from nothing, is the last one of the recording.
	still := filepath.Join(dir, "b.gif")
	if r, err = record.New(record.Config{Width: 100, Height: 30, GIF: still, Look: record.Look{NoFrame: true}}); err != nil {
		t.Fatal(err)
	}
	r.Frame(playStart, repaint(live))
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b := lastPicture(t, picture), lastPicture(t, still); !alike(a, b) {
		t.Error("the picture shows something else")
	}
}

// repaint writes a screen from nothing.
func repaint(s emulator.Screen) string {
	var b strings.Builder
	b.WriteString(ansi.SetModeUnicodeCore + ansi.ResetModeAutoWrap)
	w, h := s.Size()
	for y := range h {
		for x := range w {
			if c := s.Whole(x, y); c.Width > 0 {
				fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[m%s%s", y+1, x+1, c.Style.String(), c.Content)
			}
		}
	}
	b.WriteString("\x1b[m")
	if x, y, ok := s.Cursor(); ok {
		fmt.Fprintf(&b, "\x1b[%d;%dH", y+1, x+1)
	} else {
		b.WriteString(ansi.ResetModeTextCursorEnable)
	}
	return b.String()
}

// lastPicture is what a GIF shows in the end.
func lastPicture(t *testing.T, path string) *image.RGBA {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := gif.DecodeAll(f)
	if err != nil {
		t.Fatal(err)
	}
	m := image.NewRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	for _, frame := range g.Image {
		draw.Draw(m, frame.Bounds(), frame, frame.Bounds().Min, draw.Over)
	}
	return m
}

// alike allows for shades that were rounded otherwise.
func alike(a, b *image.RGBA) bool {
	if a.Rect != b.Rect {
		return false
	}
	for i := range a.Pix {
		if d := int(a.Pix[i]) - int(b.Pix[i]); max(d, -d) > 8 {
			return false
		}
	}
	return true
}
