package ui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/theme"
)

// longDiff is a change with three lines of context before it, one of them a line that begins with a sign, and too long for a
// third of any screen.
func longDiff() string {
	var b strings.Builder
	b.WriteString("deploy/relay.yaml  +1 -20, same as read\n")
	b.WriteString("   9   replicas: 8\n  10   - a line that begins with a sign\n  11   + and another\n")
	for i := range 20 {
		fmt.Fprintf(&b, "%4d - gone %d\n", 12+i, i)
	}
	b.WriteString("  12 + come\n  13   end: true\n")
	return b.String()
}

// B163: at every size the rows of a write that are shown begin at its first change; what is above and below is told, and the file
// is named.
func TestApprovalBeginsAtTheChange(t *testing.T) {
	for _, c := range []struct {
		w, h int
		rows []string // below the question, in order
	}{
		{200, 50, []string{"deploy/relay.yaml  +1 -20, same as read", " 12 - gone 0", " 13 - gone 1"}},
		{80, 24, []string{"deploy/relay.yaml  +1 -20, same as read", " 12 - gone 0", " 13 - gone 1"}},
		{80, 14, []string{" 12 - gone 0"}},
		{40, 12, []string{" 12 - gone 0"}},
	} {
		d := newDriver(t, c.w, c.h)
		d.frames = d.straight
		id := d.id()
		d.enter("go")
		d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "write_file", Effect: string(tools.Probeable), Preview: longDiff(),
			Arguments: json.RawMessage(`{"content":"one\ntwo","path":"deploy/relay.yaml"}`)})
		d.short()
		rows := d.grid()
		at := 0
		for i, r := range rows {
			if strings.Contains(r, "APPROVE") {
				at = i
			}
		}
		below := rows[at+1:]
		for i, want := range c.rows {
			if !strings.Contains(below[i], want) {
				t.Errorf("%dx%d: row %d is %q, want %q", c.w, c.h, i, below[i], want)
			}
		}
		screen := strings.Join(rows[at:], "\n")
		if strings.Contains(screen, "replicas: 8") || strings.Contains(screen, "begins with a sign") {
			t.Errorf("%dx%d shows what does not change:\n%s", c.w, c.h, screen)
		}
		more := []string{"3 rows above: v", "more rows: v shows all"}
		switch {
		case len(c.rows) == 1 && c.h == 12:
			more = []string{"27 more: v", "write_file deploy/"}
		case len(c.rows) == 1:
			more = []string{"24 more: v", "write_file deploy/relay.yaml", " 13 - gone 1"}
		}
		for _, want := range more {
			if !strings.Contains(screen, want) {
				t.Errorf("%dx%d does not say %q:\n%s", c.w, c.h, want, screen)
			}
		}
	}
}

// What fits is shown whole, from its first line; a preview without a change, such as why it would fail, begins at its first line.
func TestApprovalShowsAllThatFits(t *testing.T) {
	d := newDriver(t, 100, 40)
	id := d.id()
	d.enter("go")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "write_file", Preview: "f  +1 -1, same as read\n   1   a\n   2 - b\n   2 + c\n", Arguments: json.RawMessage(`{"path":"f"}`)})
	d.short()
	d.sees("f  +1 -1, same as read", "    1   a", "    2 - b", "    2 + c")
	d.seesNot(" above", "more row")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "write_file", Preview: "it would fail: " + strings.Repeat("no room ", 200), Arguments: json.RawMessage(`{"path":"f"}`)})
	d.resize(40, 12)
	d.short()
	d.sees("it would fail: no room", "more: v")
	d.resize(80, 24)
	d.sees("path  f", "it would fail: no room", "more rows: v shows all")
	d.seesNot(" above")
}

// The sign of a line stands behind its number. What the line says is not taken for one.
func TestDiffSign(t *testing.T) {
	for l, want := range map[string]string{
		"  12 + x": "+", "  12 - x": "-", "  12   x": " ", "  12   - x": " ", "  12   + x": " ", "12345 - x": "-", "   1 +": "+", "   1 + ": "+",
		"   1   ": " ", "": "", "   ...": "", "- x": "", "+ x": "", "   + x": "", "12": "", "12 ": "", "12 +x": "", "12+ x": "",
		"       No newline at end of file": "", "f  +2 -1, same as read": "", "2024 - 05": "-",
	} {
		sign, ok := diffSign(l)
		if got := strings.Trim(string(sign), "\x00"); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", l, got, ok, want)
		}
	}
	d := newDriver(t, 100, 30)
	c := d.m.page().seenCall(trace.ApprovalData{Preview: "head\n   1   - a\n   2   + b\n   3 + - c\n   4 - + d\n   5   e\n"})
	want := []theme.Role{theme.Text, theme.Text, theme.Text, theme.Accent, theme.Error, theme.Text}
	for i, spans := range c.preview {
		if spans[0].Role != want[i] {
			t.Errorf("row %d %q has role %v, want %v", i, spans[0].Text, spans[0].Role, want[i])
		}
	}
	if c.first != 3 || c.head != "head" {
		t.Errorf("the first change is in row %d, below %q", c.first, c.head)
	}
}

// What became of a call is asked with all of its arguments in sight, or with a word on what is not, and the key that shows it all:
// nobody judges what they cannot see.
func TestTheOutcomeQuestionShowsAll(t *testing.T) {
	args := `{"to":"ann","amount":12,"note":"` + strings.Repeat("line after line\\n", 40) + `","from":"the last\u202e one"}`
	for _, s := range [][2]int{{200, 50}, {80, 24}, {60, 18}, {40, 12}} {
		d := newDriver(t, s[0], s[1], func(o *Options, f *fake) {
			f.unknown("s", runtime.CallRow{ID: "c1", RunID: "r", Name: "pay", Arguments: args, Effect: tools.SideEffect, Status: runtime.CallStarted},
				runtime.CallRow{ID: "c2", RunID: "r", Name: "mail", Arguments: `{"to":"bob"}`, Effect: tools.SideEffect, Status: runtime.CallStarted})
			o.Session = "s"
		})
		d.pass(time.Second)
		d.sees("pay ran", "1 of 2", "v all")
		if screen := d.screen(); !strings.Contains(screen, "more rows: v") && !strings.Contains(screen, "more: v") {
			t.Errorf("%v: it is not said that there is more:\n%s", s, screen)
		}
		if s[1] >= 24 {
			d.sees("to      ann", "amount  12")
		}
		d.answer("v")
		d.sees("RAN, P", "pay has effects", "ann")
		d.press("G")
		d.sees("the last<U+202E> one")
		d.press("esc")
		d.pass(time.Second)
		d.answer("y")
		d.sees("mail ran", "2 of 2")
		if s[1] >= 18 {
			d.sees("to  bob")
			d.seesNot("more: v", "more rows: v")
		}
	}
}
