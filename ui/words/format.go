package words

import (
	"regexp"
	"slices"
	"strings"
)

// verbs are those of fmt, as the tables use them.
var verbs = regexp.MustCompile(`%(?:\[\d+\])?[-+# 0]*\d*(?:\.(?:\d+|\*))?[a-zA-Z%]`)

// takenApart makes the formats of a table ready to be matched.
func takenApart(table map[string]string) map[byte][]format {
	out := map[byte][]format{}
	for en, zh := range table {
		if !verbs.MatchString(en) {
			continue
		}
		f := format{zh: zh}
		at := 0
		piece := ""
		for _, loc := range verbs.FindAllStringIndex(en, -1) {
			piece += en[at:loc[0]]
			at = loc[1]
			if verb := en[loc[1]-1]; verb == '%' {
				piece += "%"
			} else {
				f.pieces, f.verbs = append(f.pieces, piece), append(f.verbs, verb)
				piece = ""
			}
		}
		f.pieces = append(f.pieces, piece+en[at:])
		first := byte(0)
		if f.pieces[0] != "" {
			first = f.pieces[0][0]
		}
		out[first] = append(out[first], f)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b format) int { // the order of a map is none
			if n := len(strings.Join(b.pieces, "")) - len(strings.Join(a.pieces, "")); n != 0 {
				return n
			}
			return strings.Compare(strings.Join(a.pieces, "%"), strings.Join(b.pieces, "%"))
		})
	}
	return out
}
