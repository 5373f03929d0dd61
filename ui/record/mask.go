package record

import (
	"strings"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"vitrine/llm"
	"vitrine/ui/emulator"
)

// masker hides secrets in what a screen shows. A secret comes onto a screen in pieces: key by key, wrapped to the width of a pane,
// cut with an ellipsis, scrolled in half. So not the whole of it is looked for but every part of a certain length, in each row
// and over the end of a row of a pane to the next.
type masker struct {
	parts   map[string]bool    // of every secret, all that have the length of its parts
	lengths []int              // of the parts, in clusters
	pairs   map[[2]string]bool // two clusters that follow each other in a secret
	alone   []string           // secrets that are words: they are hidden only where they stand alone
	longest int                // of all, in bytes
}

// The length of a part, in clusters. What is shorter is shown: hiding each "sk-" would hide nothing.
const (
	leastPart = 6
	mostPart  = 8
)

// newMasker is nil when there is nothing to hide.
func newMasker(secrets []string) *masker {
	m := &masker{parts: map[string]bool{}, pairs: map[[2]string]bool{}}
	seen := map[int]bool{}
	for _, secret := range secrets {
		if len(secret) < llm.MinSecret {
			continue
		}
		for _, form := range llm.SecretForms(secret) {
			m.longest = max(m.longest, len(form))
			if form == secret && llm.Common(secret) {
				m.alone = append(m.alone, form)
				continue
			}
			all := clusters(form)
			m.add(all, seen)
			if strings.Contains(form, " ") { // where a row ends the blank is not seen
				m.add(clusters(strings.ReplaceAll(form, " ", "")), seen)
			}
		}
	}
	if m.longest == 0 {
		return nil
	}
	return m
}

// Hider gives what masks the secrets in a text, as they are masked in recordings.
func Hider(secrets []string) func(string) string {
	m := newMasker(secrets)
	if m == nil {
		return func(s string) string { return s }
	}
	return m.string
}

func (m *masker) add(all []string, seen map[int]bool) {
	n := min(mostPart, max(leastPart, len(all)*3/4), len(all))
	if !seen[n] {
		seen[n] = true
		m.lengths = append(m.lengths, n)
	}
	for i := range all {
		if i+n <= len(all) {
			m.parts[strings.Join(all[i:i+n], "")] = true
		}
		if i > 0 {
			m.pairs[[2]string{all[i-1], all[i]}] = true
		}
	}
}

func clusters(s string) (all []string) {
	for s != "" {
		c, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		all, s = append(all, c), s[len(c):]
	}
	return all
}

// row is the text of some cells.
type row struct {
	text string
	at   []int  // where each cluster begins, and the end
	cell []int  // the cell of each cluster
	hide []bool // by cluster
}

func (r *row) add(cell int, cluster string, b *strings.Builder) {
	r.at, r.cell = append(r.at, b.Len()), append(r.cell, cell)
	b.WriteString(cluster)
}

func (r *row) end(b *strings.Builder) {
	r.text = b.String()
	r.at = append(r.at, len(r.text))
	r.hide = make([]bool, len(r.cell))
}

// part is the text of n clusters from the i-th on.
func (r *row) part(i, n int) string { return r.text[r.at[i]:r.at[i+n]] }

// screen gives s with its secrets masked, and whether there were any.
func (m *masker) screen(s emulator.Screen) (emulator.Screen, bool) {
	w, h := s.Size()
	rows := make([]row, h)
	for y := range rows {
		var b strings.Builder
		b.Grow(w)
		rows[y] = row{at: make([]int, 0, w+1), cell: make([]int, 0, w)}
		for x := range w {
			switch c := s.Cell(x, y); {
			case c != "":
				rows[y].add(x, c, &b)
			case !s.Second(x, y):
				rows[y].add(x, " ", &b)
			}
		}
		rows[y].end(&b)
	}
	found := false
	var above []span
	for y := range rows {
		if m.search(&rows[y]) {
			found = true
		}
		here := rows[y].words()
		if y > 0 && m.join(&rows[y-1], &rows[y], above, here) {
			found = true
		}
		above = here
	}
	if !found {
		return s, false
	}
	return s.With(func(cells []uv.Cell) {
		for y := range rows {
			for i, hide := range rows[y].hide {
				if hide {
					cover(&cells[y*w+rows[y].cell[i]])
				}
			}
		}
	}), true
}

// cover puts a mask in the place of a cell's content, as wide as that was.
func cover(c *uv.Cell) {
	c.Link = uv.Link{}
	if c.Content = "*"; c.Width > 1 {
		c.Content = "\uFF0A" // the wide one
	}
}

// string gives a text with its secrets masked.
func (m *masker) string(s string) string {
	var r row
	var b strings.Builder
	for i, c := range clusters(s) {
		r.add(i, c, &b)
	}
	r.end(&b)
	if !m.search(&r) {
		return s
	}
	b.Reset()
	for i, hide := range r.hide {
		if hide {
			b.WriteByte('*')
		} else {
			b.WriteString(r.part(i, 1))
		}
	}
	return b.String()
}

// has says that a text holds a part of a secret.
func (m *masker) has(s string) bool { return m.string(s) != s }

// search marks the secrets within a row.
func (m *masker) search(r *row) (found bool) {
	for _, n := range m.lengths {
		for i := range max(0, len(r.cell)-n+1) {
			if m.parts[r.part(i, n)] {
				found = true
				r.mark(i, i+n)
			}
		}
	}
	for _, word := range m.alone {
		for from := 0; ; {
			i := strings.Index(r.text[from:], word)
			if i < 0 {
				break
			}
			i += from
			from = i + len(word)
			if standsAlone(r.text, i, from) {
				found = true
				for k := range r.cell {
					if r.at[k] >= i && r.at[k] < from {
						r.hide[k] = true
					}
				}
			}
		}
	}
	return found
}

func (r *row) mark(from, to int) {
	for k := from; k < to; k++ {
		r.hide[k] = true
	}
}

// standsAlone says that s[from:to] is no part of a longer word.
func standsAlone(s string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	behind, _ := utf8.DecodeRuneInString(s[to:])
	wordly := func(r rune) bool {
		return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	return !wordly(before) && !wordly(behind)
}

// span is some clusters of a row, to exclusive.
type span struct{ from, to int }

// words are what stands between blanks and the edges of panes.
func (r *row) words() (all []span) {
	from := -1
	for i := range r.cell {
		if blank := separates(r.part(i, 1)); blank && from >= 0 {
			all, from = append(all, span{from, i}), -1
		} else if !blank && from < 0 {
			from = i
		}
	}
	if from >= 0 {
		all = append(all, span{from, len(r.cell)})
	}
	return all
}

// separates is true for a blank and for what edges are drawn with.
func separates(c string) bool {
	r, _ := utf8.DecodeRuneInString(c)
	return r == ' ' || r == '|' || r >= 0x2500 && r <= 0x259f || r >= 0x2800 && r <= 0x28ff
}

// join marks what goes on from the end of a word in the row above to the beginning of one in the row below: which two belong
// together only the panes know.
func (m *masker) join(above, below *row, ends, begins []span) (found bool) {
	for _, a := range ends {
		for _, b := range begins {
			if !m.pairs[[2]string{above.part(a.to-1, 1), below.part(b.from, 1)}] {
				continue
			}
			for _, n := range m.lengths {
				for k := 1; k < n; k++ { // of the word above
					if k > a.to-a.from || n-k > b.to-b.from || !m.parts[above.part(a.to-k, k)+below.part(b.from, n-k)] {
						continue
					}
					found = true
					above.mark(a.to-k, a.to)
					below.mark(b.from, b.from+n-k)
				}
			}
		}
	}
	return found
}
