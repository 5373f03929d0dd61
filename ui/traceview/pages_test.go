package traceview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/trace"
	"vitrine/ui/traceview"
)

// story makes the events of many turns, with seqs without gaps.
func story(turns int) []trace.Event {
	var evs []trace.Event
	for t := 1; t <= turns; t++ {
		for _, e := range script(t, t0.Add(time.Duration(t)*time.Minute)) {
			e.Seq = int64(len(evs) + 1)
			evs = append(evs, e)
		}
	}
	return evs
}

// read gives what a view wants of the events.
func read(v *traceview.View, evs []trace.Event, size int64) bool {
	low, below, ok := v.WantsOlder()
	if !ok {
		return false
	}
	first := max(low-size, 1)
	v.Prepend(evs[first-1:below-1], first)
	return true
}

// Older events that are read page by page, wherever the pages end, show what they show when they are loaded at once.
func TestOlderPagesMakeTheSameTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := story(rapid.IntRange(1, 12).Draw(t, "turns"))
		from := rapid.IntRange(0, len(evs)-1).Draw(t, "from")
		v := view(60, 40)
		v.Load(evs[from:])
		for range 100 {
			v.Top()
			if !read(v, evs, int64(rapid.IntRange(1, 30).Draw(t, "size"))) {
				break
			}
		}
		all := view(60, 40)
		all.Load(evs)
		v.Top()
		all.Top()
		v.Bottom()
		all.Bottom()
		if d := cmp.Diff(plain(all), plain(v)); d != "" {
			t.Fatalf("from %d (-at once +in pages):\n%s", from, d)
		}
		if v.Low() != 1 {
			t.Fatalf("low %d", v.Low())
		}
	})
}

// What is selected and where it stands stays when older turns come in front; a stretch is kept short at its other end.
func TestPagesKeepThePlace(t *testing.T) {
	evs := story(2000)
	v := view(60, 24)
	v.LoadStretch(evs[9*999:9*1100], 9*999+1, 9*1100)
	if !v.SelectRef(1000, 2, "") || v.Selected().Kind != trace.KindModel || v.Turn() != 1000 {
		t.Fatalf("selected %+v", v.Selected())
	}
	for range 20 {
		v.Top()
		before := v.Turn()
		if !read(v, evs, 2000) {
			break
		}
		if v.Turn() != before {
			t.Fatalf("turn %d is selected, it was %d", v.Turn(), before)
		}
	}
	if v.Low() != 1 || v.High() > 8000+9*2 || v.High()%9 != 0 {
		t.Errorf("%d to %d", v.Low(), v.High())
	}
	for range 20 {
		v.Bottom()
		before, last := v.Turn(), min(v.High()+2000, int64(len(evs)))
		if v.High() == int64(len(evs)) {
			break
		}
		v.Append(evs[v.High():last], last)
		if v.Turn() != before {
			t.Fatalf("turn %d is selected, it was %d", v.Turn(), before)
		}
	}
	if v.High() != int64(len(evs)) || v.High()-v.Low() > 8000+9*2 || !v.Past() {
		t.Errorf("%d to %d", v.Low(), v.High())
	}
}

// Who scrolled to the top, with the selection still far below, sees the same rows when older turns come in front.
func TestPagesKeepWhatIsSeen(t *testing.T) {
	evs := story(60)
	v := view(60, 24)
	v.Load(evs[9*40:])
	v.Scroll(-1000)
	before := plain(v)
	if !read(v, evs, 9*5) || plain(v) != before {
		t.Errorf("it was\n%s\nand is\n%s", before, plain(v))
	}
	v.Scroll(-1)
	if !strings.Contains(plain(v), "turn 40 ") {
		t.Errorf("above that is\n%s", plain(v))
	}
}

// A filter takes kinds, failures and texts, all of them together, and leaves what they stand in.
func TestFilter(t *testing.T) {
	for _, c := range []struct {
		text  string
		found int
		rows  []string
	}{
		{"tool", 4, []string{"turn 6", "step 1", "search_mock", "calculator", "turn 7", "step 1", "search_mock", "calculator"}},
		{"error", 2, []string{"turn 6", "step 1", "calculator", "turn 7", "step 1", "calculator"}},
		{"tool price", 2, []string{"turn 6", "step 1", "search_mock", "turn 7", "step 1", "search_mock"}},
		{"TOOL 12*7", 2, []string{"turn 6", "step 1", "calculator", "turn 7", "step 1", "calculator"}},
		{"fold", 0, []string{"nothing fits fold"}},
		{"workers cost", 2, []string{"turn 6", "turn 7"}},
		{"", 0, []string{"turn 6", "turn 7", "context", "step 1", "model", "search_mock", "calculator", "step 2", "model"}},
	} {
		v := view(60, 30)
		v.Load(append(script(6, t0), script(7, t0.Add(time.Minute))...))
		v.SetFilter(c.text)
		var got []string
		for _, l := range strings.Split(plain(v), "\n")[2:20] {
			for _, name := range []string{"nothing fits fold", "turn 6", "turn 7", "context", "step 1", "step 2", "model", "search_mock", "calculator"} {
				if strings.Contains(l, name) {
					got = append(got, name)
					break
				}
			}
		}
		if i := len(c.rows); len(got) > i {
			got = got[:i] // the facts below
		}
		if d := cmp.Diff(c.rows, got); d != "" || v.Found() != c.found {
			t.Errorf("%q: %d found (-want +got):\n%s", c.text, v.Found(), d)
		}
	}
}

// A filter that finds little reads on by itself, for a while.
func TestFilterReadsOn(t *testing.T) {
	evs := story(500)
	v := view(60, 24)
	v.Load(evs[len(evs)-90:])
	v.SetFilter("no such thing")
	n := 0
	for read(v, evs, 90) {
		n++
	}
	if n != 20 {
		t.Errorf("%d pages", n)
	}
}
