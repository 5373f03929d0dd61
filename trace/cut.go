package trace

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// cutStrings shortens the strings of tidy JSON to limit characters each; 0 is no limit.
func cutStrings(in []byte, limit int) []byte {
	if limit <= 0 || len(in) <= limit {
		return in
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		if in[i] != '"' {
			out = append(out, in[i])
			i++
			continue
		}
		end := stringEnd(in, i)
		out = append(out, cutToken(in[i:end], limit)...)
		i = end
	}
	return out
}

// stringEnd is the place after the string token that begins at start.
func stringEnd(in []byte, start int) int {
	for i := start + 1; i < len(in); i++ {
		switch in[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(in)
}

func cutToken(token []byte, limit int) []byte {
	if len(token)-2 <= limit {
		return token
	}
	var s string
	if json.Unmarshal(token, &s) != nil {
		return token
	}
	short, left := cutText(s, limit)
	if left == 0 {
		return token
	}
	cut, err := marshal(fmt.Sprintf("%s… [+%d characters]", short, left))
	if err != nil {
		return token
	}
	return tidy(cut)
}

// cutText shortens s to at most limit characters, between two graphemes, and says how many characters were left out.
func cutText(s string, limit int) (short string, left int) {
	total := utf8.RuneCountInString(s)
	if total <= limit {
		return s, 0
	}
	end, used := 0, 0
	for g := graphemes.FromString(s); g.Next(); {
		n := utf8.RuneCountInString(g.Value())
		if used+n > limit {
			break
		}
		used += n
		end += len(g.Value())
	}
	return s[:end], total - used
}
