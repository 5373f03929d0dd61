package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxClauses and maxText bound how much of one message is understood as requests.
const (
	maxClauses = 200
	maxText    = 12_000
)

// clauses cuts a message into parts that each say or ask one thing: sentences, and parts of sentences behind a connector
// when they begin something new ("what is 2+3 and add a todo: pay").
func clauses(text string) []phrase {
	if n := len(text); n > maxText {
		// What is asked stands in front of a long paste or behind it.
		text = strings.ToValidUTF8(text[:maxText/2], "") + "\n" + strings.ToValidUTF8(text[n-maxText/2:], "")
	}
	var out []phrase
	for _, s := range sentences(newPhrase(clean(text))) {
		for _, c := range connected(s) {
			if c = c.trim(""); !c.empty() && len(out) < maxClauses {
				out = append(out, c)
			}
		}
	}
	return out
}

// sentences cuts at the ends of lines and sentences; a question mark stays with its sentence.
func sentences(p phrase) []phrase {
	var out []phrase
	start := 0
	rest := p
	used := 0 // bytes of p.f in front of rest
	for i, r := range p.f {
		end := i + utf8.RuneLen(r)
		if i < start || !endsSentence(p.f, i, r) {
			continue
		}
		head, tail := rest.at(end - used)
		out = append(out, bullet(head.trim("")))
		rest, used, start = tail, end, end
	}
	return append(out, bullet(rest.trim("")))
}

func endsSentence(f string, i int, r rune) bool {
	after := f[i+utf8.RuneLen(r):]
	next, _ := utf8.DecodeRuneInString(after)
	switch r {
	case '\n', '。':
		return true
	case '?', '!', ';':
		return after == "" || unicode.IsSpace(next) || isCJK(next) || next == '"'
	case '.':
		if after != "" && !unicode.IsSpace(next) {
			return false
		}
		line := strings.TrimLeft(f[:i], " ")
		word := line[strings.LastIndexAny(line, " \n(")+1:]
		if abbreviations[word] || after != "" && isNumber(word) && word == line {
			return false // an abbreviation or the number of a list item
		}
		return utf8.RuneCountInString(word) != 1 || isNumber(word) || !initialBefore(after)
	}
	return false
}

// initialBefore reports whether a single letter with a full stop is an initial: a name follows, no new sentence.
func initialBefore(after string) bool {
	p := phrase{after, after}.trim("")
	for _, starts := range [][]string{strongStarts, questionStarts, determiners} {
		if _, ok := p.cutAny(starts); ok {
			return false
		}
	}
	return !p.empty()
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// bullet drops the sign of a list item.
func bullet(p phrase) phrase {
	for _, b := range []string{"- ", "* ", "+ ", "• "} {
		if rest, ok := p.cut(b); ok {
			return rest.trim("")
		}
	}
	digits := strings.TrimLeft(p.f, "0123456789")
	if n := len(p.f) - len(digits); n > 0 && n < 4 && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")) {
		_, rest := p.at(n + 2)
		return rest.trim("")
	}
	return p
}

// connected cuts a sentence behind connectors.
func connected(p phrase) []phrase {
	var out []phrase
	for from := 0; from < len(p.f); {
		i, n := nextConnector(p.f, from)
		if i < 0 {
			break
		}
		head, tail := p.at(i)
		_, tail = tail.at(n)
		if !head.empty() && beginsNew(head, tail) {
			out = append(out, head)
			p, from = tail, 0
			continue
		}
		from = i + n
	}
	return append(out, p)
}

// nextConnector finds the first connector at or after from, and its length.
func nextConnector(f string, from int) (at, length int) {
	at = -1
	for _, c := range connectors {
		i := strings.Index(f[from:], c)
		if i < 0 {
			continue
		}
		if i += from; at < 0 || i < at || i == at && len(c) > length {
			at, length = i, len(c)
		}
	}
	return at, length
}

// beginsNew reports whether tail says or asks something of its own.
func beginsNew(head, tail phrase) bool {
	tail = polite(tail.trim(",:"))
	if _, ok := tail.cutAny(strongStarts); ok {
		return true
	}
	if _, ok := tail.cutAny(determiners); !ok {
		return false
	}
	if isQuestion(polite(head)) || isQuestion(tail) {
		return false
	}
	stated, _ := strip(polite(head), rememberStarts)
	_, ok := parseFact(stated)
	_, ok2 := parseFact(tail)
	return ok && ok2
}

// polite drops words in front that ask for nothing by themselves.
func polite(p phrase) phrase {
	p = p.trimRight(",.!:~").trimLeft(",!:~…")
	for {
		rest, ok := p.cutAny(politeStarts)
		if !ok || rest.trim(",.!:~").empty() {
			return p
		}
		p = rest.trimLeft(",!:~…")
	}
}

// strip removes the first fitting prefix and the punctuation behind it.
func strip(p phrase, prefixes []string) (phrase, bool) {
	rest, ok := p.cutAny(prefixes)
	if !ok {
		return p, false
	}
	return rest.trimLeft(",:-"), true
}

// isQuestion reports whether p asks rather than tells.
func isQuestion(p phrase) bool {
	f := strings.TrimRight(p.f, " \"'.!。)")
	if strings.HasSuffix(f, "?") {
		return true
	}
	if _, ok := p.cutAny(questionStarts); ok && !strings.HasPrefix(f, "do not ") {
		return true
	}
	for _, w := range zhQuestionEnds {
		if strings.HasSuffix(f, w) {
			return true
		}
	}
	for _, w := range zhQuestionWords {
		if strings.Contains(f, w) {
			return true
		}
	}
	i := strings.Index(f, "几")
	return i >= 0 && !strings.HasPrefix(f[i:], "几乎") && !strings.HasPrefix(f[i:], "几何") && !strings.HasSuffix(f[:i], "茶")
}
