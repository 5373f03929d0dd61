package list

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type block struct {
	name    string
	rows    int
	version uint64
	renders int
}

func (b *block) Version() uint64  { return b.version }
func (b *block) Estimate(int) int { return 2 }
func (b *block) Render(w int, sel bool) []string {
	b.renders++
	n := b.rows
	if w > 0 && w < 10 {
		n *= 2 // narrow: every row wraps
	}
	out := make([]string, n)
	for i := range out {
		mark := ""
		if sel {
			mark = ">"
		}
		out[i] = fmt.Sprintf("%s%s%d", mark, b.name, i)
	}
	return out
}

func gap(a, b Item) int { return 1 }

func build(w, h int, heights ...int) *List {
	l := New(gap)
	l.SetSize(w, h)
	for i, n := range heights {
		l.Append(&block{name: string(rune('a' + i)), rows: n})
	}
	return l
}

func TestFollow(t *testing.T) {
	l := build(20, 4, 2, 2, 2)
	if d := cmp.Diff([]string{"b1", "", "c0", "c1"}, l.View()); d != "" {
		t.Fatal(d)
	}
	l.Append(&block{name: "d", rows: 1})
	if d := cmp.Diff([]string{"c0", "c1", "", "d0"}, l.View()); d != "" {
		t.Fatal(d)
	}
	l.ScrollRows(-1)
	if d := cmp.Diff([]string{"", "c0", "c1", ""}, l.View()); d != "" {
		t.Fatal(d)
	}
	l.Append(&block{name: "e", rows: 3})
	if d := cmp.Diff([]string{"", "c0", "c1", ""}, l.View()); d != "" {
		t.Fatal(d)
	}
	if l.Following() || l.New() != 1 || l.PagesUp() < 1 {
		t.Fatalf("following %v, new %d, pages %d", l.Following(), l.New(), l.PagesUp())
	}
	l.ScrollRows(100)
	if !l.Following() || l.New() != 0 || l.View()[3] != "e2" {
		t.Fatalf("following %v, new %d, %q", l.Following(), l.New(), l.View())
	}
	l.Home()
	if got := l.View()[0]; got != "a0" || !l.AtTop() || l.Following() {
		t.Fatalf("after Home %q", got)
	}
	l.End()
	if got := l.View()[3]; got != "e2" {
		t.Fatalf("after End %q", got)
	}
}

func TestSameSlice(t *testing.T) {
	l := build(20, 4, 2, 2, 2)
	a, b := l.View(), l.View()
	if &a[0] != &b[0] {
		t.Fatal("nothing changed, yet another slice")
	}
	last := l.Item(2).(*block)
	last.rows, last.version = 3, 1
	if c := l.View(); &c[0] == &a[0] || c[3] != "c2" {
		t.Fatalf("growth is not shown: %q", c)
	}
	l.Invalidate()
	if c := l.View(); &c[0] == &a[0] {
		t.Fatal("a new look is not shown")
	}
}

func TestOnlyVisibleRendered(t *testing.T) {
	l := New(gap)
	l.SetSize(20, 10)
	var blocks []*block
	for i := range 1000 {
		b := &block{name: fmt.Sprint(i, "."), rows: 3}
		blocks = append(blocks, b)
		l.Append(b)
	}
	l.View()
	n := 0
	for _, b := range blocks {
		n += b.renders
	}
	if n > 5 {
		t.Errorf("%d blocks rendered for one screen", n)
	}
	for range 500 {
		l.ScrollPages(-1)
		l.View()
	}
	if l.cachedRows > maxCached+100 {
		t.Errorf("%d rows are kept", l.cachedRows)
	}
	if !l.AtTop() {
		t.Error("the top was not reached")
	}
}

func TestStablePlace(t *testing.T) {
	l := build(20, 4, 5, 5, 5, 5)
	l.View()
	l.Home()
	l.ScrollRows(8) // in the middle of b
	want := slices.Clone(l.View())
	if want[0] != "b2" {
		t.Fatalf("at %q", want)
	}
	l.Prepend(&block{name: "y", rows: 3}, &block{name: "z", rows: 4})
	if d := cmp.Diff(want, l.View()); d != "" {
		t.Errorf("prepend moved the text: %s", d)
	}
	above := l.Item(0).(*block)
	above.rows, above.version = 9, 1
	if d := cmp.Diff(want, l.View()); d != "" {
		t.Errorf("growth above moved the text: %s", d)
	}
	l.SetSize(5, 4)
	if got := l.View()[0]; got != "b4" {
		t.Errorf("narrower: the top is %q", got)
	}
	l.SetSize(20, 4)
	if d := cmp.Diff(want, l.View()); d != "" {
		t.Errorf("wide again: %s", d)
	}
	l.Home()
	l.View()
	l.Prepend(&block{name: "x", rows: 1})
	if got := l.View()[0]; got != "y0" {
		t.Errorf("prepend at the very top shows %q", got)
	}
	l.Remove(0)
	if got := l.View()[0]; got != "y0" {
		t.Errorf("remove above shows %q", got)
	}
}

func TestSelect(t *testing.T) {
	l := build(20, 4, 3, 3, 3, 3)
	l.View()
	l.Select(1)
	if d := cmp.Diff([]string{">b0", ">b1", ">b2", ""}, l.View()); d != "" {
		t.Fatal(d)
	}
	l.Select(2)
	if d := cmp.Diff([]string{"", ">c0", ">c1", ">c2"}, l.View()); d != "" {
		t.Fatal(d)
	}
	if i, row, ok := l.At(3); !ok || i != 2 || row != 2 {
		t.Fatalf("At(3) = %d %d %v", i, row, ok)
	}
	if _, _, ok := l.At(0); ok {
		t.Fatal("a gap row is no block")
	}
	l.Select(-1)
	if l.Selected() != -1 || strings.Contains(strings.Join(l.View(), ""), ">") {
		t.Fatal("still selected")
	}
}

// The gap at the top of the screen goes with the block above it, also when an empty block stands between.
func TestGapBehindAnEmptyBlock(t *testing.T) {
	l := New(gap)
	l.Append(&block{name: "e"}, &block{name: "n", rows: 5})
	l.Home()
	l.View()
	above := &block{name: "a", rows: 2}
	l.Prepend(above)
	l.View()
	l.SetSize(20, 2)
	if d := cmp.Diff([]string{"", "n0"}, l.View()); d != "" {
		t.Fatal(d)
	}
	above.rows, above.version = 0, above.version+1
	if d := cmp.Diff([]string{"n0", "n1"}, l.View()); d != "" {
		t.Error(d)
	}
}

func TestAnySequence(t *testing.T) { // B017
	rapid.Check(t, func(t *rapid.T) {
		l := New(gap)
		n := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			x := rapid.IntRange(-30, 30).Draw(t, "x")
			switch rapid.IntRange(0, 11).Draw(t, "op") {
			case 0, 1:
				n++
				l.Append(&block{name: fmt.Sprint("n", n, "."), rows: rapid.IntRange(0, 6).Draw(t, "rows")})
			case 2:
				n++
				l.Prepend(&block{name: fmt.Sprint("n", n, "."), rows: rapid.IntRange(0, 6).Draw(t, "rows")})
			case 3:
				l.Remove(x)
			case 4, 5:
				l.ScrollRows(x)
			case 6:
				l.SetSize(x, rapid.IntRange(-2, 12).Draw(t, "h"))
			case 7:
				l.Home()
			case 8:
				l.End()
			case 9:
				l.Select(x)
			case 10:
				if l.Len() > 0 {
					b := l.Item(((x % l.Len()) + l.Len()) % l.Len()).(*block)
					b.rows, b.version = max(0, b.rows+x%4), b.version+1
				}
			case 11:
				l.Insert(x, &block{name: fmt.Sprint("i", n, "."), rows: 2})
				n++
			}
			rows := l.View()
			if len(rows) > l.h {
				t.Fatalf("%d rows in a height of %d", len(rows), l.h)
			}
			total := 0
			for i := range l.Len() {
				start, end := l.extent(i)
				total += end - start
			}
			if want := min(total, l.h); len(rows) != want {
				t.Fatalf("%d rows on the screen, want %d of %d", len(rows), want, total)
			}
			full := whole(l)
			if !contains(full, rows) {
				t.Fatalf("the screen %q is no part of %q", rows, full)
			}
			if l.Following() && total >= l.h && l.h > 0 && !slices.Equal(rows, full[len(full)-l.h:]) {
				t.Fatalf("following, yet %q", rows)
			}
			l.PagesUp()
			l.Visible()
			l.At(x)
		}
	})
}

// whole is what an endless screen would show.
func whole(l *List) []string {
	var out []string
	for i := range l.Len() {
		start, end := l.extent(i)
		for r := start; r < end; r++ {
			if r < 0 {
				out = append(out, "")
			} else {
				out = append(out, l.render(i)[r])
			}
		}
	}
	return out
}

func contains(full, part []string) bool {
	for i := 0; i+len(part) <= len(full); i++ {
		if slices.Equal(full[i:i+len(part)], part) {
			return true
		}
	}
	return len(part) == 0
}

func BenchmarkViewUnchanged(b *testing.B) {
	l := build(80, 40, 10, 10, 10, 10, 10, 10, 10)
	l.View()
	b.ReportAllocs()
	for range b.N {
		l.View()
	}
}
