package protocol

import "strings"

// label is what a line of the ReAct form starts with.
type label int

const (
	noLabel label = iota
	thoughtLabel
	actionLabel
	inputLabel
	observationLabel
	answerLabel
)

// labelWords are the words of labels, in lower case, also as a model that was asked in Chinese writes them.
var labelWords = []struct {
	word  string
	label label
}{
	{"thought", thoughtLabel}, {"action input", inputLabel}, {"action", actionLabel}, {"observation", observationLabel},
	{"final answer", answerLabel}, {"思考", thoughtLabel}, {"行动输入", inputLabel}, {"行动", actionLabel}, {"观察", observationLabel},
	{"最终答案", answerLabel},
}

// maxLabel is the longest label with what may stand around it, in bytes.
const maxLabel = 48

const wideColon = "："

// readLabel reads a label at the start of a line, with list marks, emphasis and a number allowed around the word. size is how
// much of the line it takes; more says that s may be the beginning of one.
func readLabel(s string) (l label, size int, more bool) {
	if len(s) > maxLabel {
		s = s[:maxLabel]
	}
	at := 0
	for at < len(s) && strings.IndexByte(" \t*#_>", s[at]) >= 0 {
		at++
	}
	rest := lower(s[at:])
	for _, w := range labelWords {
		if len(rest) < len(w.word) {
			more = more || strings.HasPrefix(w.word, rest)
			continue
		}
		if !strings.HasPrefix(rest, w.word) {
			continue
		}
		n := len(w.word)
		for n < len(rest) && strings.IndexByte(" 0123456789*_", rest[n]) >= 0 {
			n++
		}
		switch {
		case n == len(rest), strings.HasPrefix(wideColon, rest[n:]) && len(rest[n:]) < len(wideColon):
			more = true
		case rest[n] == ':':
			return w.label, at + n + 1, false
		case strings.HasPrefix(rest[n:], wideColon):
			return w.label, at + n + len(wideColon), false
		}
	}
	return noLabel, 0, more && len(s) < maxLabel
}

// lower folds ASCII letters only, so that lengths stay.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// readOpener looks for what a call as JSON may start with: a brace, in a code fence and a list or not. at is where the brace
// is; more says that it may still come.
func readOpener(s string) (at int, ok, more bool) {
	const fence = "```"
	i := 0
	if s[0] == '`' {
		if len(s) < len(fence) {
			return 0, false, strings.HasPrefix(fence, s)
		}
		if !strings.HasPrefix(s, fence) {
			return 0, false, false
		}
		for i = len(fence); i < len(s) && isWord(s[i]); i++ {
		}
		i = skipSpace(s, i)
	}
	if i < len(s) && s[i] == '[' {
		i = skipSpace(s, i+1)
	}
	switch {
	case i == len(s):
		return 0, false, len(s) < maxOpener
	case s[i] == '{':
		return i, true, false
	}
	return 0, false, false
}

// maxOpener bounds how much is held back before a brace.
const maxOpener = 256

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

func isWord(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
