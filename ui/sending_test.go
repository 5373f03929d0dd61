package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/input"
)

// What is typed while an input is being stored is seen at once, however long the store takes, and is sent in its turn.
func TestTypingWhileAnInputIsStored(t *testing.T) {
	for _, size := range [][2]int{{100, 30}, {40, 12}} {
		d := newDriver(t, size[0], size[1])
		d.frames = d.straight
		latch := d.park()
		d.typed("one")
		d.press("enter")
		d.sees("storing the input", "❯ one")
		d.seesNot("STORING")
		d.typed("two")
		d.sees("STORING  one", "❯ two")
		d.pass(30 * time.Second)
		d.sees("STORING  one", "❯ two")
		d.press("enter")
		d.sees("STORING  one", "then 1 more")
		d.send(tea.PasteMsg{Content: "three\nand more"})
		d.sees("❯ three", "  and more")
		d.press("ctrl+x", "p", "esc") // other keys work too
		latch.Open()
		d.short()
		if got := d.m.page().edit.Text(); got != "three\nand more" {
			t.Errorf("the input holds %q", got)
		}
		order := strings.Join(d.f.order, "; ")
		if !strings.Contains(order, `submit ann-window-1 "one"; submit ann-window-1 "two"`) || strings.Contains(order, "three") {
			t.Errorf("%s", order)
		}
		d.seesNot("STORING")
	}
}

// What could not be stored, and what was entered after it, is in the input again, in front of what is being typed.
func TestTypingWhileAnInputFails(t *testing.T) {
	d := newDriver(t, 100, 30)
	latch := d.park()
	d.f.fail["submit"] = errors.New("no")
	d.enter("one")
	d.enter("two")
	d.typed("three")
	latch.Open()
	d.short()
	if got := d.m.page().edit.Text(); got != "one\ntwo\nthree" {
		t.Errorf("the input holds %q", got)
	}
	d.sees("not sent: no")
	if n := strings.Count(strings.Join(d.f.order, " "), "submit"); n != 1 {
		t.Errorf("%d were sent: %q", n, d.f.order)
	}
	// Where there is no room for all of it, Up brings it.
	d.press("ctrl+c")
	latch = d.park()
	d.enter("four")
	d.send(tea.PasteMsg{Content: strings.Repeat("x", input.MaxBytes-2)})
	latch.Open()
	d.short()
	d.sees("no room in the input")
	if h := d.m.page().history.entries; h[len(h)-1] != "four" || len(input.Plain(d.m.page().edit.Text())) != input.MaxBytes-2 {
		t.Errorf("the history ends with %q", h[len(h)-1])
	}
}

// Inputs that wait for one that is being stored are bounded; the one over it stays in the input.
func TestInputsThatWaitAreBounded(t *testing.T) {
	d := newDriver(t, 100, 30)
	latch := d.park()
	for i := range mostNext + 2 {
		d.enter(fmt.Sprint("text ", i))
	}
	d.sees("are still being stored")
	if got := d.m.page().edit.Text(); got != fmt.Sprint("text ", mostNext+1) {
		t.Errorf("the input holds %q", got)
	}
	latch.Open()
	d.pass(time.Second)
	var want []string
	for i := range mostNext + 1 {
		want = append(want, fmt.Sprintf("submit ann-window-1 %q", fmt.Sprint("text ", i)))
	}
	if got := strings.Join(d.f.order, "; "); !strings.HasSuffix(got, strings.Join(want, "; ")) {
		t.Errorf("%s", got)
	}
}

// An input that waits for the one before it is not sent over a question that came meanwhile.
func TestInputsThatWaitAndAQuestion(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("go")
	latch := d.park()
	d.enter("one")
	d.enter("two")
	d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`)})
	d.pass(5 * time.Second)
	latch.Open()
	d.short()
	if d.did(`submit ann-window-1 "two"`) || d.m.page().edit.Text() != "two" {
		t.Errorf("the input holds %q; %q", d.m.page().edit.Text(), d.f.order)
	}
	d.sees("a question has come up")
}

// Ctrl+C while an input is being stored clears what was typed after it, and nothing of that; /retry waits for its turn.
func TestKeysWhileAnInputIsStored(t *testing.T) {
	d := newDriver(t, 100, 30)
	latch := d.park()
	d.enter("one")
	d.typed("x")
	d.press("ctrl+c")
	d.sees("cleared", "STORING  one")
	latch.Open()
	d.short()
	d.f.answer(d.id())
	d.short()
	latch = d.park()
	d.enter("two")
	d.enter("/retry")
	latch.Open()
	d.short()
	d.pass(time.Second)
	if got := strings.Join(d.f.order, "; "); !strings.HasSuffix(got, `submit ann-window-1 "two"; submit ann-window-1 "one"`) {
		t.Errorf("%s", got)
	}
}

// A draft that was left for an older input is in the input again when that has been sent.
func TestDraftComesBackAfterAnOlderInput(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for _, typesOn := range []bool{false, true} {
			d := newDriver(t, 100, 30)
			d.enter("one")
			d.f.answer(d.id())
			d.short()
			d.typed("a draft")
			latch := d.park()
			if fails {
				d.f.fail["submit"] = errors.New("no")
			}
			d.press("up", "enter")
			if typesOn {
				d.typed("!")
			}
			latch.Open()
			d.short()
			want := map[[2]bool]string{{false, false}: "a draft", {false, true}: "a draft!", {true, false}: "one", {true, true}: "one\na draft!"}[[2]bool{fails, typesOn}]
			p := d.m.page()
			if got := p.edit.Text(); got != want {
				t.Errorf("fails %v, types on %v: the input holds %q", fails, typesOn, got)
			}
			if fails && !typesOn && p.history.entries[len(p.history.entries)-1] != "a draft" {
				t.Errorf("the draft is lost: %q", p.history.entries)
			}
		}
	}
}

// What is entered before the session is open is sent once it is, in its order, behind a draft that was kept; what is typed then stays.
func TestEnteredBeforeTheSessionIsOpen(t *testing.T) {
	early := func(t *testing.T) (*driver, func(change func(*runtime.Snapshot), err error)) {
		d := newDriver(t, 100, 30)
		d.m.page().loaded, d.m.page().draft = false, draft{}
		d.enter("one")
		d.enter("two")
		d.typed("three")
		d.sees("STORING  one", "then 1 more", "❯ three")
		if d.did("submit") {
			t.Errorf("sent before it is open: %q", d.f.order)
		}
		return d, func(change func(*runtime.Snapshot), err error) {
			s, _ := d.f.Open(t.Context(), d.id(), false)
			if change != nil {
				change(&s)
			}
			d.send(openedMsg{id: d.id(), snap: s, err: err, draft: &runtime.Draft{Text: "from before", At: start}})
			d.short()
		}
	}
	d, open := early(t)
	open(nil, nil)
	if got := d.m.page().edit.Text(); got != "from before\nthree" {
		t.Errorf("the input holds %q", got)
	}
	if order := strings.Join(d.f.order, "; "); !strings.Contains(order, `submit ann-window-1 "one"; submit ann-window-1 "two"`) {
		t.Errorf("%s", order)
	}
	d.seesNot("STORING")

	for name, c := range map[string]struct {
		change func(*runtime.Snapshot)
		err    error
		says   string
	}{
		"another's": {func(s *runtime.Snapshot) { s.HeldBy = 4711 }, nil, "read only: the session is open in process 4711"},
		"asks": {func(s *runtime.Snapshot) {
			s.Run = &runtime.RunRow{ID: "r1", SessionID: s.Session.ID, State: runtime.StateWaitingModel, Turn: 1}
		}, nil, "a question has come up"},
		"broken": {nil, errors.New("no file"), "cannot open: no file"},
	} {
		d, open := early(t)
		open(c.change, c.err)
		if got := d.m.page().edit.Text(); !strings.HasSuffix(got, "one\ntwo\nthree") && !strings.HasPrefix(got, "one\ntwo\n") {
			t.Errorf("%s: the input holds %q", name, got)
		}
		if d.did("submit") {
			t.Errorf("%s: sent: %q", name, d.f.order)
		}
		d.sees(c.says)
		d.seesNot("STORING")
	}
}
