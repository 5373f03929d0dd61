package ui

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/emulator"
	"vitrine/ui/record"
)

// replay gives the screen that a cast ends on, its header and its events.
func replay(t *testing.T, path string) (screen emulator.Screen, head map[string]any, events [][3]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil {
		t.Fatal(err)
	}
	term := emulator.New(int(head["width"].(float64)), int(head["height"].(float64)), ansi.GraphemeWidth)
	for _, l := range lines[1:] {
		var e [3]any
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		events = append(events, e)
		switch text := e[2].(string); e[1] {
		case "o":
			term.Write(text)
		case "r":
			w, h, _ := strings.Cut(text, "x")
			var size [2]int
			_ = json.Unmarshal([]byte("["+w+","+h+"]"), &size)
			term.Resize(size[0], size[1])
		}
	}
	return term.Screen(), head, events
}

// paint tells the model what a terminal shows now, as the one that paints it would.
func paintNow(d *driver) {
	d.settle()
	d.m.Painted(d.sim.Now(), d.m.View(), d.m.w, d.m.h)
}

// A recording of the screen grows while it goes on, shows in the row of tabs how long it is, hides secrets, follows sizes, asks the
// player's terminal for nothing, and can be played at any time: the program may be killed.
func TestRecordTheScreen(t *testing.T) {
	d := newDriver(t, 120, 30)
	dir := t.TempDir()
	d.m.env.opts.Records, d.m.env.opts.Secrets = dir, []string{"sk-secret-1234567890"}
	d.typed("before ")
	d.press("ctrl+x", "v")
	d.settle()
	paintNow(d)
	path, _ := filepath.Glob(filepath.Join(dir, "vitrine-*.cast"))
	if len(path) != 1 || !strings.Contains(d.status(), "recording to ") || !strings.Contains(d.grid()[0], "◉ REC 0:00") {
		t.Fatalf("%v, %q, %q", path, d.status(), d.grid()[0])
	}
	d.typed("it is sk-secret-1234567890 here")
	paintNow(d)
	d.pass(42 * time.Second)
	if !strings.Contains(d.grid()[0], "◉ REC 0:42") {
		t.Errorf("the clock: %q", d.grid()[0])
	}
	paintNow(d)
	half, _, _ := replay(t, path[0]) // as a kill would leave it
	if !half.Has("◉ REC 0:42") || !half.Has("before it is") || half.Has("sk-secret") {
		t.Errorf("in the middle:\n%s", half)
	}
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	paintNow(d)
	d.press("ctrl+x", "v")
	d.settle()
	if s := d.status(); !strings.Contains(s, "recorded 0:42 to ") || !strings.Contains(s, "before you share it") || strings.Contains(d.grid()[0], "REC") {
		t.Errorf("%q, %q", s, d.grid()[0])
	}
	screen, head, events := replay(t, path[0])
	if w, h := screen.Size(); w != 80 || h != 24 || head["version"] != float64(2) || !screen.Has("before it is") {
		t.Errorf("it ends on %dx%d, %v:\n%s", w, h, head, screen)
	}
	all, _ := os.ReadFile(path[0])
	for _, bad := range []string{"sk-secret", "?1002h", "?1006h", "?2004h", ">1u", "?1049h", `"i"`} {
		if strings.Contains(string(all), bad) {
			t.Errorf("the cast holds %q", bad)
		}
	}
	resized := false
	for _, e := range events {
		resized = resized || e[1] == "r" && e[2] == "80x24"
	}
	if !resized || !strings.Contains(events[len(events)-1][2].(string), "\x1b[?7h") {
		t.Errorf("the size, or the end: %v", events[len(events)-1])
	}
}

func TestRecordingsThatFail(t *testing.T) {
	d := newDriver(t, 120, 30)
	d.enter("/record")
	if s := d.status(); !strings.Contains(s, "cannot be recorded here") {
		t.Errorf("without a folder: %q", s)
	}
	dir := t.TempDir()
	d.m.env.opts.Records = dir
	d.enter("/record no/such/folder/a.cast")
	if s := d.status(); !strings.Contains(s, "the recording: ") || strings.Contains(d.grid()[0], "REC") {
		t.Errorf("%q", s)
	}
	d.enter("/record mine")
	if _, err := os.Stat(filepath.Join(dir, "mine.cast")); err != nil || !strings.Contains(d.grid()[0], "REC") {
		t.Errorf("%v, %q", err, d.grid()[0])
	}
	d.enter("/record other")
	if s := d.status(); !strings.Contains(s, "a recording is on") {
		t.Errorf("%q", s)
	}
	if err := d.m.endRecording(); err != nil { // as when the screen is left
		t.Error(err)
	}
	if err := d.m.endRecording(); err != nil {
		t.Error(err)
	}
	// What is there already is not written over.
	d.m.env.recorded = time.Time{}
	d.enter("/record mine")
	if s := d.status(); !strings.Contains(s, "the recording: ") {
		t.Errorf("%q", s)
	}
}

// full is a disk that takes so many bytes more.
func full(room int) record.Disk {
	return func(w io.Writer) io.Writer { return &fullDisk{w, room} }
}

type fullDisk struct {
	w    io.Writer
	room int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, syscall.ENOSPC
	}
	return f.w.Write(p)
}

// B190: a disk that is full while the screen is recorded ends the recording: the mark goes at once, the user is told why, and what was
// recorded before can be played.
func TestRecordingOnAFullDiskB190(t *testing.T) {
	d := newDriver(t, 120, 30)
	t.Chdir(t.TempDir())
	d.m.env.opts.Records, d.m.env.recording.disk = ".", full(20_000)
	d.enter("/record mine")
	d.settle()
	paintNow(d)
	if !strings.Contains(d.grid()[0], "◉ REC 0:00") {
		t.Fatalf("%q", d.grid()[0])
	}
	d.m.env.recording.disk = nil // of the next one
	for range 200 {
		if d.typed("some more words "); !strings.Contains(d.grid()[0], "REC") {
			break
		}
		d.pass(time.Second)
		paintNow(d)
	}
	if strings.Contains(d.grid()[0], "REC") || !strings.Contains(d.status(), "the recording ended: cannot write mine.cast: no space left on device; it can be played up to there") {
		t.Errorf("%q, %q", d.grid()[0], d.status())
	}
	if screen, _, events := replay(t, "mine.cast"); len(events) < 3 || !screen.Has("some more words") {
		t.Errorf("%d events\n%s", len(events), screen)
	}
	d.press("ctrl+u")
	d.enter("/record next")
	if !strings.Contains(d.grid()[0], "REC") {
		t.Errorf("no other one begins: %q", d.status())
	}
	if err := d.m.endRecording(); err != nil {
		t.Error(err)
	}
}

func TestClockText(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:00", 42 * time.Second: "0:42", 61 * time.Second: "1:01", 3723 * time.Second: "1:02:03"} {
		if got := clockText(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}
