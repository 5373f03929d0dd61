package mention

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rank gives the names that hold the letters of a query in order, the best first, at most n: those whose last part begins with it,
// then those that hold it as it is, then those in which its letters stand at the beginnings of words. Case does not count.
func Rank(names []string, query string, n int) []string {
	query = strings.ToLower(strings.TrimPrefix(query, "./"))
	type hit struct {
		name  string
		score int
	}
	var hits []hit
	for _, name := range names {
		if s, ok := score(name, query); ok {
			hits = append(hits, hit{name, s})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.name), len(b.name)))
	})
	out := make([]string, 0, min(n, len(hits)))
	for _, h := range hits[:min(n, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// Points of a name.
const (
	pointsWhole  = 2000 // the last part is the query, but for its extension
	pointsBegins = 1000
	pointsHolds  = 500
	pointsStart  = 8 // a letter that begins a word
	pointsNext   = 4 // a letter right behind the one before
	deeper       = 2 // is taken away for each folder
)

// score says how well a name fits; ok is false when it does not.
func score(name, query string) (points int, ok bool) {
	low := strings.ToLower(name)
	base := path.Base(low)
	points = -deeper * strings.Count(name, "/")
	switch {
	case query == "":
		return points, true
	case base == query || strings.TrimSuffix(base, path.Ext(base)) == query || low == query:
		points += pointsWhole
	case strings.HasPrefix(base, query) || strings.HasPrefix(low, query):
		points += pointsBegins
	case strings.Contains(base, query):
		points += pointsHolds + pointsStart
	case strings.Contains(low, query):
		points += pointsHolds
	}
	at, next := 0, -1
	for _, q := range query {
		i := strings.IndexRune(low[at:], q)
		if i < 0 {
			return 0, false
		}
		i += at
		if i == next {
			points += pointsNext
		}
		if r, _ := utf8.DecodeLastRuneInString(low[:i]); i == 0 || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			points += pointsStart
		}
		at = i + utf8.RuneLen(q)
		next = at
	}
	return points, true
}
