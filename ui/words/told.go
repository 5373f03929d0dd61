package words

import (
	"fmt"
	"strings"
	"sync"
)

// mostDepth is how deep texts within texts are translated.
const mostDepth = 6

// Tell translates a text that another part of the program made: the whole of it by its format, else the parts that it is joined
// of. What is not known stays as it is: names, data, what a server said.
func (l Lang) Tell(text string) string {
	if l != Chinese || text == "" {
		return text
	}
	return tell(text, mostDepth)
}

func tell(text string, depth int) string {
	if depth == 0 {
		return text
	}
	if zh, ok := whole(text, depth); ok {
		return zh
	}
	for _, j := range joints() {
		if head, tail, ok := strings.Cut(text, j.between); ok && head != "" && tail != "" {
			h, t := tell(head, depth-1), tell(tail, depth-1)
			if known(head, h) && known(tail, t) || known(head, h) && phrase(head) || known(tail, t) && phrase(tail) {
				return h + j.instead + t
			}
		}
	}
	if rest, ok := strings.CutSuffix(text, ")"); ok { // what stands behind a text in parentheses says where it comes from
		if i := strings.LastIndex(rest, " ("); i > 0 {
			if h := tell(rest[:i], depth-1); h != rest[:i] {
				return h + "（" + tell(rest[i+2:], depth-1) + "）"
			}
		}
	}
	return text
}

// joint is what joins two texts.
type joint struct{ between, instead string }

func joints() []joint { return []joint{{"; ", "；"}, {". ", "。"}, {": ", "："}, {", ", "，"}} }

// known says that a text was translated.
func known(text, zh string) bool { return text != zh }

// phrase says that a text is more than a word: one word alone in a text of others may be anything.
func phrase(text string) bool { return strings.Contains(text, " ") }

// whole translates a text that is one of the table's, or of one of its formats.
func whole(text string, depth int) (string, bool) {
	if zh, ok := exact()[text]; ok {
		return zh, true
	}
	for _, f := range formats()[text[0]] {
		if args, ok := f.match(text, depth); ok {
			return fmt.Sprintf(f.zh, args...), true
		}
	}
	for _, f := range formats()[0] {
		if args, ok := f.match(text, depth); ok {
			return fmt.Sprintf(f.zh, args...), true
		}
	}
	return "", false
}

// format is a format of told taken apart: the literal pieces, and the verb behind each but the last.
type format struct {
	pieces []string
	verbs  []byte
	zh     string // all its verbs are %s
}

// match finds what stands in the places of the verbs: digits for %d, else the shortest text that goes on as the format does; it is within one sentence.
func (f format) match(text string, depth int) ([]any, bool) {
	rest, ok := strings.CutPrefix(text, f.pieces[0])
	if !ok {
		return nil, false
	}
	var args []any
	for i, verb := range f.verbs {
		next := f.pieces[i+1]
		end := len(rest)
		switch {
		case next != "":
			end = strings.Index(rest, next)
			if i == len(f.verbs)-1 && strings.HasSuffix(rest, next) {
				end = len(rest) - len(next)
			}
		case i < len(f.verbs)-1:
			return nil, false // two verbs without a text between
		}
		if end <= 0 || strings.Contains(rest[:end], "; ") || f.pieces[0] == "" && (i == 0 && strings.Contains(rest[:end], ": ") || strings.Contains(rest[:end], ", ")) || !numeral(verb, rest[:end]) {
			return nil, false
		}
		args = append(args, tell(rest[:end], depth-1))
		rest = rest[end+len(next):]
	}
	return args, rest == ""
}

// numeral says that a text may stand in the place of a verb: of numbers only digits.
func numeral(verb byte, text string) bool {
	switch verb {
	case 'd':
		return strings.Trim(text, "-0123456789") == ""
	case 'f', 'g':
		return strings.Trim(text, "-.0123456789") == ""
	}
	return true
}

var exact = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for en, zh := range toldTable() {
		if verbs.MatchString(en) {
			continue
		}
		out[en] = zh
		if within := strings.ToLower(en[:1]) + strings.TrimSuffix(en[1:], "."); out[within] == "" { // as a part of a sentence
			out[within] = strings.TrimSuffix(zh, "。")
		}
	}
	return out
})

// formats are the table's formats by their first byte, under 0 those that begin with a verb; the longest literal first.
var formats = sync.OnceValue(func() map[byte][]format { return takenApart(toldTable()) })
