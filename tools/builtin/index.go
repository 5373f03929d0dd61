package builtin

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"

	"vitrine/tools"
)

// The parameters of BM25: how soon a repeated word stops to count, and how much long documents are held back.
const (
	bm25K = 1.2
	bm25B = 0.75
	// headWeight is how often a word of the title or the tags counts.
	headWeight = 4
	// sameLanguage lifts documents in the language of the query.
	sameLanguage = 1.25
)

// document is one text of the library.
type document struct {
	id, title, lang, body string
	tags                  []string
	counts                map[string]int
	length                int
}

// index finds documents by their words. It does not change after it was made.
type index struct {
	docs []document
	// spread is in how many documents a word stands.
	spread map[string]int
	mean   float64
}

// newIndex reads the Markdown files at the root of corpus.
func newIndex(corpus fs.FS) (*index, error) {
	names, err := fs.Glob(corpus, "*.md")
	if err != nil {
		return nil, fmt.Errorf("list the documents: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("list the documents: there are none")
	}
	slices.Sort(names)
	idx := &index{spread: map[string]int{}}
	total := 0
	for _, name := range names {
		text, err := fs.ReadFile(corpus, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		d, err := parseDocument(strings.TrimSuffix(path.Base(name), ".md"), string(text))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for w := range d.counts {
			idx.spread[w]++
		}
		total += d.length
		idx.docs = append(idx.docs, d)
	}
	idx.mean = float64(total) / float64(len(idx.docs))
	return idx, nil
}

// parseDocument reads a text with its front matter: lines of the form "key: value" between two lines of three dashes.
func parseDocument(id, text string) (document, error) {
	d := document{id: id, counts: map[string]int{}}
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !ok {
		return d, fmt.Errorf("no front matter")
	}
	head, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		return d, fmt.Errorf("the front matter does not end")
	}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "title":
			d.title = value
		case "lang":
			d.lang = value
		case "tags":
			for tag := range strings.SplitSeq(value, ",") {
				d.tags = append(d.tags, strings.TrimSpace(tag))
			}
		default:
			return d, fmt.Errorf("unknown front matter %q", line)
		}
	}
	d.body = strings.Join(strings.Fields(body), " ")
	if d.title == "" || d.lang == "" || d.body == "" {
		return d, fmt.Errorf("title, lang or text is missing")
	}
	for _, w := range terms(d.body) {
		d.counts[w]++
		d.length++
	}
	for _, w := range terms(d.title + " " + strings.Join(d.tags, " ")) {
		d.counts[w] += headWeight
		d.length++
	}
	return d, nil
}

// terms splits a text into what is compared: words in small letters without the commonest endings, pairs of neighbouring Han
// characters, and a Han character that stands alone. Words that say nothing are left out.
func terms(text string) []string {
	var out []string
	var word, han []rune
	flush := func() {
		if w := string(word); w != "" && !empty(w) {
			out = append(out, stem(w))
		}
		switch {
		case len(han) == 1:
			out = append(out, string(han))
		default:
			for i := 0; i+1 < len(han); i++ {
				if pair := string(han[i : i+2]); !empty(pair) {
					out = append(out, pair)
				}
			}
		}
		word, han = word[:0], han[:0]
	}
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			if len(word) > 0 {
				flush()
			}
			han = append(han, r)
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if len(han) > 0 {
				flush()
			}
			word = append(word, unicode.ToLower(r))
		default:
			flush()
		}
	}
	flush()
	return out
}

// stem takes off endings that only inflect, so that "retries" finds "retry" and "streaming" finds "stream".
func stem(w string) string {
	ascii := !strings.ContainsFunc(w, func(r rune) bool { return r > unicode.MaxASCII })
	if !ascii || len(w) < 4 {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	switch {
	case strings.HasSuffix(w, "ing") && len(w) > 6:
		w = undouble(w[:len(w)-3])
	case strings.HasSuffix(w, "ed") && len(w) > 5:
		w = undouble(w[:len(w)-2])
	}
	// "cache" and "caching" meet without their last e.
	if strings.HasSuffix(w, "e") && len(w) > 4 {
		w = w[:len(w)-1]
	}
	return w
}

// undouble makes "cancell" of "cancelled" meet "cancel".
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeious", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// empty reports words that are in every text and question.
func empty(w string) bool {
	switch w {
	case "a", "an", "the", "and", "or", "of", "to", "in", "on", "at", "by", "for", "with", "from", "as", "is", "are", "was", "be", "it", "its",
		"this", "that", "what", "which", "who", "how", "why", "when", "where", "do", "does", "did", "can", "could", "should", "would",
		"i", "me", "my", "you", "your", "we", "our", "us", "about", "tell", "explain", "please", "there", "not", "no", "if", "so", "into", "than", "then", "them", "they",
		"什么", "怎么", "如何", "为什", "么是", "是什", "怎样", "一个", "可以", "我们", "你们", "请问", "哪些", "关于", "介绍", "的是":
		return true
	}
	return false
}

// search gives the best documents that share a word with the query, the best first; equal scores in the order of ids.
func (idx *index) search(query string) []searchHit {
	words := terms(query)
	slices.Sort(words)
	words = slices.Compact(words)
	lang := "en"
	if strings.ContainsFunc(query, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		lang = "zh"
	}
	hits := []searchHit{}
	for i := range idx.docs {
		d := &idx.docs[i]
		score := idx.score(d, words)
		if score == 0 {
			continue
		}
		if d.lang == lang {
			score *= sameLanguage
		}
		hits = append(hits, searchHit{ID: d.id, Title: d.title, Lang: d.lang, Score: math.Round(score*1000) / 1000})
	}
	slices.SortFunc(hits, func(a, b searchHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	hits = hits[:min(len(hits), maxHits)]
	for i := range hits {
		at := slices.IndexFunc(idx.docs, func(d document) bool { return d.id == hits[i].ID })
		hits[i].Snippet = snippet(idx.docs[at].body, words)
	}
	return hits
}

func (idx *index) score(d *document, words []string) float64 {
	sum := 0.0
	n := float64(len(idx.docs))
	for _, w := range words {
		f := float64(d.counts[w])
		if f == 0 {
			continue
		}
		df := float64(idx.spread[w])
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		sum += idf * f * (bm25K + 1) / (f + bm25K*(1-bm25B+bm25B*float64(d.length)/idx.mean))
	}
	return sum
}

// snippet gives the sentence with the most different words of the query, the first one if none has any.
func snippet(body string, words []string) string {
	best, most := "", -1
	for _, s := range sentences(body) {
		have := terms(s)
		n := 0
		for _, w := range words {
			if slices.Contains(have, w) {
				n++
			}
		}
		if n > most {
			best, most = s, n
		}
	}
	return tools.CleanLine(best, maxSnippet)
}

// sentences splits behind 。！？ and behind a full stop, exclamation or question mark that a space follows.
func sentences(body string) []string {
	var out []string
	start := 0
	rs := []rune(body)
	for i, r := range rs {
		switch {
		case strings.ContainsRune("。！？", r):
		case strings.ContainsRune(".!?", r) && i+1 < len(rs) && rs[i+1] == ' ':
		default:
			continue
		}
		out = append(out, strings.TrimSpace(string(rs[start:i+1])))
		start = i + 1
	}
	if rest := strings.TrimSpace(string(rs[start:])); rest != "" {
		out = append(out, rest)
	}
	return out
}
