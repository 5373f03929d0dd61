package ui

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/trace"
)

// The small touches that make the screen what it is, by their number in the design of the screens. 2 is held by TestKeysDoNotSpillOver
// and those beside it, 5, 7 and 8 by the tests of panes and chat, 9 by the recorder's.

// Touch 1: the mark is a glass case; while any tab works, also one that is not seen, a light goes round in it, and it stands still
// when none does.
func TestTouch1ALightGoesRound(t *testing.T) {
	d := newDriver(t, 100, 30)
	mark := func() string { return strings.Fields(d.grid()[0])[0] }
	if mark() != "⣏⣹" {
		t.Fatalf("at rest the mark is %q", mark())
	}
	d.enter("go")
	working := d.id()
	d.press("ctrl+x", "n")
	d.short()
	var round []string
	for range 8 {
		round = append(round, mark())
		d.pass(phaseLength)
	}
	one := strings.Join(round[:4], " ")
	if strings.Join(round[4:], " ") != one || !strings.Contains(one+" "+one, "⣟⣹ ⣏⣻ ⣏⣽ ⣯⣹") {
		t.Errorf("the light goes %q", round)
	}
	d.f.answer(working)
	d.pass(time.Second)
	if mark() != "⣏⣹" {
		t.Errorf("at rest again the mark is %q", mark())
	}
}

// Touch 3: what is typed shows in the meter before it is sent, as what it would add, and goes with the text. The number tells it too,
// so that it needs no colour.
func TestTouch3ADraftInTheMeter(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("hello")
	d.f.answer(d.id())
	d.pass(time.Second)
	meter := func() string { return d.grid()[1] }
	before := meter()
	d.typed(strings.Repeat("部署计划在星期五以前要写完 ", 60))
	with := meter()
	if strings.Count(with, "⣤") <= strings.Count(before, "⣤") || strings.Fields(with)[1] == strings.Fields(before)[1] || !strings.Contains(with, "~") {
		t.Errorf("the draft is not in the meter:\n%s\n%s", before, with)
	}
	d.press("ctrl+c")
	if meter() != before {
		t.Errorf("without the draft the meter is\n%s\nand was\n%s", meter(), before)
	}
}

// Touch 4: thin, then thick: the bar of a model call shows how long its first token took, live and after it.
func TestTouch4ThinThenThick(t *testing.T) {
	d := newDriver(t, 160, 44)
	bar := func() string {
		for _, r := range d.grid() {
			if i := strings.Index(r, " model "); i >= 0 && strings.ContainsAny(r[i:], "⠒⠿⠐⠸") {
				return strings.Map(func(r rune) rune {
					if strings.ContainsRune("⠒⠿⠐⠸⠂⠇", r) {
						return r
					}
					return -1
				}, r[i:])
			}
		}
		return ""
	}
	d.enter("go")
	d.pass(2 * time.Second)
	if got := bar(); !strings.Contains(got, "⠒⠒") || strings.ContainsAny(got, "⠿⠸") {
		t.Errorf("before its first token the bar is %q", got)
	}
	d.f.stream(d.id(), "words")
	d.pass(2 * time.Second)
	thin, thick, ok := strings.Cut(bar(), "⠿")
	if !ok || !strings.Contains(thin, "⠒") || strings.Contains(thick, "⠒") {
		t.Errorf("then it is %q", bar())
	}
}

// Touch 6: numbers count up in place: while a step streams for long, the edges of the panes, the columns of the trace and the hints
// stay where they are. So does what the status line tells: whatever the run does, its facts and their units stand where they stood.
func TestTouch6NumbersInPlace(t *testing.T) {
	sizes, pieces, silence := [][2]int{{160, 44}, {120, 36}, {80, 24}, {40, 12}}, 150, []time.Duration{5 * time.Second, time.Minute}
	if testing.Short() {
		sizes, pieces, silence = sizes[1:3], 30, silence[:1]
	}
	for _, size := range sizes {
		d := newDriver(t, size[0], size[1])
		d.enter("go")
		d.pass(time.Second)
		id, at := d.id(), d.columns()
		same := func(when string) {
			t.Helper()
			d.pass(time.Second)
			now := d.columns()
			maps.DeleteFunc(now, func(word string, _ int) bool { _, ok := at[word]; return !ok })
			if diff := cmp.Diff(at, now); diff != "" {
				t.Fatalf("%d columns, %s: %s\n%s", size[0], when, diff, d.screen())
			}
		}
		d.f.stream(id, "a")
		for n := range pieces {
			d.f.stream(id, strings.Repeat("a", n))
			same("while it streams")
		}
		if size[0] < 90 {
			delete(at, "? help") // for how long nothing came is more than a hint
		}
		if size[0] == 80 && !testing.Short() { // of which each second is drawn
			silence = append(silence, 11*time.Minute)
		}
		for _, silent := range silence {
			d.pass(silent)
			same("while nothing comes")
		}
		d.kept(id, 3)
		same("while the server only shows that it is alive")
		d.f.toolStart(id, "search_mock", `{"query":"x"}`)
		same("while a tool runs")
		d.tell(id, trace.LLMCallData{PromptTokens: new(31_124), CompletionTokens: new(22_000), CachedTokens: new(9), Cost: new(0.0123)})
		same("with what the call used")
		d.f.answer(id)
		delete(at, "? help") // Esc has nothing to cancel any more
		same("at its end")
	}
}

// columns is where on the status line its facts, units and first hint stand.
func (d *driver) columns() map[string]int {
	at, row := map[string]int{}, d.status()
	for _, word := range []string{"step ", "calls ", " of 8", "/8", " in ", " out ", " tokens", "? help"} {
		if i := strings.Index(row, word); i >= 0 {
			at[word] = len([]rune(row[:i]))
		}
	}
	return at
}

// Touch 10: quitting leaves a line that says how to come back.
func TestTouch10QuittingLeavesALine(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("one")
	d.f.answer(d.id())
	d.short()
	d.press("ctrl+x", "n")
	d.short()
	d.enter("two")
	d.f.answer(d.id())
	d.short()
	d.press("ctrl+x", "q")
	d.pass(time.Second)
	if !d.quit || d.m.Farewell() != "2 tabs kept: vitrine --continue" {
		t.Errorf("it has left: %v, with %q", d.quit, d.m.Farewell())
	}
}
