package find

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Excerpt gives a stretch of a text on one line, with the first place where the query stands, of about size characters, and where in
// the stretch the hits are. The cut signs say what is left out.
func (q Query) Excerpt(text string, size int, cut string) (line string, spans []Span) {
	const most = 64
	hits, _ := q.Spans(text, most)
	from, to := 0, len(text)
	if len(hits) > 0 {
		from = back(text, hits[0].From, size/4)
	}
	if end := ahead(text, from, size); end < to {
		to = end
	}
	var b strings.Builder
	if strings.TrimSpace(text[:from]) != "" {
		b.WriteString(cut)
	}
	next := 0
	var open bool
	space := true
	for i := from; i < to; {
		r, n := utf8.DecodeRuneInString(text[i:])
		for next < len(hits) && hits[next].To <= i {
			if open {
				spans[len(spans)-1].To = b.Len()
			}
			open = false
			next++
		}
		if next < len(hits) && !open && hits[next].From <= i {
			spans, open = append(spans, Span{From: b.Len()}), true
		}
		switch {
		case unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
		case unicode.IsControl(r):
		default:
			b.WriteString(text[i : i+n])
		}
		space = unicode.IsSpace(r)
		i += n
	}
	if open {
		spans[len(spans)-1].To = b.Len()
	}
	if strings.TrimSpace(text[to:]) != "" {
		b.WriteString(cut)
	}
	return b.String(), spans
}

// back goes n characters back, and then to the beginning of a word, if one is near.
func back(text string, hit, n int) int {
	at := hit
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	if at == 0 {
		return 0
	}
	if i := strings.IndexAny(text[at:], " \n"); i >= 0 && i < 12 && at+i+1 <= hit {
		return at + i + 1
	}
	return at
}

// ahead goes n characters ahead.
func ahead(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
