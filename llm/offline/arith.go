package offline

import (
	"slices"
	"strings"
	"unicode"
)

// maxExpressions bounds the calculations of one clause.
const maxExpressions = 4

// expressions finds the arithmetic in a clause, written as the calculator reads it.
func expressions(c phrase) []string {
	runes := []rune(c.f)
	toks := lex(runes)
	if e := inWords(toks); e != "" {
		return []string{e}
	}
	var out []string
	for _, run := range runs(toks) {
		if e := expressionOf(run, runes); e != "" && len(out) < maxExpressions {
			out = append(out, e)
		}
	}
	return out
}

// runs are the longest rows of tokens that could be one expression.
func runs(toks []token) [][]token {
	var out [][]token
	var run []token
	flush := func() {
		if len(run) > 0 {
			out = append(out, run)
		}
		run = nil
	}
	for _, t := range toks {
		if t.kind == tokOther {
			flush()
			continue
		}
		if t.text == "" {
			continue
		}
		if n := len(run); n > 0 && operandEnds(run[n-1]) && (t.kind == tokNumber || t.kind == tokOpen) {
			if t.spaced || run[n-1].kind == tokNumber && t.kind == tokNumber {
				flush()
			} else {
				run = append(run, token{kind: tokOp, text: "*", from: t.from, to: t.from}) // 2(3+4)
			}
		}
		run = append(run, t)
	}
	flush()
	return out
}

func operandEnds(t token) bool {
	return t.kind == tokNumber || t.kind == tokClose || t.kind == tokPostfix
}

// expressionOf gives the expression of a run, or "" when it is none.
func expressionOf(run []token, runes []rune) string {
	run = trimOps(run)
	if len(run) < 2 {
		return ""
	}
	from, to := run[0].from, run[len(run)-1].to
	trigger := triggered(runes, from, to)
	run = trimParens(run, runes)
	if !valid(run) {
		if trigger && hasOperation(run) {
			return write(run) // the calculator says what is wrong with it
		}
		if run = longestValid(run); run == nil {
			return ""
		}
		from, to = run[0].from, run[len(run)-1].to
	}
	if !hasOperation(run) || !trigger && !convincing(run, runes[:from], runes[to:]) || dateLike(run) && !calcBefore(runes[:from]) {
		return ""
	}
	return write(run)
}

// trimOps cuts operators off the ends that have nothing to work on.
func trimOps(run []token) []token {
	for len(run) > 0 && (run[len(run)-1].kind == tokOp || run[len(run)-1].kind == tokOpen) {
		run = run[:len(run)-1]
	}
	for len(run) > 1 {
		t, n := run[0], run[1]
		sign := t.kind == tokOp && (t.text == "-" || t.text == "+") && (!n.spaced || t.word) && (n.kind == tokNumber || n.kind == tokOpen)
		if sign || t.kind == tokNumber || t.kind == tokOpen {
			break
		}
		run = run[1:]
	}
	return run
}

// trimParens drops a parenthesis at an end whose partner stands outside: "(what is 3+4)".
func trimParens(run []token, runes []rune) []token {
	for len(run) > 1 {
		open, shut := 0, 0
		for _, t := range run {
			switch t.kind {
			case tokOpen:
				open++
			case tokClose:
				shut++
			}
		}
		last := run[len(run)-1]
		switch {
		case shut > open && last.kind == tokClose && slices.Contains(runes[:run[0].from], '('):
			run = run[:len(run)-1]
		case open > shut && run[0].kind == tokOpen && slices.Contains(runes[last.to:], ')'):
			run = run[1:]
		default:
			return run
		}
	}
	return run
}

// hasOperation reports at least one operation.
func hasOperation(run []token) bool {
	numbers, ops := 0, 0
	for _, t := range run {
		switch {
		case t.kind == tokNumber:
			numbers++
		case t.kind == tokOp, t.kind == tokPostfix && !t.percentage:
			ops++
		}
		if t.kind == tokPostfix && !t.percentage {
			numbers++
		}
	}
	return numbers > 1 && ops > 0
}

// valid reports that the tokens are one expression.
func valid(run []token) bool {
	depth := 0
	operand := false // whether an operand has just ended
	for _, t := range run {
		switch t.kind {
		case tokNumber:
			if operand {
				return false
			}
			operand = true
		case tokOpen:
			if operand {
				return false
			}
			depth++
		case tokClose:
			if !operand || depth == 0 {
				return false
			}
			depth--
		case tokPostfix:
			if !operand {
				return false
			}
		case tokOp:
			if !operand && t.text != "-" && t.text != "+" {
				return false
			}
			operand = false
		}
	}
	return operand && depth == 0
}

// longestValid finds the longest part of a short run that is an expression.
func longestValid(run []token) []token {
	if len(run) > 60 {
		return nil
	}
	for n := len(run) - 1; n > 2; n-- {
		for i := 0; i+n <= len(run); i++ {
			if part := run[i : i+n]; valid(part) && hasOperation(part) && part[0].kind != tokOp {
				return part
			}
		}
	}
	return nil
}

var calcWords = []string{"calculate", "compute", "evaluate", "solve", "calc", "计算", "算一下", "算算", "算", "计算一下", "求", "result of", "value of"}

var askWords = []string{"what is", "what's", "whats", "what does", "how much is", "how much are", "how about", "and", "tell me", "=", "请问", "告诉我", "那么", "那"}

// calcBefore reports words right in front that ask for a calculation and for nothing else.
func calcBefore(before []rune) bool { return endsIn(before, calcWords) }

func endsIn(before []rune, words []string) bool {
	p := newPhrase(strings.TrimRightFunc(string(before), func(r rune) bool { return unicode.IsSpace(r) || r == ':' || r == '(' || r == '"' || r == '`' }))
	_, ok := p.cutEndAny(words)
	return ok
}

// triggered reports that the surroundings of a run ask for its value, or that there are none.
func triggered(runes []rune, from, to int) bool {
	before, after := runes[:from], strings.TrimLeft(string(runes[to:]), " )`\"")
	if calcBefore(before) || endsIn(before, askWords) {
		return true
	}
	for _, w := range []string{"=", "等于", "是多少", "得多少", "多少", "是几", "得几", "equals", "equal"} {
		if strings.HasPrefix(after, w) {
			return true
		}
	}
	return strings.TrimSpace(string(before)) == "" && strings.Trim(after, " ?!.。") == ""
}

// convincing reports a run that is arithmetic wherever it stands.
func convincing(run []token, before, after []rune) bool {
	for i, t := range run {
		if t.kind == tokOpen || t.kind == tokOp && i > 0 && (!t.loose || t.spaced && i+1 < len(run) && run[i+1].spaced) {
			return true
		}
	}
	// Only hyphens, slashes and the like without space: a range, a ratio, a date, unless nothing around says so.
	rest := strings.TrimLeft(string(after), " ")
	if rest != "" && (isWordRune([]rune(rest)[0]) || isCJK([]rune(rest)[0])) || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "/") {
		return false
	}
	return !endsIn(before, []string{"on", "at", "by", "in", "from", "between", "page", "pages", "tel", "phone", "call", "version", "no", "since", "until", "is", "are", "was",
		"room", "在", "是", "到", "从", "电话", "版本", "为"})
}

// dateLike reports 2026-01-31, 31/12/2026, 24/7 and telephone numbers.
func dateLike(run []token) bool {
	var parts []int
	for i, t := range run {
		if i%2 == 0 {
			if t.kind != tokNumber || t.word || strings.Contains(t.text, ".") {
				return false
			}
			parts = append(parts, len(t.text))
		} else if t.text != run[1].text || !t.loose || t.text == "*" || t.spaced || run[i+1].spaced {
			return false
		}
	}
	switch {
	case len(parts) == 3 && parts[0] == 4 && parts[1] <= 2 && parts[2] <= 2:
		return true
	case len(parts) == 3 && parts[2] == 4 && parts[0] <= 2 && parts[1] <= 2:
		return true
	case len(parts) >= 3 && parts[0] >= 3 && parts[1] >= 3 && parts[len(parts)-1] >= 4 && run[1].text == "-":
		return true
	}
	return false
}

// write gives the run as text, with the spaces of the original and around words.
func write(run []token) string {
	var b strings.Builder
	for i, t := range run {
		if i > 0 && t.kind != tokPostfix && (t.spaced || t.word && (t.kind == tokOp || run[i-1].kind == tokOp) || run[i-1].word && run[i-1].kind == tokOp) {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// inWords understands orders: add 3 and 4, subtract 3 from 10, the sum of 2 and 5.
func inWords(toks []token) string {
	var words []string
	var numbers []string
	for _, t := range toks {
		switch {
		case t.kind == tokNumber:
			numbers = append(numbers, t.text)
			words = append(words, "#")
		case t.kind == tokOther && strings.Trim(t.text, "?!.,。") != "":
			words = append(words, t.text)
		case t.kind != tokOther:
			return ""
		}
	}
	if len(numbers) != 2 {
		return ""
	}
	w := strings.Join(words, " ")
	for _, x := range []string{"please ", "what is ", "what s ", "what ' s ", "calculate ", "compute ", "can you ", "the "} {
		w = strings.TrimPrefix(w, x)
	}
	a, b := numbers[0], numbers[1]
	switch w {
	case "add # and #", "add # to #", "sum of # and #", "add # with #":
		return a + " + " + b
	case "subtract # from #":
		return b + " - " + a
	case "difference between # and #", "difference of # and #":
		return a + " - " + b
	case "multiply # by #", "multiply # and #", "multiply # with #", "product of # and #":
		return a + " * " + b
	case "divide # by #", "quotient of # and #":
		return a + " / " + b
	}
	return ""
}
