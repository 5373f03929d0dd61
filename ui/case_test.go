package ui

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

// B001: clusters of several code points keep the edge of the pane straight, in both ways of counting.
func TestClustersKeepEdgesStraight(t *testing.T) {
	const text = "🎙️ mic\n\n💅🏻 nails\n\n👨‍👩‍👧‍👦 family\n\n🇵🇱 flag\n\ne\u0301 e-acute"
	for _, grapheme := range []bool{true, false} {
		d := newDriver(t, 100, 40)
		if !grapheme {
			d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeNotRecognized})
			d.method = ansi.WcWidth
		}
		id := d.id()
		d.enter("show them")
		d.f.stream(id, text)
		d.f.todo(id, "👨‍👩‍👧‍👦 🎙️ e\u0301")
		d.f.answer(id)
		d.short()
		d.sees("mic", "nails", "family", "flag", "e-acute")
		edge := d.m.page().lay.trace.x - 1
		cells := fresh(d.m.View().Content, 100, 40, d.method)
		for y := 2; y < d.m.page().lay.dock.y; y++ {
			if got := cellAt(cells[y], edge, d.method); got != "⡇" {
				t.Errorf("grapheme %v, row %d: %q at the edge\n%s", grapheme, y, got, cells[y])
			}
		}
	}
}

// cellAt gives the cell at a column of a row as cellRows writes it.
func cellAt(row string, x int, method ansi.Method) string {
	for _, c := range strings.Split(row, "|") {
		if x <= 0 {
			return c
		}
		x -= max(method.StringWidth(c), 1)
	}
	return ""
}

// B004: Chinese text that streams by the character stays on the screen; each frame shows what came so far.
func TestChineseStream(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("问候")
	var came string
	d.frames = func(content string) {
		screen := strings.Join(d.draw(content, d.w, d.h), "\n")
		if came == "" {
			return
		}
		shown := ""
		for _, prefix := range []string{"你好世界", "你好世", "你好", "你"} {
			if strings.Contains(screen, prefix) {
				shown = prefix
				break
			}
		}
		if !strings.HasPrefix(came, shown) || shown == "" && len(came) > len("你") {
			t.Errorf("after %q the screen shows %q", came, shown)
		}
	}
	for _, s := range []string{"你", "好", "世", "界"} {
		came += s
		d.f.stream(id, s)
		d.pass(30 * time.Millisecond)
	}
	d.pass(200 * time.Millisecond)
	d.sees("你好世界")
}

// payload is text that tries to reach the terminal.
const payload = "\x1b[31mred\x1b[0m\x1b]52;c;eA==\x07\u009b31m\u009d52;c;eA==\u009c\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\\x1b[2J\x1bPq#0\x1b\\\a\b\x7fEND"

var ownSequence = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// foreign gives what of a frame is a control sequence that is not ours.
func foreign(content string) string {
	rest := ownSequence.ReplaceAllString(content, "")
	for _, r := range rest {
		if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 {
			return fmt.Sprintf("%+q", rest)
		}
	}
	return ""
}

// B016: whatever models, tools, files and servers send, a frame holds no control sequence but our own.
func TestNoForeignSequences(t *testing.T) {
	d := newDriver(t, 160, 44, func(o *Options, f *fake) {
		o.Models = []string{"mock", payload}
		o.Folder = "/tmp/" + payload
		o.Banner = []string{payload}
		s := f.session("s")
		s.row.Title, s.row.Model = "title "+payload, "model "+payload
		s.todos = []tools.Todo{{ID: "t", Text: payload}}
		s.inbox = []runtime.InboxRow{{ID: "i", Text: payload}}
		s.msgs = []runtime.MessageRow{
			{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: payload},
			{N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: payload + "\n```\n" + payload + "\n```"},
		}
		s.row.NextN, s.row.TurnCount = 3, 1
		f.session("other").row.Title = payload
		o.Session = "s"
	})
	bad := 0
	d.frames = func(content string) {
		if f := foreign(content); f != "" && bad < 3 {
			bad++
			t.Errorf("a frame holds %s", f)
		}
		d.straight(content)
	}
	id := d.id()
	args, _ := json.Marshal(map[string]string{"q": payload})
	result, _ := json.Marshal(map[string]any{"ok": true, "data": payload})
	d.f.mu.Lock()
	d.f.sessions[id].inbox = nil
	d.f.begin(id, payload)
	d.f.mu.Unlock()
	d.f.stream(id, payload)
	d.f.tool(id, "tool"+payload, string(args), string(result), payload)
	d.f.todo(id, payload)
	d.f.mu.Lock()
	d.f.emit(id, false, trace.RetryData{Attempt: 1, Max: 2, WaitMS: 1000, Cause: payload})
	d.f.emit(id, false, trace.ErrorData{Message: payload, Why: payload, Todo: payload})
	d.f.emit(id, false, trace.ProgressData{ID: "x", Text: payload})
	d.f.mu.Unlock()
	d.short()
	d.send(noticeMsg{notice: Notice{ID: "n", Text: payload}})
	d.f.end(id, "failed", payload, payload)
	d.short()
	d.send(tea.PasteMsg{Content: payload})
	d.press("ctrl+c")
	for _, keys := range [][]string{{"ctrl+x", "s"}, {"ctrl+p"}, {"ctrl+r"}, {"ctrl+x", "r"}} {
		d.press(keys...)
		d.short()
		d.press("esc")
	}
	d.enter("/model")
	d.press("esc", "tab", "k", "enter", "k", "enter", "tab", "g", "enter")
	d.short()
	d.sees("EVENT")
	d.press("esc", "esc")
	if title := d.m.View().WindowTitle; foreign(title) != "" || strings.Contains(title, "\x1b") {
		t.Errorf("the window's title is %+q", title)
	}
	if strings.Contains(d.screen(), "evil.example") && strings.Contains(d.m.View().Content, "]8;") {
		t.Error("a hyperlink came through")
	}
}

// B017: no size makes the program fail, no row is too wide, none too many; a usual size afterwards shows a whole frame.
func TestTinySizes(t *testing.T) {
	sizes := [][2]int{{0, 0}, {1, 1}, {3, 2}, {20, 5}, {5, 60}, {39, 50}, {200, 9}, {40, 10}, {41, 11}, {99, 16}, {100, 15}, {119, 10}, {120, 10}, {300, 100}, {80, 24}}
	d := newDriver(t, 80, 24)
	d.frames = d.straight
	id := d.id()
	d.enter("tell me")
	for _, open := range [][]string{nil, {"ctrl+p"}, {"?"}, {"ctrl+x", "w"}, {"ctrl+x", "r"}, {"ctrl+x", "s"}, {"tab"}, {"ctrl+x"}} {
		d.press(open...)
		for _, s := range sizes {
			d.resize(s[0], s[1])
			d.straight(d.m.View().Content)
			d.f.stream(id, "文字 words 👨‍👩‍👧 ")
			d.short()
			d.press("down", "up", "pgup", "left", "right")
			d.straight(d.m.View().Content)
		}
		d.press("esc", "i")
		for !d.m.page().edit.Empty() {
			d.m.page().edit.SetText("")
		}
	}
	if !d.m.page().busy() {
		d.enter("again")
	}
	d.resize(80, 24)
	got := d.m.View().Content
	d.resize(200, 60)
	d.resize(80, 24)
	if again := d.m.View().Content; got != again {
		t.Errorf("80x24 after other sizes differs:\n%s\nand\n%s", strings.Join(d.draw(got, 80, 24), "\n"), strings.Join(d.draw(again, 80, 24), "\n"))
	}
}

// View gives the same string while nothing changes, and a frame made anew is the same.
func TestViewIsStable(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.enter("tell me")
	d.f.stream(d.id(), "some **text** and\n\n```go\nfunc main() {}\n```\n")
	d.f.answer(d.id())
	d.short()
	a := d.m.View().Content
	if b := d.m.View().Content; a != b {
		t.Error("two views differ")
	}
	d.m.dirty = true
	if b := d.m.View().Content; a != b {
		t.Error("a frame that is composed again differs")
	}
	if _, ok := d.sim.Next(); ok {
		d.pass(10 * time.Second)
		n, before := 0, d.last
		d.frames = func(string) { n++ }
		d.pass(time.Minute)
		if n > 0 {
			t.Errorf("an idle screen changed %d times; it was\n%s", n, before)
		}
	}
}

// Sizes at random in the middle of a stream end on the screen that a fresh start at that size shows.
func TestRandomSizesEndLikeAFreshFrame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := newDriver(t, 100, 30)
	d.frames = d.straight
	id := d.id()
	d.enter("tell me")
	for range 150 {
		d.resize(20+rng.IntN(181), 5+rng.IntN(56))
		d.f.stream(id, clusters[rng.IntN(len(clusters))])
		if rng.IntN(4) == 0 {
			d.pass(time.Duration(rng.IntN(80)) * time.Millisecond)
		}
	}
	d.resize(100, 30)
	d.f.answer(id)
	d.short()
	d.pass(time.Second)
	got := d.screen()
	other := newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.sessions = d.f.sessions
		f.tabs = runtime.Tabs{Sessions: []string{id}}
	})
	other.m.page().said.text = ""
	want := other.screen()
	for y, row := range strings.Split(want, "\n") {
		if g := strings.Split(got, "\n")[y]; y != 1 && g != row && !strings.Contains(row, "⠿") && !strings.Contains(row, "ms") && !strings.Contains(row, "turn 1") {
			t.Errorf("row %d:\n got %s\nwant %s", y, g, row)
		}
	}
}

// B032: without colours no sequence sets one.
func TestNoColour(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.send(tea.ColorProfileMsg{Profile: colorprofile.Ascii})
	d.enter("tell me")
	d.f.tool(d.id(), "calculator", `{"expression":"1+1"}`, `{"ok":true,"data":2}`, "2")
	d.f.stream(d.id(), "# Head\n\n```go\nfunc main() { return 1 }\n```\n**bold** `code` [link](http://example.com)")
	d.f.answer(d.id())
	d.short()
	d.press("ctrl+p")

	if m := colourSequence.FindString(d.m.View().Content); m != "" {
		t.Errorf("a frame without colours sets %+q", m)
	}
	if !strings.Contains(d.m.View().Content, "\x1b[1") {
		t.Error("bold is gone too")
	}
	if c := d.m.View().Cursor; c == nil || c.Color != nil {
		t.Errorf("the cursor is %+v", c)
	}
}

// B032: a terminal that cannot place the cursor is refused with what works there.
func TestDumbTerminal(t *testing.T) {
	for _, name := range []string{"dumb", ""} {
		opts := Options{Env: func(string) string { return name }}
		err := Run(t.Context(), opts)
		if err == nil || !strings.Contains(err.Error(), "vitrine run") || strings.Contains(err.Error(), "\n") {
			t.Errorf("TERM=%q: %v", name, err)
		}
	}
}

func TestLightAndDark(t *testing.T) {
	d := newDriver(t, 100, 30)
	dark := d.m.View().Content
	d.send(tea.BackgroundColorMsg{Color: paintWhite{}})
	light := d.m.View().Content
	if dark == light {
		t.Error("a light terminal shows the dark look")
	}
	d.press("ctrl+x", "l")
	d.sees("look: dark")
	d.press("ctrl+x", "l", "ctrl+x", "l", "ctrl+x", "l", "ctrl+x", "l")
	d.sees("look: as the terminal says")
}

type paintWhite struct{}

func (paintWhite) RGBA() (r, g, b, a uint32) { return 0xffff, 0xffff, 0xffff, 0xffff }

var colourSequence = regexp.MustCompile(`\x1b\[([0-9;]*;)?(3[0-9]|4[0-9]|9[0-7]|10[0-7])(;[0-9;]*)?m`)
