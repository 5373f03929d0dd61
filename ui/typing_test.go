package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// The input grows to a third of the screen and scrolls inside from then on, around the cursor, which stays in it.
func TestTheInputGrows(t *testing.T) {
	for _, s := range [][2]int{{200, 50}, {80, 24}, {40, 12}} {
		d := newDriver(t, s[0], s[1])
		d.frames = d.straight
		third := s[1] / 3
		for i := range third + 5 {
			d.typed(fmt.Sprintf("第 %d 行", i+1))
			d.press("ctrl+j")
			if h := d.m.page().lay.input.h; h != min(i+2, third) {
				t.Fatalf("%v: %d lines take %d rows, of %d at most", s, i+2, h, third)
			}
		}
		cursor := func() int { return d.m.View().Cursor.Y - d.m.page().lay.input.y }
		if cursor() != third-1 {
			t.Errorf("%v: the cursor is in row %d", s, cursor())
		}
		d.seesNot("第 1 行")
		for range third + 5 {
			d.press("up")
		}
		d.sees("❯ 第 1 行")
		if cursor() != 0 {
			t.Errorf("%v: the cursor is in row %d", s, cursor())
		}
		d.press("ctrl+end")
		d.sees(fmt.Sprintf("第 %d 行", third+5))
		d.press("ctrl+c")
		if d.m.page().lay.input.h != 1 {
			t.Errorf("%v: an empty input has %d rows", s, d.m.page().lay.input.h)
		}
	}
}

// Up and Down go through what was sent, Ctrl+R searches it and goes on to the next with each press; the draft stays until one is taken.
func TestHistoryAsInShells(t *testing.T) {
	d := newDriver(t, 100, 30)
	for _, text := range []string{"list the regions", "部署 the relay", "list the workers", "what does it cost"} {
		d.enter(text)
		d.f.answer(d.id())
		d.short()
	}
	d.typed("half")
	d.press("up", "up")
	if got := d.m.page().edit.Text(); got != "list the workers" {
		t.Errorf("Up twice: %q", got)
	}
	d.press("down", "down")
	if got := d.m.page().edit.Text(); got != "half" {
		t.Errorf("and back: %q", got)
	}
	d.press("ctrl+r")
	d.sees("HISTORY", "4 of 4")
	d.typed("list")
	d.sees("❯list the workers")
	d.press("ctrl+r")
	d.sees("❯list the regions")
	d.press("esc")
	if got := d.m.page().edit.Text(); got != "half" {
		t.Errorf("Esc left %q", got)
	}
	d.press("ctrl+r")
	d.typed("部")
	d.press("enter")
	if got := d.m.page().edit.Text(); got != "部署 the relay" {
		t.Errorf("taken: %q", got)
	}
	d.press("ctrl+_")
	if got := d.m.page().edit.Text(); got != "half" {
		t.Errorf("undo brings back %q", got)
	}
}

// Undo takes back what was typed, cleared or filled in, and never what was sent; redo does it again.
func TestUndoInTheInput(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.typed("one two")
	d.press("ctrl+w", "ctrl+c")
	if !d.m.page().edit.Empty() {
		t.Fatal("it is not clear")
	}
	for _, want := range []string{"one ", "one two", "one ", "one"} {
		d.press("ctrl+_")
		if got := d.m.page().edit.Text(); got != want {
			t.Errorf("undo: %q, want %q", got, want)
		}
	}
	d.press("alt+y", "alt+y")
	if got := d.m.page().edit.Text(); got != "one two" {
		t.Errorf("redo: %q", got)
	}
	d.press("enter")
	d.short()
	d.press("ctrl+_")
	if !d.m.page().edit.Empty() {
		t.Errorf("undo brings back what was sent: %q", d.m.page().edit.Text())
	}
}

// What an input method composes comes as one run of text, letters and marks; it is put in as it is, at the cursor, which stands behind it,
// and no key of ours takes a part of it.
func TestTextOfInputMethods(t *testing.T) {
	d := newDriver(t, 100, 30)
	for _, run := range []string{"你好", "？/", "j k q", "ni hao", "한글", "e\u0301", "👨‍👩‍👧"} {
		before := d.m.page().edit.Text()
		d.send(tea.KeyPressMsg{Code: tea.KeyExtended, Text: run})
		d.settle()
		if got := d.m.page().edit.Text(); got != before+run {
			t.Errorf("%q became %q", run, strings.TrimPrefix(got, before))
		}
	}
	c := d.m.View().Cursor
	if want := inputIndent + d.m.env.style.Metrics.Width(d.m.page().edit.Text()); c == nil || c.X != want {
		t.Errorf("the cursor is at %+v, want column %d", c, want)
	}
	if d.m.page().dialog != nil || d.m.page().focus != paneInput {
		t.Error("a key of ours took a part")
	}
}

// B020: who scrolled up stays where they are while text streams and when the size changes; what came is told, and End follows again.
func TestScrolledUpWhileTextStreams(t *testing.T) {
	d := newDriver(t, 80, 24)
	d.frames = d.straight
	id := d.id()
	d.enter("many lines")
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "line %d 行\n\n", i+1)
	}
	d.f.stream(id, b.String())
	d.f.answer(id)
	d.short()
	d.enter("and more")
	d.f.stream(id, "the answer begins\n\n")
	d.short()
	top := func() string { return strings.TrimSpace(d.grid()[3]) }
	for range 2000 {
		if top() == "line 100 行" {
			break
		}
		d.press("alt+up")
	}
	d.press("pgdown", "pgup")
	if top() != "line 100 行" {
		t.Fatalf("the top row is %q", top())
	}
	for i := range 50 {
		d.f.stream(id, fmt.Sprintf("delta %d\n\n", i))
		d.pass(40 * time.Millisecond)
		if top() != "line 100 行" {
			t.Fatalf("after %d deltas the top row is %q", i+1, top())
		}
	}
	d.sees("below")
	for _, s := range [][2]int{{120, 36}, {40, 12}, {80, 24}} {
		d.resize(s[0], s[1])
		d.short()
		if got := firstOfChat(d); got != "line 100 行" {
			t.Errorf("at %v the top of the chat is %q, not line 100:\n%s", s, got, d.screen())
		}
	}
	if top() != "line 100 行" {
		t.Errorf("after the sizes the top row is %q", top())
	}
	d.press("tab", "end")
	d.sees("delta 49")
	d.f.stream(id, "the very end\n\n")
	d.short()
	d.sees("the very end")
	d.seesNot("below")
	d.press("alt+up", "alt+up", "alt+up", "G")
	d.f.stream(id, "followed by G\n\n")
	d.short()
	d.sees("followed by G")
}

// firstOfChat is what stands at the top of the chat.
func firstOfChat(d *driver) string {
	chat := d.m.page().lay.chat
	for _, row := range d.grid()[chat.y : chat.y+chat.h] {
		if left, _, _ := strings.Cut(row, "⡇"); strings.TrimSpace(left) != "" {
			return strings.TrimSpace(left)
		}
	}
	return ""
}

// A session that is read again has each input once, with its paste still a paste.
func TestHistoryIsReadAgain(t *testing.T) {
	d := newDriver(t, 100, 30)
	long := strings.Repeat("a line\n", 40)
	d.enter("before")
	d.f.answer(d.id())
	d.short()
	d.send(tea.PasteMsg{Content: long})
	d.enter("x")
	d.f.answer(d.id())
	d.short()
	d.run(d.m.page().reload())
	d.short()
	d.press("up")
	d.sees("❯ [paste 1: 40 lines, 280 B]x")
	d.press("up")
	if got := d.m.page().edit.Text(); got != "before" {
		t.Errorf("the input before is %.40q", got)
	}
}
