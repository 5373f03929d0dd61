package runtime

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"vitrine/llm/attach"
)

// Bounds of a title in characters: one made from an input, and one given by the user.
const (
	madeTitle  = 40
	titleLimit = 60
)

// titleOf makes a session's title from its first input: its first line, in few words.
func titleOf(text string) string {
	line := ""
	for l := range strings.Lines(attach.Text(text)) {
		if line = strings.Join(strings.FieldsFunc(l, unprintable), " "); line != "" {
			break
		}
	}
	if cut := cutTitle(line, madeTitle); cut != line {
		if i := strings.LastIndexByte(cut, ' '); i > madeTitle/2 {
			cut = cut[:i]
		}
		line = strings.TrimRight(cut, " ,;:.")
	}
	if line == "" {
		return "untitled"
	}
	return line
}

// cutTitle keeps whole clusters of at most n characters together.
func cutTitle(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	end, used := 0, 0
	for g := graphemes.FromString(s); g.Next(); {
		if used += utf8.RuneCountInString(g.Value()); used > n {
			break
		}
		end += len(g.Value())
	}
	return s[:end]
}

// unprintable says that a title cannot hold r. A joiner may stand between what it joins.
func unprintable(r rune) bool { return r != '\u200d' && (!unicode.IsPrint(r) || unicode.IsSpace(r)) }
