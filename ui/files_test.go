package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/ui/words"
)

// fakeFiles is a folder in memory.
type fakeFiles struct {
	clk   clock.Clock
	files map[string]string
	fail  error
	slow  time.Duration
	walks int
	ended error
	f     *fake
}

func (w *fakeFiles) Names(ctx context.Context) ([]string, bool, error) {
	w.f.beside()
	w.walks++
	if w.slow > 0 {
		if w.ended = w.clk.Sleep(ctx, w.slow); w.ended != nil {
			return nil, false, w.ended
		}
	}
	var names []string
	for name := range w.files {
		names = append(names, name)
	}
	return names, false, w.fail
}

func (w *fakeFiles) Read(_ context.Context, name string, limit int) attach.File {
	w.f.beside()
	text, ok := w.files[name]
	switch {
	case !ok:
		return attach.File{Name: name, Refused: attach.Gone}
	case strings.ContainsRune(text, 0):
		return attach.File{Name: name, Bytes: int64(len(text)), Refused: attach.Binary}
	}
	return attach.File{Name: name, Bytes: int64(len(text)), Text: text[:min(limit, len(text))]}
}

func withFiles(w *fakeFiles) func(*Options, *fake) {
	return func(o *Options, f *fake) {
		w.f, w.clk = f, o.Clock
		o.Files = w
	}
}

func someFiles() *fakeFiles {
	return &fakeFiles{files: map[string]string{
		"notes.txt": "alpha\nbeta\n", "src/main.go": "package main", "笔记 一.md": "你好，世界", "logo.png": "\x89PNG\x00", "big.log": strings.Repeat("line\n", 20_000),
	}}
}

// lastSubmit is what the engine was given last.
func (d *driver) lastSubmit() string {
	d.t.Helper()
	for i := len(d.f.order) - 1; i >= 0; i-- {
		if rest, ok := strings.CutPrefix(d.f.order[i], "submit "+d.id()+" "); ok {
			var text string
			if _, err := fmt.Sscanf(rest, "%q", &text); err != nil {
				d.t.Fatal(err)
			}
			return text
		}
	}
	d.t.Fatal("nothing was sent")
	return ""
}

// A file is chosen by a few of its letters; the message holds it, the chat names it, and the input brings back what was typed.
func TestAMessageWithFiles(t *testing.T) {
	d := newDriver(t, 100, 30, withFiles(someFiles()))
	d.typed("compare @nts")
	d.short()
	d.sees("@notes.txt", "Enter insert   Esc close")
	d.press("enter")
	d.typed("and @笔")
	d.short()
	d.press("tab")
	d.pass(time.Second)
	d.sees("@ notes.txt   11 B", "@ 笔记 一.md   15 B", `compare @notes.txt and @"笔记 一.md"`)
	before := d.m.page().gauge.draft
	d.press("enter")
	d.short()
	want := attach.Compose(`compare @notes.txt and @"笔记 一.md"`, []attach.File{{Name: "notes.txt", Bytes: 11, Text: "alpha\nbeta\n"}, {Name: "笔记 一.md", Bytes: 15, Text: "你好，世界"}})
	if got := d.lastSubmit(); got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	if plain := draftTokens(`compare @notes.txt and @"笔记 一.md"`); before < plain+40 {
		t.Errorf("the meter counted %d tokens; the text alone has %d", before, plain)
	}
	d.sees("@ notes.txt   11 B", "@ 笔记 一.md   15 B")
	d.seesNot("alpha", "你好，世界", "attached file")
	d.f.answer(d.id())
	d.short()
	d.press("up")
	if got := d.m.page().edit.Text(); got != `compare @notes.txt and @"笔记 一.md"` {
		t.Errorf("Up brings back %q", got)
	}
	e := again(t, d.f, d.id()) // and after a restart
	e.sees("@ notes.txt   11 B", "turn 1")
	e.seesNot("alpha")
	e.press("up")
	if got := e.m.page().edit.Text(); got != `compare @notes.txt and @"笔记 一.md"` {
		t.Errorf("after a restart Up brings back %q", got)
	}
	e.press("ctrl+c")
	e.press("tab", "k", "k", "enter")
	e.short()
	e.sees("alpha", "你好，世界") // open, it shows what was sent
}

// What is cut or cannot be attached is said before and after it is sent; a word behind @ that is no file is text, without a notice.
func TestFilesThatAreCutOrRefused(t *testing.T) {
	w := someFiles()
	d := newDriver(t, 100, 30, withFiles(w))
	for _, name := range []string{"logo", "big.log"} {
		d.typed("@" + name)
		d.short()
		if d.m.page().files.open() {
			d.press("enter")
		}
	}
	d.typed(" @notes.txt @someone a@notes.txt ")
	d.pass(time.Second)
	d.sees("✗ logo.png   not attached: it is no text (UTF-8)", "@ big.log   the first 64.0 KB of 97.7 KB", "@ notes.txt")
	d.seesNot("someone   ")
	delete(w.files, "notes.txt")
	d.press("enter")
	d.short()
	_, files := attach.Split(d.lastSubmit())
	if len(files) != 3 || files[0].Refused != attach.Binary || len(files[1].Text) != 64<<10 || !files[1].Cut() || files[2].Refused != attach.Gone {
		t.Errorf("%d files went: %.200v", len(files), files)
	}
	d.sees("✗ logo.png   not attached: it is no text (UTF-8)", "@ big.log   the first 64.0 KB of 97.7 KB", "✗ notes.txt   not attached: it is not there")
}

// The list follows what is typed, closes by Esc and stays closed for that text, and a reading that nobody waits for ends.
func TestTheListOfFiles(t *testing.T) {
	w := someFiles()
	w.slow = time.Second
	d := newDriver(t, 100, 30, withFiles(w))
	d.typed("@")
	d.short()
	d.press("esc")
	d.short()
	if !errors.Is(w.ended, context.Canceled) {
		t.Errorf("the reading of the folder goes on: %v", w.ended)
	}
	w.slow = 0
	d.typed("m")
	d.short()
	d.sees("@src/main.go")
	d.press("esc")
	d.seesNot("@src/main.go")
	d.typed("x")
	d.press("backspace")
	d.short()
	d.sees("@src/main.go")
	d.press("left") // the cursor stands before it: what is typed there is another word
	d.press("left")
	d.seesNot("@src/main.go")
	d.press("end")
	d.short()
	d.sees("@src/main.go")
	d.typed(" ")
	d.seesNot("@src/main.go")
	if w.walks != 2 {
		t.Errorf("the folder was read %d times", w.walks)
	}
	d.press("ctrl+c")
	d.typed("@notes.txt")
	d.short()
	if d.m.page().files.open() {
		t.Error("the list is open over a name that is there in full: Enter would not send")
	}
	d.press("ctrl+c")
	d.typed("@")
	d.short()
	for _, k := range []string{"m", "a", "enter"} { // faster than the names are put in order
		d.send(keyOf(k))
	}
	d.settle()
	if got := d.m.page().edit.Text(); got != "@src/main.go " {
		t.Errorf("what was typed fast chose %q", got)
	}
	w.fail = errors.New("permission denied")
	d.press("ctrl+c")
	d.pass(time.Minute)
	d.typed("@z")
	d.short()
	d.sees("cannot be listed: permission denied")
}

// Queued inputs, their withdrawal and /retry know the text from the files.
func TestQueuedInputsWithFiles(t *testing.T) {
	d := newDriver(t, 100, 30, withFiles(someFiles()))
	d.enter("first")
	d.typed("then @notes.txt ")
	d.press("enter")
	d.short()
	d.sees("then @notes.txt")
	d.seesNot("alpha", "attached file")
	d.press("up")
	d.short()
	if got := d.m.page().edit.Text(); got != "then @notes.txt" {
		t.Errorf("taken back: %q", got)
	}
	d.press("ctrl+c", "ctrl+c")
	d.f.answer(d.id())
	d.short()
}

// B011: a large paste is a label in the input: quick, deleted as one, kept with the draft over a restart, brought back by Up, and sent
// byte for byte; a file that a paste names is not attached.
func TestAPasteOfManyLines(t *testing.T) {
	lines, label := 10_000, "[paste 1: 10,000 lines, 1.2 MB]"
	if testing.Short() {
		lines, label = 1000, "[paste 1: 1,000 lines, 127.0 KB]"
	}
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%05d %s @notes.txt\n", i, strings.Repeat("汉字ab", 14))
	}
	text := b.String()
	d := newDriver(t, 100, 30, withFiles(someFiles()))
	d.frames = d.straight
	d.typed("see ")
	began := time.Now()
	d.send(tea.PasteMsg{Content: text})
	d.settle()
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("the paste took %v", took)
	}
	d.sees("see "+label, "Ctrl+O opens the paste here, Ctrl+G in your editor; Backspace takes it away")
	d.press("backspace")
	d.seesNot("[paste 1", "opens the paste here")
	d.press("ctrl+_")
	d.typed("x")
	d.pass(3 * time.Second)
	e := again(t, d.f, d.id())
	e.sees("see " + label + "x")
	e.press("enter")
	e.short()
	if got := e.lastSubmit(); got != "see "+text+"x" {
		t.Errorf("sent %d bytes, want %d", len(got), len(text)+5)
	}
	e.sees("see 00000", "981 more lines")
	e.f.answer(e.id())
	e.short()
	e.press("up")
	e.sees("see " + label + "x")
	e.press("ctrl+c", "ctrl+r")
	e.sees(label + "x")
	e.typed(fmt.Sprintf("%05d", lines/2))
	e.press("enter")
	if got := e.m.page().edit.Chips(); got != 0 { // beyond what is looked through
		t.Errorf("%d pastes", got)
	}
}

// A paste beyond the bound is refused with the reason; what was typed stays.
func TestAPasteBeyondTheBound(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.typed("mine")
	d.send(tea.PasteMsg{Content: strings.Repeat("0123456789abcde\n", 600_000)})
	d.settle()
	d.sees("the paste was not taken: with it the input would be larger than 8.0 MB")
	if got := d.m.page().edit.Text(); got != "mine" {
		t.Errorf("the input holds %q", got)
	}
}

// playFiles shows files that an input names, before and after it is sent, and a paste.
func playFiles(s *stage) {
	for _, lang := range []words.Lang{words.English, words.Chinese} {
		d := s.driver(withFiles(someFiles()), func(o *Options, _ *fake) { o.Lang = lang })
		d.typed("比较 @notes.txt 和 @logo.png ")
		d.press("enter")
		d.short()
		d.f.answer(d.id())
		d.pass(10 * time.Second)
		d.send(tea.PasteMsg{Content: strings.Repeat("一行 line\n", 400)})
		d.typed(` 与 @big.log @"笔记 一.md" @`)
		d.pass(10 * time.Second)
		s.shot(d, "files_list_"+lang.String())
		d.press("backspace", "backspace")
		d.pass(time.Second)
		s.shot(d, "files_"+lang.String())
		d.press("ctrl+c", "tab", "k", "k", "enter")
		d.pass(10 * time.Second)
		s.shot(d, "files_open_"+lang.String())
	}
}

var _ runtime.WorkFiles = (*fakeFiles)(nil)
