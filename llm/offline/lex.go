package offline

import (
	"strconv"
	"strings"
	"unicode"
)

// tokenKind is what a piece of a clause is in arithmetic.
type tokenKind int

const (
	tokOther tokenKind = iota
	tokNumber
	tokOp      // between two operands; + and - also in front of one
	tokPostfix // squared, percent
	tokOpen
	tokClose
)

// token is one piece of a clause, with the place of its runes.
type token struct {
	kind       tokenKind
	text       string // as the calculator wants it, or the word itself
	from, to   int
	spaced     bool // white space in front
	word       bool // written as a word
	loose      bool // proves no arithmetic by itself: a hyphen, a slash, an x
	percentage bool
}

// The operators written as words; the longest that fits is taken.
var wordOps = map[string]string{"plus": "+", "added to": "+", "minus": "-", "less": "-", "times": "*", "multiplied by": "*", "multiplied with": "*",
	"divided by": "/", "over": "/", "mod": "%", "modulo": "%", "to the power of": "^", "raised to the power of": "^", "raised to": "^"}

var zhOps = map[string]string{"加上": "+", "加": "+", "减去": "-", "减掉": "-", "减": "-", "乘以": "*", "乘上": "*", "乘": "*", "除以": "/", "除": "/", "模": "%",
	"取余": "%"}

var postfixes = map[string]string{"squared": "^2", "cubed": "^3", "的平方": "^2", "平方": "^2", "的立方": "^3", "立方": "^3", "²": "^2", "³": "^3"}

// lex cuts the folded runes of a clause into tokens.
func lex(runes []rune) []token {
	var out []token
	spaced := false
	for i := 0; i < len(runes); {
		if unicode.IsSpace(runes[i]) {
			spaced = true
			i++
			continue
		}
		t := next(runes, i, out)
		t.from, t.spaced = i, spaced
		spaced = spaced && t.text == "" // a sign of money keeps the space in front of it
		i = max(t.to, i+1)
		t.to = i
		if t.text != "" || t.kind == tokOther {
			out = append(out, t)
		}
	}
	return out
}

// next reads the token at i.
func next(runes []rune, i int, before []token) token {
	r := runes[i]
	switch {
	case isDigit(r) || r == '.' && i+1 < len(runes) && isDigit(runes[i+1]):
		return lexNumber(runes, i)
	case isCJK(r):
		return lexCJK(runes, i, before)
	case isWordRune(r):
		return lexWord(runes, i, before)
	}
	return lexSign(runes, i, before)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// lexNumber reads a number; what only begins like one (a version, a time, 3rd) is another word.
func lexNumber(runes []rune, i int) token {
	at := func(j int) rune {
		if j < len(runes) {
			return runes[j]
		}
		return 0
	}
	j := i
	digits := func() {
		for isDigit(at(j)) {
			j++
		}
	}
	digits()
	for at(j) == ',' && isDigit(at(j+1)) && isDigit(at(j+2)) && isDigit(at(j+3)) && !isDigit(at(j+4)) && j-i <= 3*5 {
		j += 4
	}
	if at(j) == '.' && isDigit(at(j+1)) {
		j++
		digits()
	}
	if at(j) == 'e' {
		k := j + 1
		if at(k) == '+' || at(k) == '-' {
			k++
		}
		if isDigit(at(k)) {
			j = k
			digits()
		}
	}
	odd := at(j) == '.' && isDigit(at(j+1)) || at(j) == ':' && isDigit(at(j+1)) || at(j) == '_' ||
		isWordRune(at(j)) && (at(j) != 'x' || isWordRune(at(j+1)) && !isDigit(at(j+1)))
	odd = odd || i > 0 && (runes[i-1] == ':' && i > 1 && isDigit(runes[i-2]) || runes[i-1] == '_' || runes[i-1] == '#' || runes[i-1] == '@')
	if odd {
		for j < len(runes) && (isWordRune(at(j)) || strings.ContainsRune(".:_-", at(j))) {
			j++
		}
		return token{text: string(runes[i:j]), to: j}
	}
	return token{kind: tokNumber, text: strings.ReplaceAll(string(runes[i:j]), ",", ""), to: j}
}

// lexWord reads a Latin word, an operator of one or more words, or a number in words.
func lexWord(runes []rune, i int, before []token) token {
	if v, n := englishNumber(runes[i:]); n > 0 {
		return token{kind: tokNumber, text: strconv.FormatInt(v, 10), to: i + n, word: true}
	}
	j := i
	for j < len(runes) && (isWordRune(runes[j]) || runes[j] == '_' || unicode.IsMark(runes[j])) {
		j++
	}
	w := string(runes[i:j])
	t := token{text: w, to: j}
	if len(before) == 0 {
		if w == "minus" {
			t.kind, t.text, t.word = tokOp, "-", true
		}
		return t
	}
	last := before[len(before)-1]
	rest := string(runes[i:min(len(runes), i+30)])
	best := ""
	for op := range wordOps {
		if strings.HasPrefix(rest, op) && boundary(op, rest[len(op):]) && len(op) > len(best) {
			best = op
		}
	}
	switch {
	case best != "":
		return token{kind: tokOp, text: wordOps[best], to: i + len(best), word: true}
	case postfixes[w] != "":
		return token{kind: tokPostfix, text: postfixes[w], to: j}
	case w == "x" && (last.kind == tokNumber || last.kind == tokClose):
		return token{kind: tokOp, text: "*", to: j, loose: true}
	case w[0] == 'x' && isNumber(w[1:]) && last.kind == tokNumber && last.to == i:
		return token{kind: tokOp, text: "*", to: i + 1, loose: true} // 3x4
	case w == "of" && last.percentage:
		return token{kind: tokOp, text: "*", to: j, word: true}
	case w == "percent" && last.kind == tokNumber:
		return token{kind: tokPostfix, text: "/100", to: j, percentage: true}
	}
	return t
}

// lexCJK reads an operator or a number in Chinese.
func lexCJK(runes []rune, i int, before []token) token {
	if v, n := chineseNumber(runes[i:]); n > 0 {
		return token{kind: tokNumber, text: v, to: i + n, word: true}
	}
	for n := min(3, len(runes)-i); n > 0; n-- {
		w := string(runes[i : i+n])
		if op := zhOps[w]; op != "" {
			return token{kind: tokOp, text: op, to: i + n, word: true}
		}
		if p := postfixes[w]; p != "" && (i+n == len(runes) || runes[i+n] != '根') {
			return token{kind: tokPostfix, text: p, to: i + n}
		}
	}
	last := token{}
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	rest := string(runes[i:])
	switch {
	case runes[i] == '的' && last.percentage:
		return token{kind: tokOp, text: "*", to: i + 1, word: true}
	case runes[i] == '的' && (last.kind == tokNumber || last.kind == tokClose) && powerFollows(runes[i+1:]):
		return token{kind: tokOp, text: "^", to: i + 1, word: true}
	case runes[i] == '的' && last.kind == tokNumber && percentFollows(runes[i+1:]):
		return token{kind: tokOp, text: "*", to: i + 1, word: true}
	case strings.HasPrefix(rest, "次方"):
		return token{kind: tokPostfix, to: i + 2} // belongs to a power that was read; alone it is nothing
	case strings.HasPrefix(rest, "括号"):
		return token{text: "括号", to: i + 2}
	}
	return token{text: string(runes[i]), to: i + 1}
}

// powerFollows reports a number and 次方.
func powerFollows(runes []rune) bool {
	rest := strings.TrimLeft(string(runes), " 0123456789零一二两三四五六七八九十百")
	return len(rest) < len(string(runes)) && strings.HasPrefix(rest, "次方")
}

func percentFollows(runes []rune) bool {
	rest := strings.TrimLeft(string(runes), " 0123456789.")
	return len(rest) < len(string(runes)) && strings.HasPrefix(rest, "%")
}

// lexSign reads an operator sign.
func lexSign(runes []rune, i int, before []token) token {
	two := string(runes[i:min(len(runes), i+2)])
	one := string(runes[i])
	switch two {
	case "**", "//":
		return token{kind: tokOp, text: two, to: i + 2}
	}
	switch one {
	case "+", "*", "^":
		return token{kind: tokOp, text: one, to: i + 1}
	case "×", "∗", "·", "∙", "⋅":
		return token{kind: tokOp, text: "*", to: i + 1}
	case "÷", "∕":
		return token{kind: tokOp, text: "/", to: i + 1}
	case "−":
		return token{kind: tokOp, text: "-", to: i + 1}
	case "-", "–":
		return token{kind: tokOp, text: "-", to: i + 1, loose: true}
	case "/":
		return token{kind: tokOp, text: "/", to: i + 1, loose: true}
	case "(":
		return token{kind: tokOpen, text: one, to: i + 1}
	case ")":
		return token{kind: tokClose, text: one, to: i + 1}
	case "²", "³":
		return token{kind: tokPostfix, text: postfixes[one], to: i + 1}
	case "$", "¥", "€", "£":
		if i+1 < len(runes) && isDigit(runes[i+1]) {
			return token{kind: tokPostfix, to: i + 1} // an amount of money: the number counts
		}
	case "%":
		if len(before) > 0 && before[len(before)-1].kind == tokNumber && !operandFollows(runes[i+1:]) {
			return token{kind: tokPostfix, text: "/100", to: i + 1, percentage: true}
		}
		return token{kind: tokOp, text: "%", to: i + 1}
	}
	return token{text: one, to: i + 1}
}

// operandFollows reports that a number or a parenthesis comes next.
func operandFollows(runes []rune) bool {
	rest := strings.TrimLeft(string(runes), " ")
	return rest != "" && (isDigit(rune(rest[0])) || rest[0] == '(' || rest[0] == '.' || rest[0] == '-')
}

var units = map[string]int64{"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19}

var tens = map[string]int64{"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}

var scales = map[string]int64{"thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}

// englishNumber reads a number in words at the start of runes and says how many runes it has.
func englishNumber(runes []rune) (v int64, n int) {
	var total, part int64
	i := 0
	last := "" // what kind of word came last
	for i < len(runes) {
		j := i
		for j < len(runes) && runes[j] >= 'a' && runes[j] <= 'z' {
			j++
		}
		w := string(runes[i:j])
		if j < len(runes) && isWordRune(runes[j]) {
			break
		}
		kind := ""
		if u, ok := units[w]; ok && last != "unit" && !(last == "tens" && u > 9) {
			part, kind = part+u, "unit"
		} else if t, ok := tens[w]; ok && last != "unit" && last != "tens" {
			part, kind = part+t, "tens"
		} else if w == "hundred" && (last == "unit" || last == "tens") && part < 100 {
			part, kind = part*100, "hundred"
		} else if s, ok := scales[w]; ok && last != "" && part > 0 && part < 1000 && total < 1_000_000_000_000 {
			total, part, kind = total+part*s, 0, "scale"
		}
		if kind == "" {
			break
		}
		last, n = kind, j
		for i = j; i < len(runes) && (runes[i] == ' ' || runes[i] == '-' && kind == "tens"); {
			i++
		}
		if rest := string(runes[i:min(len(runes), i+4)]); rest == "and " && (kind == "hundred" || kind == "scale") {
			i += 4
		}
	}
	return total + part, n
}

const zhDigits = "零一二三四五六七八九"

// chineseNumber reads a number in Chinese at the start of runes: 十二, 三百零五, 二点五.
func chineseNumber(runes []rune) (text string, n int) {
	var total, section, digit int64
	seen := false
	for n < len(runes) && n < 20 {
		r := runes[n]
		switch r {
		case '两':
			r = '二'
		case '〇':
			r = '零'
		}
		if d := strings.IndexRune(zhDigits, r); d >= 0 {
			digit, seen = digit*10+int64(d/3), true
			if digit > 1_000_000_000 {
				return "", 0
			}
			n++
			continue
		}
		scale := map[rune]int64{'十': 10, '百': 100, '千': 1000, '万': 10_000, '亿': 100_000_000}[r]
		if scale == 0 || scale > 10 && !seen || total > 1_000_000_000_000 {
			break
		}
		if scale < 10_000 {
			if digit == 0 && scale == 10 {
				digit = 1
			}
			section += digit * scale
		} else {
			total, section = (total+section+digit)*scale, 0
		}
		digit, seen = 0, true
		n++
	}
	if !seen {
		return "", 0
	}
	text = strconv.FormatInt(total+section+digit, 10)
	if n+1 < len(runes) && runes[n] == '点' {
		frac := ""
		m := n + 1
		for m < len(runes) && strings.ContainsRune(zhDigits, runes[m]) {
			frac += strconv.Itoa(strings.IndexRune(zhDigits, runes[m]) / 3)
			m++
		}
		if frac != "" {
			return text + "." + frac, m
		}
	}
	return text, n
}
