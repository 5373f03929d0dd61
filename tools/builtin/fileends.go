package builtin

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// A model sees lines without what ends them and seldom writes CRLF of its own accord, so line ends are the file's affair, line
// by line: a line that stays keeps its end, one that takes another's place gets that one's, one that is new the end of the line
// above it. Only whether the last line is ended at all is as the model wrote it. A file without any line end, and a new one, get
// those of the model.

// inForm gives text the byte order mark and the line ends of the old content. Applied to its own result it changes nothing.
func inForm(old []byte, text string) string {
	words := strings.TrimLeft(string(old), bom)
	return string(old[:len(old)-len(words)]) + endsOf(words, strings.TrimLeft(text, bom))
}

// endsOf writes the lines of text with the line ends that old gives them.
func endsOf(old, text string) string {
	sole, mixed := soleEnd(old)
	switch {
	case sole == "" || text == "":
		return text
	case !mixed: // no line needs to be paired
		return endedBy(sole, text)
	}
	had := lineEnds(old)
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	b.Grow(len(text) + len(lines))
	from, end := pairLines(old, text), had[0]
	for i, l := range lines {
		bare := bareLine(l)
		if at := from[i]; at >= 0 && had[at] != "" {
			end = had[at]
		}
		b.WriteString(bare)
		if len(bare) < len(l) {
			b.WriteString(end)
		}
	}
	return b.String()
}

// soleEnd is the first line end of a text, empty when it has none; mixed says that it has others too.
func soleEnd(s string) (end string, mixed bool) {
	for l := range strings.SplitAfterSeq(s, "\n") {
		switch e := l[len(bareLine(l)):]; {
		case e == "" || e == end:
		case end == "":
			end = e
		default:
			return end, true
		}
	}
	return end, false
}

// endedBy ends every line of text with end, but for a last one that is not ended.
func endedBy(end, text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for l := range strings.SplitAfterSeq(text, "\n") {
		bare := bareLine(l)
		b.WriteString(bare)
		if len(bare) < len(l) {
			b.WriteString(end)
		}
	}
	return b.String()
}

// lineEnds gives the end of each line, empty for a last one without.
func lineEnds(s string) (ends []string) {
	for l := range strings.SplitAfterSeq(s, "\n") {
		if l != "" {
			ends = append(ends, l[len(bareLine(l)):])
		}
	}
	return ends
}

// bareLine takes the end off a line: a line feed with all carriage returns in front of it, which somebody's conversions may have
// made several.
func bareLine(l string) string {
	if bare, ok := strings.CutSuffix(l, "\n"); ok {
		return strings.TrimRight(bare, "\r")
	}
	return l
}

// pairLines gives for each line of text the line of old whose end it takes, -1 where there is none: the same line, or the one
// in whose place it stands.
func pairLines(old, text string) []int {
	was, is := bareLines(old), bareLines(text)
	from := make([]int, 0, len(is))
	at := 0 // in was
	same := func(until int) {
		for ; at < until; at++ {
			from = append(from, at)
		}
	}
	offset, place := 0, 0 // a line of was and where it begins
	a := strings.Join(was, "\n") + "\n"
	for _, e := range udiff.Lines(a, strings.Join(is, "\n")+"\n") {
		for ; offset < e.Start; place++ {
			offset += len(was[place]) + 1
		}
		same(place)
		for ; offset < e.End; place++ {
			offset += len(was[place]) + 1
		}
		n := strings.Count(e.New, "\n")
		from = append(from, pairPart(was[at:place], is[len(from):len(from)+n], at)...)
		at = place
	}
	same(len(was))
	return from
}

// pairPart pairs the lines of one change. The diff is made within bounds, so a large change may still hold lines that stay.
func pairPart(was, is []string, first int) []int {
	places := map[string][]int{}
	for i, l := range was {
		places[l] = append(places[l], i)
	}
	from := make([]int, len(is))
	next := 0 // of was
	for i, l := range is {
		list := places[l]
		for len(list) > 0 && list[0] < next {
			list = list[1:]
		}
		places[l] = list
		switch {
		case len(list) > 0:
			from[i], next = first+list[0], list[0]+1
		case i < len(was):
			from[i] = first + i
		default:
			from[i] = -1
		}
	}
	return from
}

// bareLines are the lines of s without their ends.
func bareLines(s string) (lines []string) {
	for l := range strings.SplitAfterSeq(s, "\n") {
		if l != "" {
			lines = append(lines, bareLine(l))
		}
	}
	return lines
}

// plainEnds ends every line of s with a line feed alone.
func plainEnds(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
