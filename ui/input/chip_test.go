package input_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/ui/input"
)

func labels(c input.Chip) []string {
	return []string{fmt.Sprintf("[paste %d: %d lines, %d B]", c.Number, c.Lines, c.Bytes), fmt.Sprintf("[paste %d]", c.Number)}
}

func chipEditor(width int) *input.Editor {
	e := editor(width)
	e.SetLabel(labels)
	return e
}

var lines20 = strings.TrimSuffix(strings.Repeat("行 line\n", 20), "\n")

func shown(e *input.Editor) string {
	rows, _, _ := e.View(9999)
	var out []string
	for _, r := range rows {
		out = append(out, r.Text)
	}
	return strings.Join(out, "\n")
}

// B011: a large paste is one thing: it is shown as a label, moved over and deleted as one, and sent whole.
func TestAPasteIsAChip(t *testing.T) {
	e := chipEditor(60)
	typed(e, "see ")
	e.Paste(lines20)
	typed(e, " x")
	if got := shown(e); got != "see [paste 1: 20 lines, 179 B] x" {
		t.Errorf("shown %q", got)
	}
	if got := input.Plain(e.Text()); got != "see "+lines20+" x" {
		t.Errorf("sent %q", got)
	}
	if got := input.Typed(e.Text()); got != "see \uFFFC x" {
		t.Errorf("typed %q", got)
	}
	if got := input.Brief(e.Text(), func(c input.Chip) string { return labels(c)[1] }); got != "see [paste 1] x" {
		t.Errorf("brief %q", got)
	}
	press(e, left, left)
	if _, x, _ := e.View(1); x != 30 {
		t.Errorf("behind the chip the cursor is at %d, want 30", x)
	}
	press(e, left)
	if _, x, _ := e.View(1); x != 4 {
		t.Errorf("before the chip the cursor is at %d, want 4", x)
	}
	press(e, right, backspace)
	if got := e.Text(); got != "see  x" {
		t.Errorf("Backspace left %q", got)
	}
	rows, _, _ := e.View(1)
	if len(rows[0].Labels) != 0 {
		t.Error("a label is left")
	}
}

// The name of a file may hold anything, also what stands for a chip.
func TestAReplacementIsClean(t *testing.T) {
	e := chipEditor(60)
	e.Paste(lines20)
	typed(e, " @x")
	raw, at := e.Raw()
	e.Replace(strings.Index(raw, "@"), at, "@\x1b[31ma\U0010F005b\u202e.txt ")
	if got := input.Typed(e.Text()); got != "\uFFFC @ab.txt " {
		t.Errorf("typed %q", got)
	}
}

// A short paste is text, and one that is not shown as a chip anywhere is too.
func TestAShortPasteIsText(t *testing.T) {
	e := chipEditor(60)
	e.Paste("a\r\nb\rc\x1b[31m")
	if e.Text() != "a\nb\nc" || e.Chips() != 0 {
		t.Errorf("%q", e.Text())
	}
	e = editor(60)
	e.Paste(lines20)
	if e.Text() != lines20 {
		t.Errorf("%q", e.Text())
	}
}

// The label gets shorter where there is no room for it, and never breaks a row.
func TestAChipInANarrowInput(t *testing.T) {
	e := chipEditor(12)
	e.Paste(lines20)
	typed(e, "中文")
	if got := shown(e); got != "[paste 1]中\n文" {
		t.Errorf("%q", got)
	}
	e.SetWidth(5)
	if rows, x, _ := e.View(9); len(rows) == 0 || x > 5 {
		t.Errorf("%v %d", rows, x)
	}
}

// Undo goes over pastes, deletions, words and texts that were set; redo comes back; a new change ends it.
func TestUndo(t *testing.T) {
	e := chipEditor(60)
	typed(e, "hello world")
	e.Paste(lines20)
	press(e, backspace)
	undo, redo := ctrl('_'), tea.KeyPressMsg{Code: 'y', Mod: tea.ModAlt}
	var seen []string
	for range 7 {
		press(e, undo)
		seen = append(seen, shown(e))
	}
	want := []string{"hello world[paste 1: 20 lines, 179 B]", "hello world", "hello ", "hello", "", "", ""}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	press(e, redo, redo, redo)
	if got := shown(e); got != "hello world" {
		t.Errorf("redo gave %q", got)
	}
	typed(e, "!")
	if press(e, redo); e.Text() != "hello world!" {
		t.Errorf("redo behind a change gave %q", e.Text())
	}
	e.SetText("another")
	press(e, undo)
	if got := e.Text(); got != "hello world!" {
		t.Errorf("a text that was set: %q", got)
	}
	e.Reset("fresh")
	if press(e, undo); e.Text() != "fresh" {
		t.Errorf("a text that is new: %q", e.Text())
	}
}

// What is kept of a text makes the same chips again; a large text of another origin is one too.
func TestChipsComeBack(t *testing.T) {
	e := chipEditor(60)
	typed(e, "a ")
	e.Paste(lines20)
	typed(e, " b ")
	e.Paste(lines20 + "!")
	kept := e.Text()
	again := chipEditor(60)
	again.Reset(kept)
	if again.Text() != kept || shown(again) != shown(e) || again.Chips() != 2 {
		t.Errorf("%q", shown(again))
	}
	again.SetText(strings.Repeat("x", 65<<10))
	if again.Chips() != 1 {
		t.Error("a large text is no chip")
	}
	hostile := "x\U0010F000y\U0010FFFCz\U0010FFFD"
	e.Reset("")
	e.Insert(hostile)
	e.Paste(hostile)
	press(e, tea.KeyPressMsg{Code: '\U0010F000', Text: "\U0010F000"})
	e.SetText(e.Text() + input.Foreign(hostile))
	if e.Text() != "xyzxyzxyz" {
		t.Errorf("characters of ours came in: %q", e.Text())
	}
	e.Reset("")
	if e.Paste(strings.Repeat(hostile+"\n", 50)); input.Plain(e.Text()) != strings.Repeat("xyz\n", 50) || e.Chips() != 1 {
		t.Errorf("characters of ours came in with a large paste: %.40q", e.Text())
	}
}

func TestOpenAChip(t *testing.T) {
	e := chipEditor(60)
	if ok, _ := e.OpenChip(); ok {
		t.Error("opened what is not there")
	}
	typed(e, "a ")
	e.Paste(lines20)
	typed(e, " b")
	if ok, room := e.OpenChip(); !ok || !room || e.Text() != "a "+lines20+" b" {
		t.Errorf("%v %v %q", ok, room, e.Text())
	}
	e.Undo()
	if e.Chips() != 1 {
		t.Error("undo does not close it again")
	}
	e.Paste(strings.Repeat("x", 1<<20))
	if ok, room := e.OpenChip(); !ok || room {
		t.Errorf("%v %v for one that is too large", ok, room)
	}
	if e.Paste(strings.Repeat("y", input.MaxBytes)) {
		t.Error("a paste beyond the bound was taken")
	}
	if !strings.HasPrefix(e.Text(), "a ") || e.Chips() != 2 {
		t.Error("a paste that was refused changed the text")
	}
}

// A paste that comes back from another editor is a chip still, when it was left alone.
func TestRechip(t *testing.T) {
	e := chipEditor(60)
	typed(e, "a ")
	e.Paste(lines20)
	typed(e, " b")
	for after, want := range map[string]string{
		"A " + lines20 + " B": "A [paste 1: 20 lines, 179 B] B", "gone": "gone", lines20: "[paste 1: 20 lines, 179 B]",
	} {
		again := chipEditor(60)
		again.SetText(input.Rechip(e.Text(), after))
		if shown(again) != want || input.Plain(again.Text()) != after {
			t.Errorf("%q is shown as %q", after, shown(again))
		}
	}
}

// Words of Chinese and of other scripts are moved over apart; a chip is a word.
func TestWordMoves(t *testing.T) {
	e := chipEditor(99)
	e.Paste(lines20)
	typed(e, "你好world，再见 e\u0301te\u0301")
	var at []int
	for range 7 {
		_, x, _ := e.View(1)
		at = append(at, x-len("[paste 1: 20 lines, 179 B]"))
		press(e, tea.KeyPressMsg{Code: tea.KeyLeft, Mod: tea.ModCtrl})
	}
	if diff := cmp.Diff([]int{19, 16, 11, 4, 0, -26, -26}, at); diff != "" {
		t.Error(diff)
	}
	at = nil
	for range 6 {
		press(e, tea.KeyPressMsg{Code: tea.KeyRight, Mod: tea.ModCtrl})
		_, x, _ := e.View(1)
		at = append(at, x-26)
	}
	if diff := cmp.Diff([]int{0, 4, 9, 15, 19, 19}, at); diff != "" {
		t.Error(diff)
	}
	press(e, ctrl('w'))
	if got := shown(e); !strings.HasSuffix(got, "再见 ") {
		t.Errorf("%q", got)
	}
}

// Whatever is changed, laying out what differs gives what laying out everything gives, and undo gives every text back.
func TestLayoutAndUndoProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(1, 20).Draw(t, "width")
		e := chipEditor(w)
		pieces := []string{"a", "word ", "中", "e\u0301", "👨‍👩‍👧", "\n", "long-word-that-wraps", "\n\n", "\t", lines20, "\u0301"}
		texts := []string{""}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				press(e, left)
			case 1:
				press(e, backspace)
			case 2:
				press(e, ctrl('w'))
			case 3:
				e.Up()
			case 4:
				press(e, ctrl('k'))
			case 5:
				press(e, ctrl('y'))
			case 6:
				e.OpenChip()
			default:
				e.Paste(rapid.SampledFrom(pieces).Draw(t, "piece"))
			}
			if text := e.Text(); text != texts[len(texts)-1] {
				texts = append(texts, text)
			}
			rows, x, y := e.View(9999)
			fresh := chipEditor(w)
			fresh.SetText(strings.Repeat("z", 3))
			fresh.Reset(e.Text())
			if fresh.Text() != e.Text() {
				t.Fatalf("set to %q it is %q", e.Text(), fresh.Text())
			}
			want, _, _ := fresh.View(9999)
			for i := range want { // numbers may differ
				if len(rows) != len(want) || len(rows[i].Labels) == 0 && rows[i].Text != want[i].Text || rows[i].Width > w && w > 9 {
					t.Fatalf("rows %v, want %v", rows, want)
				}
			}
			if x < 0 || x > w || y < 0 || y >= len(rows) {
				t.Fatalf("cursor %d,%d", x, y)
			}
		}
		for e.Undo() {
			if _, _, y := e.View(9999); y < 0 {
				t.Fatal("no cursor")
			}
		}
		if e.Text() != "" {
			t.Fatalf("undo ends at %q", e.Text())
		}
		for e.Redo() {
			e.View(3)
		}
		if e.Text() != texts[len(texts)-1] {
			t.Fatalf("redo ends at %q, want %q", e.Text(), texts[len(texts)-1])
		}
	})
}

func pasteOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%05d ", i)
		b.WriteString(strings.Repeat("汉字ab", 18))
		b.WriteString("zz\n")
	}
	return b.String()
}

// B011, B013: what a paste takes grows with its size and no faster, whatever it holds, and a key behind it is quick.
func TestLargePastesAreQuick(t *testing.T) {
	took := func(f func()) time.Duration {
		best := time.Hour
		for range 3 {
			start := time.Now()
			f()
			best = min(best, time.Since(start))
		}
		return best
	}
	small, large := pasteOf(2_000), pasteOf(20_000)
	paste := func(s string) func() {
		return func() {
			e := chipEditor(80)
			if !e.Paste(s) {
				t.Fatal("no room")
			}
			typed(e, "x")
			e.View(20)
			if input.Plain(e.Text()) != s+"x" {
				t.Fatal("not the text")
			}
		}
	}
	one, two := took(paste(small)), took(paste(large))
	if two > 40*one+time.Second { // a square would be a hundred times
		t.Errorf("2,000 lines take %v, 20,000 %v", one, two)
	}
	for _, s := range []string{strings.Repeat("\x1c", 100_000), strings.Repeat("\x1b", 100_000), strings.Repeat("\x1b[200~", 20_000), strings.Repeat("\x9b", 100_000), strings.Repeat("\u009b31", 50_000)} {
		e := chipEditor(80)
		if d := took(func() { e.Paste(s) }); d > time.Minute {
			t.Errorf("%.8q takes %v", s, d)
		}
		for _, r := range input.Plain(e.Text()) {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%.8q left %q", s, r)
				break
			}
		}
	}
	e := chipEditor(80)
	e.Paste(strings.Repeat("汉字ab\n", 60_000)) // what can still be opened
	e.OpenChip()
	e.View(20)
	if d := took(func() { typed(e, "x"); e.View(20) }); d > 20*time.Second {
		t.Errorf("a key in an open paste takes %v", d)
	}
}
