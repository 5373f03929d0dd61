package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/ui/demo"
)

// edges are the columns between the panes at a width.
func edges(w int) []int {
	switch {
	case w >= 120:
		trace, todos := min(51+(w-160)*15/40, 72), min(25+(w-160)/10, 32)
		return []int{w - todos - trace - 2, w - todos - 1}
	case w >= 100:
		return []int{w - 44 - (w-100)*2/5 - 1}
	}
	return nil
}

// straight wants every edge between the panes in its column in each row of the body. It is for a screen without a dialog.
func straight(t *testing.T, s demo.Screen) {
	t.Helper()
	w, h := s.Size()
	var cols []int
	for _, x := range edges(w) {
		if s.Cell(x, 2) == "⡇" { // the trace may be hidden
			cols = append(cols, x)
		}
	}
	if h < 10 || w < 120 && len(cols) == 0 {
		return
	}
	rows := 0
	for y := 2; y < h; y++ {
		var there, gone []int
		for _, x := range cols {
			if s.Cell(x, y) == "⡇" {
				there = append(there, x)
			} else {
				gone = append(gone, x)
			}
		}
		if len(there) == 0 {
			break
		}
		if len(gone) > 0 {
			t.Errorf("row %d of %dx%d has an edge at %v but not at %v:\n%s", y, w, h, there, gone, s)
			return
		}
		rows++
	}
	if rows < h-4-2*(h/3) || rows < 1 {
		t.Errorf("%d rows of %dx%d have edges:\n%s", rows, w, h, s)
	}
}

// sameAsNew wants what the terminal shows to be what a whole repaint would show.
func sameAsNew(t *testing.T, p *play, when string) {
	t.Helper()
	p.Show()
	if d := p.Screen().Diff(p.Repaint()); d != "" {
		w, h := p.Screen().Size()
		t.Errorf("%s, %dx%d: the terminal shows something else than a repaint: %s", when, w, h, d)
	}
}

// clusters are texts whose width terminals count in different ways, among such that they do not.
var clusters = []string{
	"plain words ", "部署计划在星期五，", "👨‍👩‍👧‍👦 ", "🇩🇪🇵🇱 ", "e\u0301\u0301 ", "❤️ ", "한글 ", "💅🏻 ", "`code` ", "**粗体** ", "\n\n- item 条目 ", "🎙️ ", "नमस्ते ", "ｆｕｌｌ ",
	"\n\n| a 列 | 👨‍👩‍👧 |\n|---|---|\n| é | 🇯🇵 |\n\n", "\n```go\nx := \"你好 👋🏽\"\n```\n", "½ ", "ไทย ", "☺️ ", "\u200bzero ", "\U0001F9D1\u200D\U0001F4BB ", "~~gone~~ ", "\n> 引用 🇵🇱\n\n",
}

// mixed is a text of n pieces and, at its end, a mark.
func mixed(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(clusters[rng.IntN(len(clusters))])
	}
	return b.String() + "\n\nTHE END"
}

// The window is resized at random in the middle of a stream of Chinese, emoji and combining text, with such text in titles
// and todos too: the terminal ends with what a whole repaint would show, both ways of counting clusters, and every edge
// between the panes is straight.
func TestResizedInAStream(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		for _, grapheme := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d grapheme=%v", seed, grapheme), func(t *testing.T) { resizeInAStream(t, uint64(seed), grapheme) })
		}
	}
}

func resizeInAStream(t *testing.T, seed uint64, grapheme bool) {
	rng := rand.New(rand.NewPCG(seed, 77))
	todo := scripted.Calls(
		scripted.Call{Name: "todo", Args: scripted.Args(map[string]string{"action": "add", "text": "写报告 👨‍👩‍👧 e\u0301 🇩🇪 ❤️ and more text that wraps"})},
		scripted.Call{Name: "search_mock", Args: scripted.Args(map[string]string{"query": "上下文 👋🏽 window"})})
	s := script(todo.When("first"), slowly(mixed(rng, 20), 400*time.Millisecond).When("first"), slowly(mixed(rng, 150), 4*time.Second).When("second"))
	s.w, s.h, s.grapheme = 120, 34, grapheme
	p := startPlay(t, t.TempDir(), s)
	p.ask("first 👨‍👩‍👧 部署")
	p.Enter("/rename 部署 🇩🇪 e\u0301 👩‍💻 ❤️ plan")
	p.wait("plan")
	straight(t, p.Screen())
	p.Paste("second ❤️ 한글 " + strings.Repeat("部署计划", 20)) // each key would be a frame
	p.Press("enter")
	p.wait("streaming")
	for range 40 {
		p.Resize(20+rng.IntN(181), 5+rng.IntN(56))
		p.Advance(time.Duration(rng.IntN(150)) * time.Millisecond)
		if rng.IntN(4) == 0 {
			p.Advance(2 * demo.FrameTime)
			sameAsNew(t, p, "in the stream")
			straight(t, p.Screen())
		}
		switch rng.IntN(8) { // the user does something too
		case 0:
			p.Type("夜里 👩‍💻")
		case 1:
			p.Press("pgup")
		case 2:
			p.Press("tab", "down", "esc")
		case 3:
			p.Press("ctrl+x", "t")
		}
		if t.Failed() {
			return
		}
	}
	if seed%2 == 0 {
		p.Resize(100+rng.IntN(101), 20+rng.IntN(41))
	}
	p.Press("esc", "end")
	p.Advance(20 * time.Second)
	sameAsNew(t, p, "at the end")
	straight(t, p.Screen())
	p.Resize(160, 44)
	p.Advance(time.Second)
	sameAsNew(t, p, "after the end")
	if !p.Screen().Has("THE END") && !p.Screen().Has("pages up") {
		t.Errorf("the end of the answer is nowhere:\n%s", p.Screen())
	}
}

// B017: sizes that no screen can be drawn in, while an answer streams and a dialog is open.
func TestTinyWhileStreaming(t *testing.T) {
	dialogs := [][]string{nil, {"ctrl+p"}, {"ctrl+x", "h"}, {"ctrl+x", "s"}, {"ctrl+x", "r"}, {"tab", "tab", "enter"}}
	if testing.Short() {
		dialogs = dialogs[:2]
	}
	for _, open := range dialogs {
		for _, grapheme := range []bool{false, true} {
			s := script(slowly(mixed(rand.New(rand.NewPCG(1, 2)), 60), 5*time.Second))
			s.grapheme = grapheme
			p := startPlay(t, t.TempDir(), s)
			p.Enter("部署 👨‍👩‍👧 in tiny windows")
			p.wait("streaming")
			p.Press(open...)
			for _, size := range [][2]int{{0, 0}, {1, 1}, {3, 2}, {20, 5}, {5, 60}, {80, 24}, {39, 9}, {40, 10}, {0, 24}, {80, 0}, {-1, -1}, {80, 24}} {
				p.Resize(size[0], size[1])
				p.Advance(100 * time.Millisecond)
				fits(t, p.View(), max(size[0], 0), max(size[1], 0), grapheme)
				if size[0] > 0 && size[1] > 0 {
					sameAsNew(t, p, fmt.Sprint("with ", open))
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}

// fits wants at most h rows of at most w cells.
func fits(t *testing.T, view string, w, h int, grapheme bool) {
	t.Helper()
	if view == "" {
		return
	}
	rows := strings.Split(view, "\n")
	if len(rows) > h {
		t.Errorf("%d rows in %dx%d", len(rows), w, h)
	}
	method := ansi.WcWidth
	if grapheme {
		method = ansi.GraphemeWidth
	}
	for y, r := range rows {
		if n := method.StringWidth(r); n > w {
			t.Errorf("row %d of %dx%d is %d wide: %q", y, w, h, n, r)
		}
	}
}

// The same script gives the same bytes, whatever the machine does meanwhile.
func TestSameScriptSameBytes(t *testing.T) {
	var first string
	all := []int{1, 2, 2, 1}
	if testing.Short() {
		all = all[:2]
	}
	for i, procs := range all {
		before := goruntime.GOMAXPROCS(procs)
		got := wholeScript(t)
		goruntime.GOMAXPROCS(before)
		if i == 0 {
			first = got
			continue
		}
		if got != first {
			n := 0
			for n < min(len(got), len(first)) && got[n] == first[n] {
				n++
			}
			t.Fatalf("run %d differs from the first one at byte %d of %d:\n%q\n%q", i, n, len(first), first[max(0, n-80):min(n+80, len(first))], got[max(0, n-80):min(n+80, len(got))])
		}
	}
	if len(first) < 10000 {
		t.Errorf("only %d bytes", len(first))
	}
}

// wholeScript plays what a user does in some minutes, and gives all that the terminal got. Ids are
// counted, since they show in events and the model sees those of todos.
func wholeScript(t *testing.T) string {
	n := 0
	p := startPlay(t, t.TempDir(), stage{ids: func() string { n++; return fmt.Sprintf("01a228d4-0000-7000-8000-%012d", n) }})
	p.ask("what is (17+5)*3?")
	p.ask("remember that the deploy is on Friday")
	p.Press("ctrl+x", "n")
	p.until("a second tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "2 new") })
	p.Enter("stream 60 tokens")
	p.wait("streaming")
	p.Press("alt+1")
	p.Enter("搜索 上下文窗口")
	p.Enter("add a todo: 写报告 ❤️")
	p.Resize(100, 30)
	p.Advance(500 * time.Millisecond)
	p.Resize(170, 40)
	p.wait("◦ 写报告")
	p.done()
	p.Press("tab", "tab", "up", "up", "enter")
	p.Advance(time.Second)
	p.Press("esc", "esc", "alt+2")
	p.done()
	p.Enter("stream 500 tokens")
	p.Advance(300 * time.Millisecond)
	p.Press("esc")
	p.Advance(time.Second)
	p.quit()
	return p.out.String()
}

// hostile is a text that tries what terminals obey: colours, the title, the clipboard, a link with another target, moving the
// cursor, other modes, questions that the terminal would answer; in 7 and 8 bits; and marks that turn the direction.
const hostile = "A\x1b[31mB\x1b[2J\x1b[H\x1b]0;owned\x07\x1b]52;c;eA==\x07\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\" +
	"\u009b31mC\u009d52;c;eA==\u009cD\x1b[6n\x1b[c\x1b[?1049l\x1bP+q544e\x1b\\\x1b_G\x1b\\\x1b#8\x1bcE\b\b\x07\x7f\u202eF\u2066G\u200fH\x1b[201~I\x1b[?25l"

// B016: whatever text comes from a model, a tool, a todo, a title, the name of a model or the body of an error, the terminal
// gets no sequence that the program did not build; what is left of the text is shown. A link is only made where the target
// is what is shown.
func TestNothingHostileReachesTheTerminal(t *testing.T) {
	type in struct {
		Text string `json:"text,omitempty"`
	}
	evil := func(clock.Clock) []tools.Tool {
		return []tools.Tool{tools.New("evil", "answers with "+hostile, tools.ReadOnly, func(_ context.Context, c tools.Call, _ in) (tools.Output, error) {
			c.Progress("progress " + hostile)
			return tools.Output{Data: map[string]string{"result": hostile, hostile: "key"}}, nil
		}), tools.New("worse", "fails", tools.ReadOnly, func(context.Context, tools.Call, in) (tools.Output, error) {
			return tools.Output{}, &tools.Error{Code: tools.CodeUnavailable, Message: "failed " + hostile, Field: hostile}
		})}
	}
	link := "\n\n[safe.example](http://evil.example) <http://good.example/x> http://plain.example/y ![img" + hostile + "](http://evil.example/i)\n\n```" + hostile + "\n" + hostile + "\n```\n\n| " + hostile + " | b |\n|-|-|\n| c | d |\n"
	s := script(
		scripted.TextAndCalls("comment "+hostile, scripted.Call{Name: "evil", Args: scripted.Args(map[string]string{"text": hostile})},
			scripted.Call{Name: "worse", Args: "{}"}, scripted.Call{Name: "no" + hostile, Args: hostile},
			scripted.Call{Name: "todo", Args: scripted.Args(map[string]string{"action": "add", "text": "todo " + hostile})}).
			Reasoning("reasoning "+hostile).Pace(5*time.Millisecond).Model("m"+hostile),
		scripted.Text("answer "+hostile+link).ChunkSize(1).Pace(2*time.Millisecond).Model("m"+hostile),
		scripted.Fail(&llm.Error{Kind: llm.ErrServer, Status: 500, Message: "body " + hostile}),
		scripted.Text("done").Times(-1))
	s.tools, s.w, s.h = evil, 160, 50
	p := startPlay(t, t.TempDir(), s)
	p.Paste("question " + hostile)
	p.Press("enter")
	p.wait("comment", "answer")
	p.done()
	for i := range 14 { // every row of the trace, with its facts and its JSON
		p.Press("tab", "tab")
		for range i {
			p.Press("up")
		}
		p.Press("enter")
		p.Advance(50 * time.Millisecond)
		p.Press("pgdown", "esc", "esc", "esc")
	}
	p.Enter("fail")
	p.until("the error", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ✗") })
	p.sees("body")
	set := func(change runtime.Setting) {
		p.clk.Run(func() {
			if err := p.app.Agent.Set(context.Background(), "ann-window-1", change); err != nil {
				t.Errorf("set: %v", err)
			}
		})
		p.Advance(time.Second)
	}
	title, model := "title "+hostile, "model"+hostile
	set(runtime.Setting{Title: &title})
	set(runtime.Setting{Model: &model})
	p.sees("title")
	p.Enter("again")
	p.wait("done")
	for _, keys := range [][]string{{"ctrl+x", "s"}, {"ctrl+x", "r"}, {"ctrl+r"}, {"ctrl+p"}} {
		p.Press(keys...)
		p.Advance(200 * time.Millisecond)
		p.Press("esc")
	}
	p.Enter("/model")
	p.Advance(200 * time.Millisecond)
	p.Press("esc")
	p.Press("up", "up", "up", "up")
	p.Press("ctrl+c")
	p.quit()
	if bad := foreignBytes(p.out.String()); bad != "" {
		t.Error(bad)
	}
	// After a restart the same texts come from the disk.
	q := startPlay(t, p.dir, stage{w: 160, h: 50})
	q.Press("pgup", "pgup", "tab", "tab", "up", "up", "enter")
	q.Advance(time.Second)
	q.quit()
	if bad := foreignBytes(q.out.String()); bad != "" {
		t.Error(bad)
	}
	for _, piece := range []string{"\x1b[31m", "\x1b]0;owned\x07", "\x1b]52;c;eA==\x07", "\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\", "\u009b31m", "\x1b[6n",
		"\x1b[c", "\x1bP+q544e\x1b\\", "\x1b_G\x1b\\", "\x1bc", "\x07", "\x7f", "\u202e", "\u200f", "\x1b[201~", "\xff"} {
		if foreignBytes("text "+piece+" text") == "" {
			t.Errorf("this test would not notice %q", piece)
		}
	}
}

var (
	// The sequences that the painter uses: moving and erasing; the alternate screen, the cursor and its shape, paste brackets,
	// wrapping, the mouse, how keys are told; nothing that asks or reports.
	builtCSI   = regexp.MustCompile("^\x1b\\[([0-9;]*[CGHKX]|2J|5 q|>4;2m|>1u)$")
	builtModes = regexp.MustCompile("^\x1b\\[\\?(1049|25|2004|7|2026|2027|100[236])[hl]$")
	builtSGR   = regexp.MustCompile("^\x1b\\[[0-9;:]*m$")
	builtLink  = regexp.MustCompile("^\x1b\\]8;[^;]*;([^\x07\x1b]*)(\x07|\x1b\\\\)$")
	builtTitle = regexp.MustCompile("^\x1b\\]2;[^\x00-\x1f\x7f]*(\x07|\x1b\\\\)$")
)

// foreignBytes finds what the program does not build: other sequences and control characters, links that hide their target.
func foreignBytes(out string) string {
	if !utf8.ValidString(out) {
		return "bytes that are no UTF-8"
	}
	var state byte
	link, shown := "", ""
	for i := 0; i < len(out); {
		seq, _, n, next := ansi.DecodeSequence(out[i:], state, nil)
		if strings.HasPrefix(seq, "\x1b]") { // the decoder takes the byte 9C in a Chinese character for an end
			seq, n, next = stringSequence(out[i:])
		}
		around := fmt.Sprintf("%q before %q", seq, out[i+n:min(i+n+40, len(out))])
		state = next
		i += n
		switch {
		case seq[0] >= 0x20 && seq[0] != 0x7f:
			if c := controls(seq); c != "" || strings.ContainsRune(seq, '\u200f') {
				return fmt.Sprintf("control characters in %s", around)
			}
			if link != "" {
				shown += seq
			}
		case seq == "\r" || seq == "\n": // the painter moves with them
		case builtSGR.MatchString(seq):
			if bad := strangeColour(seq); bad != "" {
				return fmt.Sprintf("%s in %s: the theme has no such colour", bad, around)
			}
		case builtTitle.MatchString(seq):
			if c := controls(strings.Trim(seq, "\x1b\x07\\")); c != "" {
				return fmt.Sprintf("control characters in the title: %s", c)
			}
		case builtLink.MatchString(seq):
			target := builtLink.FindStringSubmatch(seq)[1]
			if link != "" && !strings.Contains(link, strings.TrimSpace(shown)) {
				return fmt.Sprintf("a link to %q shows %q", link, shown)
			}
			link, shown = target, ""
		case builtCSI.MatchString(seq), builtModes.MatchString(seq), seq == "\x1b[22;2t", seq == "\x1b[23;2t": // the last two keep the title
		default:
			return fmt.Sprintf("the program does not build %s", around)
		}
	}
	return ""
}

// stringSequence reads a sequence up to BEL or ESC \\.
func stringSequence(s string) (seq string, n int, state byte) {
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == '\a':
			return s[:i+1], i + 1, 0
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return s[:i+2], i + 2, 0
		}
	}
	return s, len(s), 0
}

// strangeColour finds a colour that is not told in red, green and blue.
func strangeColour(sgr string) string {
	params := strings.Split(strings.TrimSuffix(strings.TrimPrefix(sgr, "\x1b["), "m"), ";")
	for i := 0; i < len(params); i++ {
		n, err := strconv.Atoi(params[i])
		switch {
		case params[i] == "" || err == nil && (n < 30 || n == 39 || n == 49):
		case err == nil && (n == 38 || n == 48) && i+4 < len(params) && params[i+1] == "2":
			i += 4
		default:
			return params[i]
		}
	}
	return ""
}
