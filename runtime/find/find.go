// Package find says what a search looks for and where in a text it stands.
//
// A text is a row of words: letters and digits between everything else, in one case and without accents. Scripts that are written
// without spaces (Chinese, Japanese, Korean, Thai and its neighbours) have a word for each character, so that any part of a
// sentence is found and not only what a dictionary would cut out of it. A Query is what somebody typed, taken as data: no sign has a
// meaning of its own. Whoever keeps an index of words makes it of Words, so that what the index finds is what Spans shows.
package find

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// mostWord bounds the bytes of a word in an index; the rest of a longer one is a word of its own.
	mostWord = 64
	// mostPhrases and mostWords bound a query.
	mostPhrases = 16
	mostWords   = 64
)

// Span is a stretch of a text, in bytes.
type Span struct{ From, To int }

// Phrase is words that stand one after the other. Open says that the last one may go on.
type Phrase struct {
	Words []string
	Open  bool
}

// Query is what is looked for: all of its phrases, anywhere in a text. The zero Query finds nothing.
type Query struct {
	Phrases []Phrase
}

// Parse makes a query of what somebody typed. What stands between spaces is found as it stands there, the beginning of a word
// included if it is more than a letter; signs count as spaces within it.
func Parse(text string) Query {
	var q Query
	words := 0
	for _, part := range strings.Fields(text) {
		var p Phrase
		each(part, func(word string, _, end int) bool {
			p.Words = append(p.Words, word)
			last, _ := utf8.DecodeLastRuneInString(part[:end])
			p.Open = !alone(last) && utf8.RuneCountInString(word) > 1
			words++
			return words < mostWords
		})
		if len(p.Words) > 0 {
			q.Phrases = append(q.Phrases, p)
		}
		if len(q.Phrases) == mostPhrases || words >= mostWords {
			break
		}
	}
	return q
}

// Empty says that there is nothing to look for: no letter and no digit was typed.
func (q Query) Empty() bool { return len(q.Phrases) == 0 }

// Words gives the words of a text with a space between them, for an index.
func Words(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	each(text, func(word string, _, _ int) bool {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		return true
	})
	return b.String()
}

// Spans says where the phrases of the query stand in a text, in order and without overlaps, and whether all of them do. At most
// limit are given.
func (q Query) Spans(text string, limit int) (spans []Span, all bool) {
	if q.Empty() || text == "" {
		return nil, false
	}
	type at struct {
		word     string
		from, to int
	}
	longest := 0
	for _, p := range q.Phrases {
		longest = max(longest, len(p.Words))
	}
	found := make([]bool, len(q.Phrases))
	window := make([]at, 0, longest)
	each(text, func(word string, from, to int) bool {
		if len(window) == longest {
			copy(window, window[1:])
			window = window[:longest-1]
		}
		window = append(window, at{word, from, to})
		for i, p := range q.Phrases {
			n := len(p.Words)
			if n > len(window) {
				continue
			}
			tail := window[len(window)-n:]
			ok := true
			end := to
			for k, want := range p.Words {
				switch {
				case tail[k].word == want:
				case k == n-1 && p.Open && strings.HasPrefix(word, want):
					end = from + prefix(text[from:to], want)
				default:
					ok = false
				}
			}
			if !ok {
				continue
			}
			found[i] = true
			if len(spans) < limit {
				spans = add(spans, Span{tail[0].from, end})
			}
		}
		return true
	})
	for _, f := range found {
		if !f {
			return spans, false
		}
	}
	return spans, true
}

// add appends a span that ends behind the others, taking in those that it overlaps.
func add(spans []Span, s Span) []Span {
	for len(spans) > 0 && spans[len(spans)-1].To > s.From {
		last := spans[len(spans)-1]
		spans = spans[:len(spans)-1]
		s = Span{min(last.From, s.From), max(last.To, s.To)}
	}
	return append(spans, s)
}

// prefix is how many bytes of a word as written its folded beginning takes.
func prefix(written, folded string) int {
	n := 0
	for i, r := range written {
		if n >= len(folded) && !unicode.Is(unicode.Mn, r) {
			return i
		}
		n += len(fold(r))
	}
	return len(written)
}

// each calls f with every word of a text, folded, and where it stands, until f says no.
func each(text string, f func(word string, from, to int) bool) {
	var word []byte
	from := 0
	give := func(to int) bool {
		ok := len(word) == 0 || f(string(word), from, to)
		word = word[:0]
		return ok
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
				if c >= 'A' && c <= 'Z' {
					c += 'a' - 'A'
				}
				if len(word) >= mostWord && !give(i) {
					return
				}
				if len(word) == 0 {
					from = i
				}
				word = append(word, c)
			default:
				if !give(i) {
					return
				}
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case alone(r):
			if !give(i) || !f(fold(r), i, i+n) {
				return
			}
		case unicode.IsLetter(r), unicode.IsNumber(r):
			if len(word) >= mostWord && !give(i) {
				return
			}
			if len(word) == 0 {
				from = i
			}
			word = append(word, fold(r)...)
		case unicode.Is(unicode.M, r) && len(word) > 0: // an accent
		default:
			if !give(i) {
				return
			}
		}
		i += n
	}
	give(len(text))
}

// single are the scripts that are written without spaces.
var single = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// alone says that a character is a word of its own.
func alone(r rune) bool {
	return r >= 0x0e00 && (r >= 0x4e00 && r <= 0x9fff || unicode.In(r, single...) && (unicode.IsLetter(r) || unicode.IsNumber(r)))
}

// fold gives a letter or a digit in small letters, without accents and in its common form.
func fold(r rune) string {
	if r < utf8.RuneSelf {
		return strings.ToLower(string(r))
	}
	if r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 {
		return string(r)
	}
	out := make([]byte, 0, 8)
	for _, d := range norm.NFKD.String(string(unicode.ToLower(r))) {
		if unicode.IsLetter(d) || unicode.IsNumber(d) {
			out = utf8.AppendRune(out, unicode.ToLower(d))
		}
	}
	if len(out) == 0 {
		return string(r)
	}
	return string(out)
}
