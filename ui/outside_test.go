//go:build linux || darwin

package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/input"
)

// editorScript makes an editor of shell commands; $1 is the file that it is given.
func editorScript(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my editor")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// The editor gets the text in a file that only the user can read, in a folder that is gone afterwards with all that lies in it;
// what it leaves comes back without the line feed at the end. One that fails gives nothing back, and says why.
func TestEditorRuns(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	saw := filepath.Join(t.TempDir(), "saw")
	for name, c := range map[string]struct {
		script, want, fails string
		stays               bool
	}{
		"changes":   {script: `ls -l "$1" | cut -c1-10 > ` + saw + `; cat "$1" >> ` + saw + `; cp "$1" "$1~"; printf 'new\n\n' > "$1"`, want: "new\n"},
		"nothing":   {script: "exit 0", want: "first 部署"},
		"fails":     {script: `printf 'half' > "$1"; exit 3`, want: "first 部署", fails: "my editor: exit status 3"},
		"removes":   {script: `rm "$1"`, want: "first 部署", fails: "no such file"},
		"not utf-8": {script: `printf 'a\377b' > "$1"`, want: "a\uFFFDb"},
		"too large": {script: fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x > "$1"`, input.MaxBytes+1), want: "first 部署", fails: "larger than 8 MB; it is in " + tmp, stays: true},
		"just fits": {script: fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x > "$1"`, input.MaxBytes), want: strings.Repeat("x", input.MaxBytes)},
	} {
		d := newDriver(t, 80, 24)
		held := 0
		d.m.env.opts.Hold = func() func() { held++; return func() { held-- } }
		o := &outside{env: d.m.env, words: []string{editorScript(t, c.script)}, name: "text.md", text: "first 部署"}
		err := o.Run()
		if got := fmt.Sprint(err); (err != nil) != (c.fails != "") || c.fails != "" && !strings.Contains(got, c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if o.text != c.want {
			t.Errorf("%s: it left %.80q", name, o.text)
		}
		left, err := os.ReadDir(tmp)
		if err != nil || (len(left) > 0) != c.stays {
			t.Errorf("%s: there is still %v, %v", name, left, err)
		}
		for _, e := range left {
			if err := os.RemoveAll(filepath.Join(tmp, e.Name())); err != nil {
				t.Error(err)
			}
		}
		if held != 1 || d.m.env.outside.Load() != 1 {
			t.Errorf("%s: %d hold interrupts", name, held)
		}
		d.run(d.m.env.freeInterrupts(o.release))
		d.pass(interruptGrace)
		if held != 0 || d.m.env.outside.Load() != 0 {
			t.Errorf("%s: %d hold interrupts for ever", name, held)
		}
	}
	if data, err := os.ReadFile(saw); err != nil || string(data) != "-rw-------\nfirst 部署" {
		t.Errorf("the editor saw %q, %v", data, err)
	}
}

func TestEditorIsChosen(t *testing.T) {
	blank := editorScript(t, "")
	for _, c := range []struct {
		visual, editor string
		want           []string
	}{
		{"", "", nil}, {"  ", "vi", []string{"vi"}}, {"code --wait", "vi", []string{"code", "--wait"}}, {blank, "", []string{blank}}, {blank + " -x", "", strings.Fields(blank + " -x")},
	} {
		got := editorOf(func(name string) string { return map[string]string{"VISUAL": c.visual, "EDITOR": c.editor}[name] })
		if fmt.Sprint(got) != fmt.Sprint(c.want) || len(got) != len(c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	d := newDriver(t, 100, 30)
	d.typed("half")
	d.press("ctrl+g")
	d.sees("no editor is named: set VISUAL or EDITOR", "half")
}

// What comes back from an editor goes to where it was asked for, without control characters; when that has gone it is among the
// inputs before.
func TestEditorComesBack(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "look", Arguments: json.RawMessage(`{"x":1}`)}, trace.ApprovalData{ID: "c2", Tool: "look", Arguments: json.RawMessage(`{"x":2}`)})
	d.short()
	back := func(msg outsideMsg) {
		msg.id = id
		d.send(msg)
		d.short()
	}
	back(outsideMsg{text: "/he\x1b[31ml\u202e"})
	if got := d.m.page().edit.Text(); got != "/hel" {
		t.Errorf("the input holds %q", got)
	}
	d.sees("/help")
	back(outsideMsg{text: "lost", err: errors.New("vi: exit status 1")})
	d.sees("the text is as it was: vi: exit status 1", "/hel")
	d.pass(calmAfter)
	d.press("ctrl+u", "tab", "e")
	d.sees("EDIT", `"x": 1`, "Ctrl+G $EDITOR")
	back(outsideMsg{kind: kindEdit, subject: "c1", text: "{\"x\":\x00 9}"})
	d.sees(`{"x": 9}`)
	d.press("esc")
	d.sees("kept")
	d.press("e")
	d.sees(`{"x": 9}`)
	back(outsideMsg{kind: kindEdit, subject: "c2", text: "other"})
	d.sees(`{"x": 9}`, "Up in the input brings the text back")
	d.press("esc", "esc", "up")
	if got := d.m.page().edit.Text(); got != "other" {
		t.Errorf("the input holds %q", got)
	}
}

// A reason that was typed stays when its dialog is left, when the word could not be stored, and when the call has gone.
func TestReasonIsKept(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		s := f.session("s")
		o.Session = "s"
		s.run, s.running = &runtime.RunRow{ID: "r", Turn: 1, Step: 1, State: runtime.StateWaitingApproval, StartedAt: start}, true
		s.rows = []runtime.CallRow{{ID: "c1", RunID: "r", Name: "look", Arguments: `{"x":1}`, Status: runtime.CallWaiting}, {ID: "c2", RunID: "r", Name: "look", Arguments: `{"x":2}`, Status: runtime.CallWaiting}}
	})
	d.pass(calmAfter)
	d.press("tab", "n")
	d.typed("too late, 太晚了")
	d.press("esc")
	d.seesNot("DENY")
	d.sees("kept: the same key goes on with it")
	d.press("n")
	d.sees("too late, 太晚了")
	d.press("backspace", "ctrl+c")
	d.press("n")
	d.sees("too late, 太晚")
	d.f.fail["set"] = errors.New("the store is away")
	d.typed("!")
	d.press("enter")
	d.short()
	d.sees("the store is away", "APPROVE")
	d.f.fail = map[string]error{}
	d.pass(time.Second)
	d.press("n")
	d.sees("DENY", "too late, 太晚!")
	d.press("enter")
	d.short()
	got := d.f.settings[len(d.f.settings)-1]
	if len(got.Decide) != 1 || got.Decide[0].Call != "c1" || got.Decide[0].Reason != "too late, 太晚!" {
		t.Errorf("%+v", got)
	}
	d.sees("2 of 2")
	d.pass(time.Second)
	for i, leave := range []string{"esc", "enter"} { // the call goes while one types
		if i > 0 {
			d.f.asked("s", trace.ApprovalData{ID: "c3", Tool: "look", Arguments: json.RawMessage(`{}`)})
			d.pass(time.Second)
			d.press("tab")
		}
		d.press("n")
		d.seesNot("too late")
		d.typed("second " + leave)
		d.f.end("s", "cancelled", "user", "[cancelled]")
		d.short()
		d.press(leave)
		d.sees("Up in the input brings the text back")
		d.press("up")
		if got := d.m.page().edit.Text(); got != "second "+leave {
			t.Errorf("the input holds %q", got)
		}
		d.press("ctrl+u")
	}
	if n := len(d.f.settings); got.Decide[0].Call != "c1" || n != 1 {
		t.Errorf("%d settings", n)
	}
}

// A session that another process took over is followed as that one's: after a word that was refused, and after a run that could
// not be stored. A run that could not be stored for another reason leaves what is told of it.
func TestTakenOver(t *testing.T) {
	fenced := fmt.Errorf("session s: %w", runtime.ErrFenced)
	d := newDriver(t, 120, 30)
	d.f.fail["submit"] = fenced
	d.f.session(d.id()).held = 4711
	d.enter("half a thought")
	d.pass(time.Second)
	d.sees("READ ONLY  open in process 4711", "half a thought")
	d = newDriver(t, 120, 30)
	d.f.fail["set"] = fenced
	d.f.session(d.id()).held = 4712
	d.enter("/rename x")
	d.pass(time.Second)
	d.sees("READ ONLY  open in process 4712")
	for _, held := range []int{0, 4713} {
		d = newDriver(t, 120, 30)
		d.enter("go")
		d.f.session(d.id()).held = held
		d.f.mu.Lock()
		d.f.emit(d.id(), false, trace.ErrorData{Message: "the turn could not be stored", Why: "why"})
		d.f.emit(d.id(), false, trace.StateData{State: string(runtime.StateFailed), Reason: string(runtime.ReasonStore)})
		d.f.mu.Unlock()
		d.pass(5 * time.Second)
		if held > 0 {
			d.sees("READ ONLY  open in process 4713")
		} else {
			d.seesNot("READ ONLY")
			d.sees("THE TURN COULD NOT BE STORED")
		}
	}
}
