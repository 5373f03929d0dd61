package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"vitrine/tools"
)

// manyLines is a text of n short lines, of which other texts have most too, in another order.
func manyLines(n, step int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%c\n", 'a'+(i*step+i/7)%3)
	}
	return b.String()
}

// A change of hundreds of thousands of lines is counted in whole and shown in part, which is said; what it takes grows with the
// texts and not with what would be shown of them.
func TestPreviewOfALargeChange(t *testing.T) {
	b := newBench(t, t.TempDir())
	old, now := manyLines(600_000, 1), manyLines(200_000, 2)
	b.put("f", old)
	b.must("read_file", "path", "f")
	text, err := b.tools["write_file"].(tools.Previewer).Preview(context.Background(), b.call("s"), args("path", "f", "content", now))
	if err != nil {
		t.Fatal(err)
	}
	head, diff, _ := strings.Cut(text, "\n")
	if !strings.HasSuffix(head, fmt.Sprintf(", of which the first %d lines are shown", shownLines)) {
		t.Errorf("head = %q", head)
	}
	changed, around := 0, 0
	for _, l := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		if strings.Contains(l, " - ") || strings.Contains(l, " + ") {
			changed++
		} else {
			around++
		}
	}
	if changed != shownLines || around > shownLines*2*(diffLines+1) {
		t.Errorf("%d lines that change, %d others", changed, around)
	}
	var more, less int
	if n, err := fmt.Sscanf(head, "f  +%d -%d", &more, &less); n != 2 || err != nil || less-more != 400_000 {
		t.Errorf("counts of %q", head)
	}
}

// What a large change takes is bound by the size of its texts; writing it all out would take several times that. When the new content
// stands in its place hardly anything is left to be done: what was asked to stop does not go on for long behind it.
func TestWorkOfALargeChange(t *testing.T) {
	b := newBench(t, t.TempDir())
	old, now := manyLines(600_000, 1), manyLines(200_000, 2)
	size := uint64(len(old) + len(now))
	b.put("f", old)
	b.must("read_file", "path", "f")
	before := allocated()
	if _, err := b.tools["write_file"].(tools.Previewer).Preview(context.Background(), b.call("s"), args("path", "f", "content", now)); err != nil {
		t.Fatal(err)
	}
	if n := (allocated() - before) / size; n > 20 {
		t.Errorf("a preview takes %d times the size of the texts", n)
	}
	var after uint64
	before = allocated()
	b.fault = func(point string) error {
		if point == "write.after" {
			after = allocated()
		}
		return nil
	}
	b.must("write_file", "path", "f", "content", now)
	left := allocated() - after
	if n := (after - before) / size; n > 25 || after == 0 {
		t.Errorf("a write takes %d times the size of the texts", n)
	}
	if left > 100_000 {
		t.Errorf("%d bytes are taken after the file was replaced", left)
	}
}

// allocated is how many bytes the program has asked for so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// Whatever is compared one by one: the changes lead from the one text to the other in whole lines, and of the lines that come and go a
// diff in part shows the first ones, in the same words as the whole.
func TestChangesProperty(t *testing.T) {
	text := rapid.Custom(func(r *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "-- d"}), 0, 30).Draw(r, "lines")
		s := strings.Join(lines, "\n")
		if rapid.Bool().Draw(r, "ended") && s != "" {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(r *rapid.T) {
		old := text.Draw(r, "old")
		now := text.Draw(r, "now")
		if rapid.Bool().Draw(r, "alike") {
			now = old[:rapid.IntRange(0, len(old)).Draw(r, "from")] + now + old[rapid.IntRange(0, len(old)).Draw(r, "to"):]
		}
		c := changes{old, lineEdits(old, now, rapid.SampledFrom([]int{0, 5, 1000}).Draw(r, "most"))}
		got, err := udiff.Apply(old, c.edits)
		if err != nil || got != now {
			r.Fatalf("%q, %v", got, err)
		}
		for _, e := range c.edits {
			if e.Start > 0 && old[e.Start-1] != '\n' || e.End > 0 && e.End < len(old) && old[e.End-1] != '\n' {
				r.Fatalf("in the middle of a line: %+v", e)
			}
		}
		all, whole := c.diff(1000)
		if !whole {
			r.Fatal("not whole")
		}
		most := rapid.IntRange(1, 20).Draw(r, "shown")
		part, whole := c.diff(most)
		want, is := changing(all), changing(part)
		if whole != (len(want) <= most) || strings.Join(is, "") != strings.Join(want[:min(most, len(want))], "") {
			r.Fatalf("%d of\n%s\nare, whole %v,\n%s", most, all, whole, part)
		}
		p := plan{info: aFile{}, old: []byte(old), content: now}
		more, less := 0, 0
		for _, l := range want {
			if l[0] == '+' {
				more++
			} else {
				less++
			}
		}
		if w := fmt.Sprintf("+%d -%d", more, less); p.words(c) != w && old != now {
			r.Fatalf("%s, want %s", p.words(c), w)
		}
	})
}

// aFile is some file.
type aFile struct{ fs.FileInfo }

// changing are the lines of a diff that come and go.
func changing(diff string) (lines []string) {
	for i, l := range strings.SplitAfter(diff, "\n") {
		if i > 1 && l != "" && (l[0] == '+' || l[0] == '-') {
			lines = append(lines, l)
		}
	}
	return lines
}
