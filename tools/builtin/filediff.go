package builtin

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// What a write changes, as counts for the model and as a diff for the user who is asked. Both are bounded: of very many lines only
// those at the beginning and at the end that stay are found, and only the first lines of a large change are written out.

const (
	// diffLines is how many lines stand around a change.
	diffLines = 3
	// shownLines is how many lines that come or go a diff shows.
	shownLines = 2000
	// pairedLines is how many lines, old and new ones together, are compared one by one.
	pairedLines = 100_000
)

// changes are the lines that come and go, with the text in which they do.
type changes struct {
	old   string
	edits []udiff.Edit // whole lines, in order
}

// changes compares what there is with what is to be written.
func (p plan) changes() changes {
	old, content := string(p.old), p.content
	if strings.Contains(old, "\n") {
		old, content = plainEnds(old), plainEnds(content) // they are the file's: nothing to be told
	}
	return changes{old, lineEdits(old, content, pairedLines)}
}

// lineEdits gives the changes between two texts. Of more than most lines those between what is the same at the beginning and at the end
// count as changed, all of them.
func lineEdits(old, content string, most int) []udiff.Edit {
	if strings.Count(old, "\n")+strings.Count(content, "\n") <= most {
		return udiff.Lines(old, content)
	}
	from, same := sameLines(old, content)
	to, with := len(old)-same, content[from:len(content)-same]
	switch {
	case from == to && with == "":
		return nil
	case strings.Count(old[from:to], "\n")+strings.Count(with, "\n") > most:
		return []udiff.Edit{{Start: from, End: to, New: with}}
	}
	edits := udiff.Lines(old[from:to], with)
	for i := range edits {
		edits[i].Start += from
		edits[i].End += from
	}
	return edits
}

// sameLines gives how many bytes two texts share in whole lines at the beginning, and how many behind these at the end.
func sameLines(a, b string) (first, last int) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n < len(a) || n < len(b) {
		n = strings.LastIndexByte(a[:n], '\n') + 1
	}
	first, a, b = n, a[n:], b[n:]
	for last < min(len(a), len(b)) && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	lineBegins := func(s string) bool { at := len(s) - last; return at == 0 || s[at-1] == '\n' }
	if !lineBegins(a) || !lineBegins(b) {
		last -= strings.IndexByte(a[len(a)-last:]+"\n", '\n') + 1
	}
	return first, max(last, 0)
}

// words counts the lines that come and go.
func (p plan) words(c changes) string {
	more, less := 0, 0
	for _, e := range c.edits {
		more += lineCount(e.New)
		less += lineCount(c.old[e.Start:e.End])
	}
	switch {
	case p.same():
		return "unchanged"
	case p.isNew():
		return fmt.Sprintf("new file, +%d", more)
	}
	return fmt.Sprintf("+%d -%d", more, less)
}

// diff writes the changes as a unified diff. Of more than most lines that come or go it has the first ones, and is not whole.
func (c changes) diff(most int) (text string, whole bool) {
	whole = true
	old, edits := c.old, c.edits[:0:0]
	for _, e := range c.edits {
		gone, fits := firstLines(c.old[e.Start:e.End], most)
		most -= lineCount(gone)
		come := ""
		if fits {
			come, fits = firstLines(e.New, most)
			most -= lineCount(come)
		}
		if gone != "" || come != "" {
			edits = append(edits, udiff.Edit{Start: e.Start, End: e.Start + len(gone), New: come})
		}
		if !fits { // nothing that follows it may look as if it stayed
			old, whole = c.old[:e.Start+len(gone)], false
			break
		}
	}
	text, err := udiff.ToUnified("old", "new", old, edits, diffLines)
	if err != nil {
		return "", whole // only for edits that do not fit the text
	}
	return text, whole
}

// firstLines gives the first lines of a text; fits is true when these are all.
func firstLines(s string, most int) (first string, fits bool) {
	at := 0
	for ; most > 0 && at < len(s); most-- {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			return s, true
		}
		at += end + 1
	}
	return s[:at], at == len(s)
}

// numbered writes a diff with the numbers of its lines in place of its headings.
func numbered(diff string) string {
	var b strings.Builder
	before, after := 0, 0
	for i, l := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		if i < 2 || l == "" {
			continue // the names
		}
		switch l[0] {
		case '@':
			if b.Len() > 0 {
				b.WriteString("   ...\n")
			}
			if n, err := fmt.Sscanf(l, "@@ -%d", &before); n != 1 || err != nil {
				before = 0
			}
			if at := strings.IndexByte(l, '+'); at > 0 {
				if n, err := fmt.Sscanf(l[at:], "+%d", &after); n != 1 || err != nil {
					after = 0
				}
			}
		case '-':
			fmt.Fprintf(&b, "%4d - %s\n", before, shown(l[1:]))
			before++
		case '+':
			fmt.Fprintf(&b, "%4d + %s\n", after, shown(l[1:]))
			after++
		case '\\':
			b.WriteString("       " + strings.TrimPrefix(l, "\\ ") + "\n")
		default:
			fmt.Fprintf(&b, "%4d   %s\n", after, shown(l[1:]))
			before++
			after++
		}
	}
	return b.String()
}
