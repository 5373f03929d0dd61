package ui

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"go.uber.org/goleak"

	"vitrine/runtime/clock"
	"vitrine/trace"
	"vitrine/ui/paint"
)

// terminal is an emulator behind Bubble Tea's own renderer.
type terminal struct {
	mu   sync.Mutex
	emu  *vt.Emulator
	raw  bytes.Buffer
	done chan struct{}
}

func newTerminal(w, h int) *terminal {
	t := &terminal{emu: vt.NewEmulator(w, h), done: make(chan struct{})}
	go func() { // the emulator's answers to queries must be read
		defer close(t.done)
		_, _ = io.Copy(io.Discard, t.emu)
	}()
	return t
}

// Write takes the renderer's output. Without a tty it writes bare line feeds.
func (t *terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw.Write(b)
	_, err := t.emu.Write(bytes.ReplaceAll(margins.ReplaceAllFunc(b, t.clamp), []byte("\n"), []byte("\r\n")))
	return len(b), err
}

var margins = regexp.MustCompile(`\x1b\[(\d+);(\d+)r`)

// clamp keeps margins of a frame that was under way at a change of size within the screen, as terminals do and the emulator
// does not.
func (t *terminal) clamp(seq []byte) []byte {
	var top, bottom int
	_, _ = fmt.Sscanf(string(seq), "\x1b[%d;%dr", &top, &bottom)
	if bottom = min(bottom, t.emu.Height()); top >= bottom {
		return nil
	}
	return fmt.Appendf(nil, "\x1b[%d;%dr", top, bottom)
}

func (t *terminal) output() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}

func (t *terminal) resize(w, h int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emu.Resize(w, h)
}

func (t *terminal) close() {
	_ = t.emu.InputPipe().(io.Closer).Close() // the emulator's own Close races with its Read
	<-t.done
}

// rows gives the cells as text, with a bar after each cell so that widths show.
func (t *terminal) rows() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cellRows(t.emu.Width(), t.emu.Height(), t.emu.CellAt)
}

func cellRows(w, h int, at func(x, y int) *uv.Cell) []string {
	rows := make([]string, h)
	for y := range rows {
		var b strings.Builder
		for x := 0; x < w; x++ {
			if c := at(x, y); c != nil && c.Content != "" {
				// A word joiner has no width, and the emulator drops it.
				fmt.Fprintf(&b, "%s|", strings.ReplaceAll(c.Content, "\u2060", ""))
			} else if c != nil && c.Width == 0 {
				continue // the second half of a wide character
			} else {
				b.WriteString(" |")
			}
		}
		rows[y] = b.String()
	}
	return rows
}

// fresh is the same frame painted whole.
func fresh(content string, w, h int, method ansi.Method) []string {
	buf := uv.NewScreenBuffer(w, h)
	buf.Method = method
	uv.NewStyledString(content).Draw(buf, buf.Bounds())
	return cellRows(w, h, buf.CellAt)
}

// program runs the screen under Bubble Tea with the real clock.
type program struct {
	t    *testing.T
	term *terminal
	f    *fake
	m    *Model
	p    *tea.Program
	own  *paint.Terminal // nil: Bubble Tea paints
	in   *io.PipeWriter
	end  chan error
}

func startProgram(t *testing.T, w, h int, grapheme, own bool) *program {
	t.Helper()
	clk := clock.Real()
	f := newFake(clk)
	m := New(Options{Agent: f, Library: f, Feed: f, Clock: clk, User: "ann", Model: "mock", Env: func(string) string { return "" }})
	term := newTerminal(w, h)
	r, in := io.Pipe()
	pr := &program{t: t, term: term, f: f, m: m, in: in, end: make(chan error, 1)}
	g := &guard{inner: m}
	options := append(stockOptions(clk), tea.WithOutput(term))
	if own {
		pr.own = paint.NewTerminal(paint.TerminalConfig{Out: term, Clock: clk, Painter: paint.PainterConfig{Profile: colorprofile.TrueColor}})
		options = ownOptions(clk, pr.own, g)
		if err := pr.own.Start(); err != nil {
			t.Fatal(err)
		}
	}
	pr.p = tea.NewProgram(g, append(options, tea.WithInput(r), tea.WithWindowSize(w, h),
		tea.WithColorProfile(colorprofile.TrueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}))...)
	go func() {
		_, err := pr.p.Run()
		pr.end <- err
	}()
	if grapheme {
		pr.p.Send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	}
	pr.wait("ready", func(s string) bool { return strings.Contains(s, "r|e|a|d|y|") })
	return pr
}

// waitLimit is far above what anything takes, on a busy machine too.
const waitLimit = 90 * time.Second

// wait looks at the terminal until something is so.
func (pr *program) wait(what string, ok func(screen string) bool) {
	pr.t.Helper()
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok(strings.Join(pr.term.rows(), "\n")) {
			return
		}
	}
	pr.t.Fatalf("%s does not come:\n%s", what, strings.Join(pr.term.rows(), "\n"))
}

func (pr *program) stop() {
	pr.p.Quit()
	if err := <-pr.end; err != nil {
		pr.t.Error(err)
	}
	if pr.own != nil {
		if err := pr.own.Close(); err != nil {
			pr.t.Error(err)
		}
	}
	pr.m.Close()
	_ = pr.in.Close()
	pr.term.close()
}

var clearScreen = regexp.MustCompile(`\x1b\[2J|\x1b\[H\x1b\[J`)

var clusters = []string{"plain words ", "部署计划在星期五 ", "👨‍👩‍👧 ", "🇩🇪🇵🇱 ", "e\u0301\u0301 ", "❤️ ", "한글 ", "💅🏻 ", "`code` ", "**bold** ", "\n\n- item ", "🎙️ ", "नमस्ते "}

// Whatever the sizes in the middle of a stream (B017), the terminal ends with what a full repaint would show, and no text is
// lost. Both ways to count wide clusters, both renderers.
func TestResizeInAStream(t *testing.T) {
	defer goleak.VerifyNone(t)
	for i := range 4 {
		grapheme, own := i%2 == 1, i >= 2
		pr := startProgram(t, 100, 30, grapheme, own)
		rng := rand.New(rand.NewPCG(7, 7))
		said := pr.play(120, func(i int) {
			if i%2 == 0 {
				pr.size(20+rng.IntN(181), 5+rng.IntN(56))
				time.Sleep(time.Duration(rng.IntN(8)) * time.Millisecond)
			}
		})
		pr.size(110, 34)
		pr.check(110, 34, grapheme, said)
	}
}

// B019: a hundred sizes in a second while text comes: no copies of frames in the scrollback or the main screen, the last frame is
// whole, the screen is painted anew a bounded number of times, no text is lost.
func TestManySizesInASecond(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, own := range []bool{false, true} {
		manySizes(t, own)
	}
}

func manySizes(t *testing.T, own bool) {
	pr := startProgram(t, 80, 24, false, own)
	before, began := len(clearScreen.FindAllString(pr.term.output(), -1)), time.Now()
	said := pr.play(100, func(i int) {
		if i%2 == 0 {
			pr.size(120, 40)
		} else {
			pr.size(80, 24)
		}
		time.Sleep(5 * time.Millisecond)
	})
	pr.size(120, 40)
	took := time.Since(began)
	pr.check(120, 40, false, said)
	// Each size that is let through paints twice: at once, and when the margins are reset.
	if n, most := len(clearScreen.FindAllString(pr.term.output(), -1))-before, 2*int(took/sizeTime)+6; n > most {
		t.Errorf("100 sizes in %v cleared the screen %d times, more than %d", took, n, most)
	}
}

// play streams pieces of text, and does something before each.
func (pr *program) play(n int, each func(i int)) string {
	rng := rand.New(rand.NewPCG(3, 9))
	id := pr.m.page().id
	pr.f.mu.Lock()
	pr.f.begin(id, "tell me 部署 👨‍👩‍👧")
	pr.f.mu.Unlock()
	var said strings.Builder
	for i := range n {
		each(i)
		text := clusters[rng.IntN(len(clusters))]
		said.WriteString(text)
		pr.f.stream(id, text)
	}
	pr.f.stream(id, "\n\nTHE END")
	pr.f.answer(id)
	return said.String() + "\n\nTHE END"
}

func (pr *program) size(w, h int) {
	pr.term.resize(w, h)
	pr.p.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// check compares the terminal with a whole repaint, and looks at what leaving leaves.
func (pr *program) check(w, h int, grapheme bool, said string) {
	t := pr.t
	t.Helper()
	pr.wait("the end", func(s string) bool {
		return strings.Contains(s, "T|H|E| |E|N|D|") && strings.Contains(s, "✓| |d|o|n|e|")
	})
	last, since := "", time.Now()
	pr.wait("the last frame", func(s string) bool {
		if s != last {
			last, since = s, time.Now()
		}
		return time.Since(since) > 400*time.Millisecond
	})
	method := ansi.WcWidth
	if grapheme {
		method = ansi.GraphemeWidth
	}
	got := pr.term.rows()
	pr.stop()
	want := fresh(pr.m.View().Content, w, h, method)
	for y := range want {
		if y >= len(got) || got[y] != want[y] {
			t.Errorf("grapheme %v, row %d:\n got %s\nwant %s", grapheme, y, got[y], want[y])
		}
	}
	if pr.m.page().columns.chat.CopyAnswer() != said {
		t.Error("text of the stream was lost")
	}
	main := pr.term.rows()
	if n := pr.term.emu.ScrollbackLen(); n > 0 || strings.Contains(strings.Join(main, ""), "T|H|E| |E|N|D|") {
		t.Errorf("%d rows were left in the scrollback, the main screen holds\n%s", n, strings.Join(main, "\n"))
	}
}

// B043: leaving while eight goroutines publish ends at once and leaves nothing behind.
func TestQuitInAFlood(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, own := range []bool{false, true} {
		quitInAFlood(t, own)
	}
}

func quitInAFlood(t *testing.T, own bool) {
	pr := startProgram(t, 100, 30, true, own)
	id := pr.m.page().id
	pr.f.mu.Lock()
	pr.f.begin(id, "go")
	pr.f.mu.Unlock()
	kept := pr.f.bus.SubscribeKept(20000)
	var wg sync.WaitGroup
	const each = 1250
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				pr.f.mu.Lock()
				pr.f.emit(id, true, trace.SessionData{Action: "renamed", Title: "x"})
				pr.f.mu.Unlock()
			}
		}()
	}
	began := time.Now()
	pr.stop()
	if d := time.Since(began); d > 30*time.Second { // far above what it takes; what waits for the flood does not end
		t.Errorf("leaving took %v", d)
	}
	wg.Wait()
	// What was not shown is still there for the trace file.
	n := 0
	for {
		b, ok := kept.TryNext()
		if !ok {
			break
		}
		n += len(b.Events)
	}
	if n != 8*each {
		t.Errorf("%d of %d events reached the other reader", n, 8*each)
	}
	kept.Close()
}
