package paint_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/ui/paint"
	"vitrine/ui/paint/termtest"
)

// screen gives the cells as text: content, colours and attributes, so that a cell in the wrong colour is seen too.
func screen(w, h int, at func(x, y int) *uv.Cell) []string {
	rows := make([]string, h)
	for y := range rows {
		var b strings.Builder
		for x := range w {
			c := at(x, y)
			if c == nil {
				c = &uv.EmptyCell
			}
			content, style := c.Content, c.Style
			if content == "" && c.Width == 0 {
				continue
			}
			if content == "" || content == " " {
				content = " "
				style = uv.Style{Bg: c.Style.Bg, Attrs: c.Style.Attrs & (uv.AttrReverse | uv.AttrStrikethrough), Underline: c.Style.Underline}
			}
			fmt.Fprintf(&b, "%s%s%s|", style.String(), strings.ReplaceAll(content, "\u2060", ""), c.Link.URL)
		}
		rows[y] = b.String()
	}
	return rows
}

// whole is the content painted on an empty screen by the library's own drawing.
func whole(content string, w, h int, method ansi.Method) []string {
	buf := uv.NewScreenBuffer(w, h)
	buf.Method = method
	uv.NewStyledString(content).Draw(buf, buf.Bounds())
	return screen(w, h, buf.CellAt)
}

var links = regexp.MustCompile(`\x1b]8;[^\x1b]*\x1b\\`)

func pieces() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"plain ", "x", "  ", "             ", "部署", "计划在", "👍", "e\u0301", "한글", "\x1b[31mred\x1b[m", "\x1b[48;2;16;20;23m      在     \x1b[m",
		"\x1b[48;2;16;20;23m                \x1b[m", "\x1b[7mopen ", "\x1b[4m under \x1b[m", "\x1b[m", "\x1b[1mbold\x1b[0m ", "\x1b]8;;http://a.example\x1b\\link", "\x1b]8;;\x1b\\", ""})
}

// Whatever the frames are, the terminal shows after each what painting it whole would show: characters, colours and links, with
// wide characters cut in half by what comes over them, new sizes, and both ways to count.
func TestFramesEqualARepaint(t *testing.T) {
	row := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces(), 0, 6).Draw(t, "row"), "") })
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]ansi.Method{ansi.WcWidth, ansi.GraphemeWidth}).Draw(t, "method")
		old := rapid.Bool().Draw(t, "old")
		p := paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor, Plain: old || rapid.Bool().Draw(t, "plain"), Old: old})
		p.SetMethod(method)
		p.SetSync(!old && rapid.Bool().Draw(t, "sync"))
		w, h := rapid.IntRange(2, 40).Draw(t, "w"), rapid.IntRange(1, 8).Draw(t, "h")
		emu, other := vt.NewEmulator(w, h), termtest.New(termtest.Config{W: w, H: h, Old: old, Shows: old, Wc: method == ansi.WcWidth})
		p.Resize(w, h)
		rows := rapid.SliceOfN(row, 1, 8).Draw(t, "rows")
		for n := range rapid.IntRange(2, 8).Draw(t, "frames") {
			switch rapid.IntRange(0, 8).Draw(t, "change") {
			case 0:
				rows = append(rows[1:len(rows):len(rows)], row.Draw(t, "new"))
			case 1:
				rows = rapid.SliceOfN(row, 1, 8).Draw(t, "rows")
			case 2:
				w, h = rapid.IntRange(2, 40).Draw(t, "w"), rapid.IntRange(1, 8).Draw(t, "h")
				emu.Resize(w, h)
				other.Resize(w, h)
				p.Resize(w, h)
			default:
				rows[rapid.IntRange(0, len(rows)-1).Draw(t, "at")] = row.Draw(t, "new")
			}
			v := tea.NewView(strings.Join(rows, "\n"))
			if rapid.Bool().Draw(t, "cursor") {
				v.Cursor = tea.NewCursor(rapid.IntRange(0, w-1).Draw(t, "x"), rapid.IntRange(0, h-1).Draw(t, "y"))
			}
			frame := string(p.Frame(v))
			_, _ = emu.WriteString(frame)
			known := v.Content
			if old {
				known = links.ReplaceAllString(known, "")
			}
			if d := cmp.Diff(whole(known, w, h, method), screen(w, h, emu.CellAt)); d != "" {
				t.Fatalf("frame %d of %q, written as %q (-whole +painted):\n%s", n, rows, frame, d)
			}
			_, _ = other.Write([]byte(frame))
			if d := cmp.Diff(whole(known, w, h, method), screen(w, h, other.CellAt)); d != "" {
				t.Fatalf("old %v, frame %d of %q, written as %q (-whole +painted):\n%s", old, n, rows, frame, d)
			}
			if x, y, shown := other.Cursor(); v.Cursor != nil && (x != v.Cursor.X || y != v.Cursor.Y) || shown != (v.Cursor != nil) {
				t.Fatalf("the cursor is at %d,%d, shown %v, after %q", x, y, shown, frame)
			}
			if u := other.Unknown(); len(u) > 0 {
				t.Fatalf("the terminal does not know %v", u)
			}
			if c := emu.CursorPosition(); v.Cursor != nil && (c.X != v.Cursor.X || c.Y != v.Cursor.Y) {
				t.Fatalf("the cursor is at %v, not at %v, after %q", c, v.Cursor.Position, frame)
			}
			if again := p.Frame(v); len(again) != 0 {
				t.Fatalf("the same frame again is written as %q", again)
			}
		}
	})
}

// B002: terminals give some characters another width: emoji that are younger than they are, signs that are wide beside Chinese. What
// is painted bit by bit is there too what painting it whole gives, on each such terminal.
func TestCharactersOfDoubtfulWidth(t *testing.T) {
	const alien, people = "\U0001F47D", "\U0001FAC6"
	piece := rapid.SampledFrom([]string{alien, people, "…", "→", "“部署”", "①", "x", "plain words", "   ", "在", "✓ ", "⣿⣿"})
	row := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "row"), "") })
	for _, widths := range []map[rune]int{nil, {0x1fac6: 1}, {0x1fac6: 1, 0x1f47d: 1}, {'…': 2, '→': 2, '“': 2, '”': 2, '①': 2}} {
		pair := func(t interface{ Fatalf(string, ...any) }, one, two string, w, h int) {
			p := paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor})
			bits, all := termtest.New(termtest.Config{W: w, H: h, Widths: widths}), termtest.New(termtest.Config{W: w, H: h, Widths: widths})
			p.Resize(w, h)
			_, _ = bits.Write(p.Frame(tea.NewView(one)))
			change := string(p.Frame(tea.NewView(two)))
			_, _ = bits.Write([]byte(change))
			p = paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor})
			p.Resize(w, h)
			_, _ = all.Write(p.Frame(tea.NewView(two)))
			if d := cmp.Diff(screen(w, h, all.CellAt), screen(w, h, bits.CellAt)); d != "" {
				t.Fatalf("widths %v, from %q to %q by %q (-whole +painted):\n%s", widths, one, two, change, d)
			}
		}
		blank := strings.Repeat(strings.Repeat(" ", 100)+"\n", 5)
		pair(t, blank+"abcd"+alien+strings.Repeat("x", 14)+people+" and more ⡇ the pane beside it", blank+"abcdef"+strings.Repeat("x", 14)+"gh and more ⡇ the pane beside it", 100, 30)
		rapid.Check(t, func(t *rapid.T) {
			w := rapid.IntRange(10, 40).Draw(t, "w")
			rows := func(name string) string { return strings.Join(rapid.SliceOfN(row, 1, 3).Draw(t, name), "\n") }
			for range 2 {
				pair(t, rows("one"), rows("two"), w, 3)
			}
		})
	}
}

// A spinner beside a row of Chinese text is written alone.
func TestASpinnerIsFewBytes(t *testing.T) {
	for _, sync := range []bool{false, true} {
		p := paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor})
		p.SetSync(sync)
		p.Resize(120, 40)
		frame := func(sign string) int {
			rows := make([]string, 40)
			for y := range rows {
				rows[y] = "\x1b[38;2;211;218;223;48;2;16;20;23m" + strings.Repeat("部署计划在星期五", 7) + "\x1b[m"
			}
			rows[20] = "\x1b[38;2;111;214;197;48;2;16;20;23m" + sign + "\x1b[m" + rows[20]
			v := tea.NewView(strings.Join(rows, "\n"))
			v.Cursor = tea.NewCursor(2, 38)
			return len(p.Frame(v))
		}
		frame("⠹")
		if n := frame("⠸"); n == 0 || n >= 100 {
			t.Errorf("synchronized %v: a spinner takes %d bytes", sync, n)
		}
	}
}

// Whatever the profile, colours come out as the terminal has them, and none where it has none.
func TestColoursOfTheTerminal(t *testing.T) {
	for profile, want := range map[colorprofile.Profile]string{
		colorprofile.TrueColor: "\x1b[38;2;255;0;0mx", colorprofile.ANSI256: "\x1b[38;5;196mx", colorprofile.ANSI: "\x1b[91mx", colorprofile.ASCII: "x",
	} {
		p := paint.NewPainter(paint.PainterConfig{Profile: profile})
		p.Resize(10, 1)
		if got := string(p.Frame(tea.NewView("\x1b[38;2;255;0;0mx\x1b[m"))); !strings.Contains(got, want) || profile == colorprofile.ASCII && strings.Contains(got, "m"+"x") {
			t.Errorf("%v: %q", profile, got)
		}
	}
}

// What the first frame sets, leaving takes back; a frame after it sets it again, and paints the whole screen.
func TestLeaveTakesBack(t *testing.T) {
	p := paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor})
	if got := p.Leave(); len(got) != 0 {
		t.Errorf("before the first frame leaving writes %q", got)
	}
	p.SetMethod(ansi.GraphemeWidth)
	p.Resize(20, 2)
	v := tea.NewView("hello\nworld")
	v.MouseMode, v.WindowTitle, v.Cursor = tea.MouseModeCellMotion, "vitrine", tea.NewCursor(1, 1)
	v.Cursor.Shape = tea.CursorBar
	first := string(p.Frame(v))
	leave := string(p.Leave())
	again := string(p.Frame(v))
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?1006h": "\x1b[?1006l",
		"\x1b[?7l": "\x1b[?7h", "\x1b[>1u": "\x1b[<1u", "\x1b[>4;2m": "\x1b[>4m", "\x1b[?2027h": "\x1b[?2027l", "\x1b]2;vitrine": "\x1b]2;\a", "\x1b[5 q": "\x1b[0 q", "hello": "\x1b[?25h"} {
		if !strings.Contains(first, on) || !strings.Contains(leave, off) || !strings.Contains(again, on) {
			t.Errorf("%q and %q in\n%q\n%q\n%q", on, off, first, leave, again)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	for name, text := range map[string]string{"english": "and so the rows go on to fill it and ", "chinese": "部署计划在星期五以前要写完请把风险列"} {
		b.Run(name, func(b *testing.B) {
			p := paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor})
			p.Resize(120, 40)
			rows := make([]string, 40)
			bytes := 0
			for i := 0; b.Loop(); i++ {
				copy(rows, rows[1:]) // a row comes, the others go up by one
				rows[39] = fmt.Sprintf("\x1b[38;2;211;218;223;48;2;16;20;23m%d %s%s\x1b[m", i%10, text, text)
				bytes += len(p.Frame(tea.NewView(strings.Join(rows, "\n"))))
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "bytes/frame")
		})
	}
}

// A wide character that what comes over it cuts in half is written over, not erased: where half of one is erased, tmux takes the
// colour of the cell beside what is written next (a hole in a dialog over Chinese).
func TestHalvesAreNotErased(t *testing.T) {
	const ground, plain = "\x1b[48;2;16;20;23m", "\x1b[m"
	for _, c := range []struct{ name, before, after, want string }{
		{"its first half", strings.Repeat("x", 20) + "部" + strings.Repeat("x", 8), ground + strings.Repeat(" ", 21) + "/close   " + plain, "\x1b[20X\x1b[20C /close"},
		{"its second half", "部" + strings.Repeat("x", 28), "a" + ground + strings.Repeat(" ", 28) + "b" + plain, "a" + ground + " \x1b[27X\x1b[27Cb"},
		{"none", strings.Repeat("x", 21) + "部" + strings.Repeat("x", 7), ground + strings.Repeat(" ", 21) + "/close   " + plain, "\x1b[21X\x1b[21C/close"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor})
			p.Resize(30, 1)
			p.Frame(tea.View{Content: c.before})
			if got := string(p.Frame(tea.View{Content: c.after})); !strings.Contains(got, c.want) {
				t.Errorf("it writes %q, without %q", got, c.want)
			}
		})
	}
}
