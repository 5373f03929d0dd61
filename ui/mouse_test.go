package ui

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vitrine/ui/theme"
)

// drag presses the button at a cell, moves to another and lets it go.
func (d *driver) drag(x, y, toX, toY int) {
	at, to := tea.Mouse{X: x, Y: y, Button: tea.MouseLeft}, tea.Mouse{X: toX, Y: toY, Button: tea.MouseLeft}
	d.send(tea.MouseClickMsg(at), tea.MouseMotionMsg(to), tea.MouseReleaseMsg(to))
	d.settle()
}

// press presses the button n times at once.
func (d *driver) clicks(x, y, n int) {
	at := tea.Mouse{X: x, Y: y, Button: tea.MouseLeft}
	for range n {
		d.send(tea.MouseClickMsg(at), tea.MouseReleaseMsg(at))
	}
	d.settle()
}

// place is the cell where a text begins on the screen.
func (d *driver) place(text string) (x, y int) {
	d.t.Helper()
	for y, row := range d.grid() {
		if i := strings.Index(row, text); i >= 0 {
			return d.m.env.style.Metrics.Width(row[:i]), y
		}
	}
	d.t.Fatalf("%q is not on the screen:\n%s", text, d.screen())
	return 0, 0
}

// reversed is what stands in reverse on the screen, row by row.
func (d *driver) reversed() string {
	var rows []string
	for _, l := range repaint(d.m.View().Content, d.w, d.h, d.method).Lines {
		row := ""
		for _, c := range l {
			if c.Width > 0 && c.Style.Attrs&uv.AttrReverse != 0 {
				row += c.Content
			}
		}
		if row != "" {
			rows = append(rows, row)
		}
	}
	return strings.Join(rows, "|")
}

func (d *driver) copied(want string) {
	d.t.Helper()
	if d.clip != want {
		d.t.Errorf("copied\n%q, not\n%q", d.clip, want)
	}
	d.clip = ""
}

// A drag over any two cells copies what the text has between them (B022): rows that were only wrapped are joined, wide characters and
// clusters are whole whatever the terminal shows of them, code keeps its lines and indentation, and no pane beside is in it.
func TestDragCopiesTheText(t *testing.T) {
	type glyph struct{ x, y, from, to int }
	words := rapid.SampledFrom([]string{"deploy", "a", "部署计划在星期五以前", "naïve", "cafe\u0301", "👨‍👩‍👧", "/srv/data/logs/very/long/file.yaml", "windows,", "x=1", "👍🏽", "완료"})
	cases := 0
	rapid.Check(t, func(rt *rapid.T) {
		if cases++; cases > 40 && flag.Lookup("rapid.checks").Value.String() == "100" {
			return // more only where more are asked for: each is a screen of its own
		}
		var shown, said strings.Builder
		for i := range rapid.IntRange(1, 3).Draw(rt, "parts") {
			if i > 0 {
				shown.WriteString("\n\n")
				said.WriteString("\n\n")
			}
			text := strings.Join(rapid.SliceOfN(words, 1, 6).Draw(rt, "words"), " ")
			if rapid.Bool().Draw(rt, "code") {
				text = "if true {\n\treturn " + text + "\n    }\n"
				said.WriteString("```\n" + text + "```")
				shown.WriteString(strings.TrimSuffix(text, "\n"))
				continue
			}
			said.WriteString(text)
			shown.WriteString(text)
		}
		model := shown.String()
		d := newDriver(t, rapid.SampledFrom([]int{44, 60, 104}).Draw(rt, "width"), 34)
		if rapid.Bool().Draw(rt, "by code point") {
			d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeNotRecognized})
			d.method = ansi.WcWidth
		}
		d.enter("q")
		d.f.stream(d.id(), said.String())
		if rapid.Bool().Draw(rt, "ended") {
			d.f.answer(d.id())
		}
		d.short()
		// The characters of the answer that are seen, in order, are those of the text.
		m, r := d.m.env.style.Metrics, d.m.page().lay.chat
		var all []glyph
		at := 0
		buf := repaint(d.m.View().Content, d.w, d.h, d.method)
		first := r.y // the answer begins below the input
		for c := buf.CellAt(0, first); c == nil || c.Content != "⡇"; c = buf.CellAt(0, first) {
			first++
		}
		for y := first + 1; y < r.y+r.h && at < len(model); y++ {
			for x := r.x + 1; x < r.x+r.w && at < len(model); x++ {
				c := buf.CellAt(x, y)
				if c == nil || c.Width == 0 || strings.TrimSpace(c.Content) == "" {
					continue
				}
				for strings.ContainsRune(" \n\t", rune(model[at])) {
					at++
				}
				cluster, _ := ansi.FirstGraphemeCluster(model[at:], ansi.GraphemeWidth)
				g := glyph{x, y, at, at + len(cluster)}
				if safe := m.Safe(cluster); !strings.HasPrefix(safe, c.Content) {
					rt.Fatalf("at %d,%d stands %q, not %q\n%s", x, y, c.Content, safe, d.screen())
				} else {
					x += m.Width(safe) - 1
				}
				at = g.to
				all = append(all, g)
			}
		}
		if at != len(model) {
			rt.Fatalf("the screen ends at %q\n%s", model[at:], d.screen())
		}
		a, b := rapid.SampledFrom(all).Draw(rt, "from"), rapid.SampledFrom(all).Draw(rt, "to")
		d.drag(a.x, a.y, b.x, b.y)
		if a == b {
			return // pressed, and not moved
		}
		want := model[min(a.from, b.from):max(a.to, b.to)]
		if d.clip != want {
			rt.Fatalf("from %v to %v copied\n%q, not\n%q\n%s", a, b, d.clip, want, d.screen())
		}
		if len(all)%3 == 0 {
			if got, want := squeezed(d.reversed()), squeezed(m.Safe(want)); got != want {
				rt.Fatalf("in reverse stands\n%q, not\n%q", got, want)
			}
		}
		d.press("y")
		if d.clip != want {
			rt.Fatalf("by key: %q", d.clip)
		}
	})
}

// squeezed is a text without what separates.
func squeezed(s string) string {
	return strings.NewReplacer(" ", "", "\n", "", "\t", "", "|", "", "\u2060", "").Replace(s)
}

// A selection stays on its text while text streams below it and while the chat is scrolled, and is copied again by its key. Esc takes it
// away, and only then cancels the run.
func TestSelectionStaysOnItsText(t *testing.T) {
	d := newDriver(t, 120, 36)
	id := d.id()
	d.enter("go on")
	d.f.stream(id, "one two three\n\nfour five six\n\n")
	d.short()
	x, y := d.place("two")
	d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}, tea.MouseMotionMsg{X: x + 1, Y: y + 2, Button: tea.MouseLeft})
	for i := range 60 {
		d.f.stream(id, fmt.Sprintf("line %d\n\n", i))
	}
	d.short()
	if got := d.reversed(); got != "two three|four f" {
		t.Errorf("while the button is down the text goes on under it: %q\n%s", got, d.screen())
	}
	d.send(tea.MouseReleaseMsg{X: x + 1, Y: y + 2, Button: tea.MouseLeft})
	d.short()
	d.copied("two three\n\nfour f")
	d.sees("copied 3 lines", "line 59", "Esc unselect")
	if got := d.reversed(); got != "" {
		t.Errorf("out of sight stands %q", got)
	}
	d.press("y")
	d.copied("two three\n\nfour f")
	d.press("g")
	d.sees("one two three")
	if got := d.reversed(); got != "two three|four f" {
		t.Errorf("scrolled back there is %q", got)
	}
	d.press("esc")
	if d.short(); d.reversed() != "" || !d.m.page().busy() {
		t.Error("Esc does not only take the selection away")
	}
	d.press("i", "esc")
	if d.short(); d.m.page().busy() {
		t.Error("the next Esc does not cancel")
	}
}

// At another width the same text is selected, in all looks, and where the text is another nothing is.
func TestSelectionAtAnotherWidth(t *testing.T) {
	d := newDriver(t, 130, 36)
	id := d.id()
	d.enter("go on")
	text := "The deploy window is on **Friday**, `部署窗口在星期五`, and nothing goes out after 15:00, whatever is asked of us by then."
	d.f.stream(id, text)
	d.f.answer(id)
	d.short()
	x, y := d.place("window is")
	ex, ey := d.place("15:00")
	d.drag(x, y, ex+4, ey)
	want := "window is on Friday, 部署窗口在星期五, and nothing goes out after 15:00"
	d.copied(want)
	for _, w := range []int{60, 44, 200, 100, 80} {
		d.resize(w, 30)
		d.settle()
		if got := squeezed(d.reversed()); got != squeezed(want) {
			t.Errorf("at %d in reverse stands %q", w, got)
		}
		d.m.page().focusOn(paneChat)
		d.press("y")
		d.copied(want)
	}
	for _, name := range []theme.Name{theme.Light, theme.Contrast, theme.Sixteen, theme.Dark} {
		d.m.env.themed(func(o *theme.Options) { o.Name = name })
		d.m.restyle()
		d.frame()
		if got := squeezed(d.reversed()); got != squeezed(want) {
			t.Errorf("in %s in reverse stands %q", name, got)
		}
	}
	d.m.env.themed(func(o *theme.Options) { o.Profile = colorprofile.ASCII })
	d.m.restyle()
	d.frame()
	if got := squeezed(d.reversed()); got != squeezed(want) {
		t.Errorf("without colours in reverse stands %q", got)
	}
	d.press("esc", "i")
	d.enter("table")
	d.f.stream(id, "| name | what it is for, in some words |\n|---|---|\n| relay | it takes what comes and gives it on to others |\n")
	d.f.answer(id)
	d.short()
	x, y = d.place("relay")
	d.drag(x, y, x+30, y)
	if d.clip == "" {
		t.Error("nothing of a table is copied")
	}
	d.resize(44, 30)
	d.settle()
	if d.m.page().columns.seen().SelectedText() != "" || d.reversed() != "" {
		t.Errorf("of another layout of the table %q is selected", d.reversed())
	}
}

// Twice selects a word: of letters, a path as a whole over rows, a run of Chinese; three times a line, as it was before it was wrapped.
// A drag after that goes by words. What can be opened opens.
func TestClicksSelectWordsAndLines(t *testing.T) {
	d := newDriver(t, 120, 36)
	id := d.id()
	d.enter("q")
	path := "/srv/" + strings.Repeat("folder/", 14) + "x.yaml"
	line := "See " + path + ". Then deploy-plan, 部署计划在(星期五)完成 it's done."
	d.f.tool(id, "read_file", `{"path":"x"}`, `{"ok":true,"data":"abc"}`, "3 B")
	d.f.stream(id, "first line\n\n"+line+"\n\nlast one")
	d.f.answer(id)
	d.short()
	for _, c := range []struct {
		at      string
		n       int
		want    string
		moves   string
		between string
	}{
		{at: "Then", n: 2, want: "Then"}, {at: "ploy-plan", n: 2, want: "deploy-plan"}, {at: "署计划", n: 2, want: "部署计划在"}, {at: "期五", n: 2, want: "星期五"},
		{at: "x.yaml", n: 2, want: path}, {at: "first line", n: 3, want: "first line"}, {at: "Then", n: 3, want: line}, {at: "(星", n: 2, want: "("},
		{at: "rst line", n: 2, want: "first line", moves: "line"}, {at: "it's", n: 4, want: ""},
	} {
		d.clip = ""
		x, y := d.place(c.at)
		if c.moves != "" {
			toX, toY := d.place(c.moves)
			d.clicks(x, y, 1)
			d.drag(x, y, toX, toY)
		} else {
			d.clicks(x, y, c.n)
		}
		if c.n == 4 {
			if d.reversed() != "" {
				t.Errorf("the fourth time %q stays", d.reversed())
			}
		} else if d.clip != c.want {
			t.Errorf("%d times on %q: %q, not %q", c.n, c.at, d.clip, c.want)
		}
		d.pass(time.Second)
	}
	d.clip = ""
	x, y := d.place("read_file")
	d.clicks(x, y, 2)
	d.sees("arguments")
	if d.clip != "" {
		t.Errorf("what opens copies %q", d.clip)
	}
	d.pass(time.Second)
	d.clicks(x, y, 1)
	d.seesNot("arguments")
}

// The pointer beside the pane selects nothing of what is there; above and below the chat it scrolls, as long as it is held.
func TestDragBesideThePane(t *testing.T) {
	d := newDriver(t, 120, 36)
	id := d.id()
	d.enter("q")
	var all []string
	for i := range 80 {
		all = append(all, fmt.Sprintf("row number %d of it", i))
	}
	d.f.stream(id, strings.Join(all, "\n\n"))
	d.f.answer(id)
	d.short()
	r := d.m.page().lay.chat
	x, y := d.place("number 75")
	d.drag(x, y, d.m.page().lay.trace.x+9, y)
	d.copied("number 75 of it")
	d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}, tea.MouseMotionMsg{X: x, Y: r.y - 1, Button: tea.MouseLeft})
	d.pass(3 * time.Second)
	d.send(tea.MouseReleaseMsg{X: x, Y: r.y - 1, Button: tea.MouseLeft})
	d.settle()
	n := strings.Count(d.clip, "\n\n")
	if !strings.HasSuffix(d.clip, "row number 74 of it\n\nrow n") || n < 25 || n > 40 {
		t.Errorf("3 s above the chat select %d paragraphs: %.60q", n, d.clip)
	}
	d.pass(time.Second)
	if got := d.m.page().columns.seen().SelectedText(); got != d.clip {
		t.Error("it goes on behind the release")
	}
	x, y = d.place("number 40")
	d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}, tea.MouseMotionMsg{X: x, Y: r.y + r.h + 3, Button: tea.MouseLeft})
	d.pass(3 * time.Second)
	d.send(tea.MouseReleaseMsg{X: x, Y: r.y + r.h + 3, Button: tea.MouseLeft})
	d.settle()
	if !strings.HasPrefix(d.clip, "number 40 of it\n\n") || !strings.HasSuffix(d.clip, "row number 79 of it") {
		t.Errorf("below the chat %.40q to %q", d.clip, d.clip[max(len(d.clip)-40, 0):])
	}
}

// In trace and todos the mouse selects what is seen there, within the pane; it goes along when that is scrolled, and ends when it says
// something else.
func TestDragInTraceAndTodos(t *testing.T) {
	d := newDriver(t, 160, 24)
	id := d.id()
	d.turns(40)
	d.f.todo(id, "部署计划在星期五")
	d.f.todo(id, "second")
	d.short()
	x, y := d.place("划在星期五")
	_, below := d.place("second")
	r := d.m.page().lay.todos
	d.drag(x+1, y, r.x-40, below)
	d.copied("划在星期五")
	d.press("esc")
	if d.reversed() != "" || d.m.page().focus != paneTodos {
		t.Error("Esc does not take the selection away, and nothing else")
	}
	x, y = d.place("▸ turn 32")
	_, below = d.place("▸ turn 34")
	d.drag(x+2, y, d.w-1, below)
	lines := strings.Split(d.clip, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "turn 32 ") || !strings.HasPrefix(lines[1], "▸ turn 33 ") || !strings.HasSuffix(lines[2], "6.6k") || strings.Contains(d.clip, "⡇") {
		t.Errorf("of the trace %q", d.clip)
	}
	want, shown := d.clip, d.reversed()
	d.clip = ""
	d.send(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp})
	d.settle()
	if _, moved := d.place("▸ turn 34"); moved <= below || d.reversed() == "" {
		t.Fatalf("scrolled:\n%s\n%q", d.screen(), d.reversed())
	}
	if got := d.reversed(); got != shown {
		t.Errorf("scrolled there is %q in reverse, not %q", got, shown)
	}
	d.press("y")
	d.copied(want)
	for range 30 {
		d.send(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp})
	}
	d.settle()
	if d.reversed() != "" || d.m.page().markedText() != "" {
		t.Errorf("out of sight %q is selected", d.m.page().markedText())
	}
	for range 30 {
		d.send(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown})
	}
	if d.settle(); d.reversed() != "" {
		t.Errorf("it comes back: %q", d.reversed())
	}
}

// Twice selects a word of trace, todos and what is asked too, three times the row; what opens by it opens.
func TestClicksInTraceTodosAndQuestions(t *testing.T) {
	d := newDriver(t, 160, 40)
	id := d.id()
	d.turns(3)
	d.f.todo(id, "部署计划 in /srv/data/x.yaml, soon")
	d.short()
	for _, c := range []struct {
		at    string
		n     int
		want  string
		moves string
	}{
		{at: "srv/data", n: 2, want: "/srv/data/x.yaml"}, {at: "署计划", n: 2, want: "部署计划"}, {at: "计划", n: 3, want: "◦ 部署计划 in"},
		{at: "first token", n: 2, want: "first"}, {at: "first token", n: 3, want: "first token   380 ms"}, {at: "rst token", n: 2, want: "first token", moves: "ken "},
	} {
		d.clip = ""
		x, y := d.place(c.at)
		if c.moves != "" {
			toX, toY := d.place(c.moves)
			d.clicks(x, y, 1)
			d.drag(x, y, toX, toY)
		} else {
			d.clicks(x, y, c.n)
		}
		if d.clip != c.want {
			t.Errorf("%d times on %q: %q, not %q\n%s", c.n, c.at, d.clip, c.want, d.screen())
		}
		if got := strings.ReplaceAll(d.reversed(), " ", ""); got != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%d times on %q: in reverse stands %q", c.n, c.at, got)
		}
		d.pass(time.Second)
	}
	d.clip = ""
	x, y := d.place("▸ turn 1")
	d.clicks(x+3, y, 1)
	d.pass(time.Second)
	d.clicks(x+3, y, 2)
	if d.clip != "" || d.reversed() != "" {
		t.Errorf("what opens copies %q", d.clip)
	}
}

// In a dialog the mouse selects what is seen of it, wrapped rows joined, and nothing of what it lies over; a key ends that.
func TestDragInDialogs(t *testing.T) {
	d := newDriver(t, 120, 36)
	id := d.id()
	d.enter("q")
	d.f.tool(id, "read_file", `{"path":"`+strings.Repeat("folder/", 30)+`x"}`, `{"ok":true,"data":"abc"}`, "3 B")
	d.f.answer(id)
	d.short()
	d.m.page().focusOn(paneTrace)
	d.press("k", "k", "enter")
	x, y := d.place(`"path"`)
	r := d.m.page().laid.at
	d.drag(x, y, r.x+r.w+5, y+3)
	if want := `"path": "` + strings.Repeat("folder/", 30) + "x"; !strings.HasPrefix(d.clip, want) || strings.Contains(d.clip[:len(want)], "\n") {
		t.Errorf("over wrapped rows %q\n%s", d.clip, d.screen())
	}
	if d.reversed() == "" {
		t.Error("nothing is in reverse")
	}
	d.clip = ""
	d.clicks(x+2, y, 2)
	d.copied("path")
	d.press("down")
	if d.reversed() != "" {
		t.Errorf("after a key %q is selected", d.reversed())
	}
	d.drag(1, 1, 30, 10)
	if d.clip != "" || d.m.page().dialog == nil {
		t.Errorf("beside the dialog %q is copied", d.clip)
	}
	d.press("esc")
	if d.m.page().dialog != nil || d.m.page().selecting() {
		t.Error("Esc does not close the dialog, or leaves something selected")
	}
	d.press("ctrl+p")
	x, y = d.place("Fold the context now")
	d.clicks(x, y, 2)
	d.copied("Fold")
}

// In the input a press puts the cursor where it is, and a drag selects and copies what was typed: wrapped rows joined, pastes whole, wide
// characters whole. What changes the text or moves the cursor ends it.
func TestMouseInTheInput(t *testing.T) {
	d := newDriver(t, 60, 24)
	text := "Look at 部署计划.md in the folder of the project and tell what is wrong with it"
	d.typed(text)
	d.send(tea.PasteMsg{Content: strings.Repeat("pasted\n", 40)})
	d.typed(" there")
	d.settle()
	p := d.m.page()
	x, y := d.place("署计划.md")
	d.clicks(x+1, y, 1)
	if raw, at := p.edit.Raw(); !strings.HasPrefix(raw[at:], "署计划") {
		t.Fatalf("the cursor is before %q", raw[at:])
	}
	d.typed("X")
	if got := p.edit.Text(); !strings.HasPrefix(got, "Look at 部X署计划.md") {
		t.Fatalf("typed there: %.40q", got)
	}
	d.press("backspace")
	d.pass(time.Second)
	x, y = d.place("划.md in")
	toX, toY := d.place("wrong")
	d.drag(x, y, toX+4, toY)
	d.copied("划.md in the folder of the project and tell what is wrong")
	if got := squeezed(d.reversed()); got != "划.mdinthefolderoftheprojectandtellwhatiswrong" {
		t.Errorf("in reverse stands %q", got)
	}
	d.sees("Esc unselect")
	d.press("esc")
	if d.reversed() != "" || p.edit.Empty() {
		t.Error("Esc does not take the selection away, and nothing else")
	}
	d.pass(time.Second)
	x, y = d.place("folder")
	d.clicks(x+2, y, 2)
	d.copied("folder")
	d.pass(time.Second)
	d.clicks(x+2, y, 3)
	d.copied(text + strings.Repeat("pasted\n", 40) + " there")
	d.press("left")
	if d.reversed() != "" || p.selecting() {
		t.Errorf("the cursor moved, and %q is selected", d.reversed())
	}
	d.pass(time.Second)
	d.clicks(x, y, 1)
	if d.clip != "" || p.selecting() {
		t.Errorf("one press copies %q", d.clip)
	}
	// What is typed or taken away while the button is down ends it too.
	d.pass(time.Second)
	for _, msg := range []tea.Msg{tea.MouseClickMsg{X: x + 9, Y: y, Button: tea.MouseLeft}, tea.MouseMotionMsg{X: x + 12, Y: y, Button: tea.MouseLeft},
		tea.KeyPressMsg{Code: tea.KeyEnd, Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl},
		tea.MouseMotionMsg{X: x + 2, Y: y, Button: tea.MouseLeft}, tea.MouseReleaseMsg{X: x + 2, Y: y, Button: tea.MouseLeft}} {
		d.m.Update(msg) // before the next frame
	}
	d.settle()
	if !p.edit.Empty() || d.clip != "" || p.selecting() {
		t.Errorf("of %q %q is copied", p.edit.Text(), d.clip)
	}
}
