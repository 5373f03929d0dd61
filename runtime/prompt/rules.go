package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is pinned by rule: a sentence longer than maxRule characters is a text, not a rule, and one message gives at
// most maxRules.
const (
	maxRule  = 240
	maxRules = 8
)

// ruleWords mark a sentence that states a rule. Latin ones must stand as words.
var ruleWords = [...]string{
	"always", "never", "must", "must not", "mustn't", "only", "do not", "don't", "no matter what", "under no circumstances",
	"不要", "不能", "不许", "不可", "不得", "禁止", "切勿", "请勿", "别", "必须", "务必", "一定要", "只能", "只可", "总是", "永远", "始终", "每次都",
}

// Rules gives the sentences of a user's text that state rules, as they stand, in order, and what stands beside them in a short
// list of rules. They are pinned when the message is
// folded, so that no summary can lose them.
func Rules(text string) []string {
	var out []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		list := sentences(line)
		whole := isList(line, list)
		for _, s := range list {
			if len(out) == maxRules {
				return out
			}
			if utf8.RuneCountInString(s) <= maxRule && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "？") && (whole || isRule(s)) {
				out = append(out, s)
			}
		}
	}
	return out
}

// instructionWords begin a sentence that says how things are to be done. By itself it may be a task; beside a rule it is one.
var instructionWords = [...]string{
	"answer", "reply", "respond", "write", "speak", "use", "keep", "avoid", "prefer", "call me", "ask",
	"回答", "回复", "用", "请用", "使用", "请使用", "保持", "避免", "尽量", "称呼",
}

// isList says that a line is a list of rules: one is stated, and an instruction beside it. All of a short one belongs together.
func isList(line string, list []string) bool {
	rules, instructions := 0, 0
	for _, s := range list {
		switch {
		case isRule(s):
			rules++
		case startsWithAny(strings.ToLower(s), instructionWords[:]):
			instructions++
		}
	}
	return rules+instructions > 1 && rules > 0 && utf8.RuneCountInString(line) <= maxRule
}

func startsWithAny(low string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(low, w) && (w[0] >= utf8.RuneSelf || alone(low, 0, len(w))) {
			return true
		}
	}
	return false
}

// sentences splits a line after the marks that end a sentence. A full stop ends one only before a space or the line's end.
func sentences(line string) []string {
	var out []string
	start := 0
	take := func(end int) {
		if s := strings.TrimSpace(line[start:end]); s != "" {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？', '；':
			take(end)
		case '.', '!', '?', ';':
			if next, _ := utf8.DecodeRuneInString(line[end:]); end == len(line) || unicode.IsSpace(next) {
				take(end)
			}
		}
	}
	take(len(line))
	return out
}

func isRule(s string) bool {
	low := strings.ToLower(s)
	for _, w := range ruleWords {
		for from := 0; ; {
			i := strings.Index(low[from:], w)
			if i < 0 {
				break
			}
			i += from
			if w[0] >= utf8.RuneSelf || alone(low, i, i+len(w)) {
				return true
			}
			from = i + 1
		}
	}
	return false
}

// alone says that s[i:j] is not part of a longer word.
func alone(s string, i, j int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[j:])
	letter := func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) && r < 0x2E80
	}
	return !letter(before) && !letter(after)
}
