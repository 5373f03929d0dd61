package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lang is the language of an answer.
type lang int

const (
	english lang = iota
	chinese
)

// clean drops what must never be echoed: control characters other than line feed and tab, characters that steer the
// direction of text, and bytes that are no UTF-8.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == 0x2028 || r == 0x2029:
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0x200B, r == 0xFEFF:
			return -1
		}
		return r
	}, s)
}

// fold maps every rune to one that is easier to compare: lower case, half width, simplified, straight quotes. It keeps the
// number of runes, so that a place found in the folded text is the same place in the original.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0xFF01 && r <= 0xFF5E {
			r -= 0xFEE0
		}
		switch r {
		case 0x3000, 0xA0:
			return ' '
		case '’', '‘':
			return '\''
		case '“', '”', '「', '」':
			return '"'
		}
		if i := strings.IndexRune(traditional, r); i >= 0 && r >= 0x4E00 {
			// Both strings hold three-byte runes only, so the same byte offset is the same place.
			s, _ := utf8.DecodeRuneInString(simplified[i:])
			return s
		}
		return unicode.ToLower(r)
	}, s)
}

// The characters of our patterns and of common question words that differ between the scripts.
const (
	traditional = "們麼誰時間計請記說過詢尋辦項個幾點號週動減開嗎訴關於紹釋務單標為問變換會議結與寫長總來還沒從裡裏歲東見書學電話張貴無車錢種國樣應該樂歡醫乗給這別買讓兩萬對實現畫聽寶網聯處員輸進歷讀級檔資線連腦範極強門馬錄約覺證識負責師隊庫碼據數備組報費區雲發機產業設圖華貓禮體確認當創夾內"
	simplified  = "们么谁时间计请记说过询寻办项个几点号周动减开吗诉关于绍释务单标为问变换会议结与写长总来还没从里里岁东见书学电话张贵无车钱种国样应该乐欢医乘给这别买让两万对实现画听宝网联处员输进历读级档资线连脑范极强门马录约觉证识负责师队库码据数备组报费区云发机产业设图华猫礼体确认当创夹内"
)

// isCJK reports scripts written without spaces.
func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// detect tells the language of s; ok is false when it shows none.
func detect(s string) (l lang, ok bool) {
	f := fold(s)
	var han, zhWords int
	for _, r := range f {
		if isCJK(r) {
			han++
			if strings.ContainsRune("的是了在吗呢什么谁哪怎几请我你他她它们把有没不这那个叫记查算多少", r) {
				zhWords++
			}
		}
	}
	var latin, enWords int
	for _, w := range latinWords(f) {
		latin++
		if enStop[w] || enMarks[w] {
			enWords++
		}
	}
	switch {
	case han == 0 && latin == 0:
		return english, false
	case zhWords != enWords:
		if zhWords > enWords {
			return chinese, true
		}
		return english, true
	case han > latin:
		return chinese, true
	}
	return english, true
}

// latinWords splits s into runs of letters that are no CJK.
func latinWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' || isCJK(r) })
}

// phrase is a piece of text together with its folded form; both have the same number of runes.
type phrase struct {
	s, f string
}

func newPhrase(s string) phrase { return phrase{s, fold(s)} }

// at cuts the phrase at byte i of its folded form.
func (p phrase) at(i int) (before, after phrase) {
	n := utf8.RuneCountInString(p.f[:i])
	j := 0
	for ; n > 0; n-- {
		_, w := utf8.DecodeRuneInString(p.s[j:])
		j += w
	}
	return phrase{p.s[:j], p.f[:i]}, phrase{p.s[j:], p.f[i:]}
}

// trim cuts runes of set and white space off both ends.
func (p phrase) trim(set string) phrase { return p.trimLeft(set).trimRight(set) }

func (p phrase) trimLeft(set string) phrase {
	rest := strings.TrimLeftFunc(p.f, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(set, r) })
	_, after := p.at(len(p.f) - len(rest))
	return after
}

func (p phrase) trimRight(set string) phrase {
	rest := strings.TrimRightFunc(p.f, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(set, r) })
	before, _ := p.at(len(rest))
	return before
}

func (p phrase) empty() bool { return strings.TrimSpace(p.f) == "" }

// cut removes prefix; a prefix that ends in a Latin letter must be followed by something else.
func (p phrase) cut(prefix string) (phrase, bool) {
	if !strings.HasPrefix(p.f, prefix) || !boundary(prefix, p.f[len(prefix):]) {
		return p, false
	}
	_, after := p.at(len(prefix))
	return after, true
}

// cutAny removes the first of prefixes that fits.
func (p phrase) cutAny(prefixes []string) (phrase, bool) {
	for _, x := range prefixes {
		if rest, ok := p.cut(x); ok {
			return rest, true
		}
	}
	return p, false
}

// cutEnd removes suffix; one that begins with a Latin letter must stand as a word.
func (p phrase) cutEnd(suffix string) (phrase, bool) {
	if !strings.HasSuffix(p.f, suffix) {
		return p, false
	}
	i := len(p.f) - len(suffix)
	last, _ := utf8.DecodeLastRuneInString(p.f[:i])
	first, _ := utf8.DecodeRuneInString(suffix)
	if isWordRune(last) && isWordRune(first) && i > 0 {
		return p, false
	}
	before, _ := p.at(i)
	return before, true
}

func (p phrase) cutEndAny(suffixes []string) (phrase, bool) {
	for _, x := range suffixes {
		if rest, ok := p.cutEnd(x); ok {
			return rest, true
		}
	}
	return p, false
}

// boundary reports whether a word may end between a and b.
func boundary(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	return b == "" || !isWordRune(last) || !isWordRune(first)
}

// isWordRune reports letters and digits of scripts that separate words.
func isWordRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !isCJK(r)
}

// indexWord finds w in s where it stands as a word; -1 when it does not.
func indexWord(s, w string) int {
	for from := 0; from <= len(s)-len(w); {
		i := strings.Index(s[from:], w)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		first, _ := utf8.DecodeRuneInString(w)
		if (i == 0 || !isWordRune(before) || !isWordRune(first)) && boundary(w, s[i+len(w):]) {
			return i
		}
		from = i + len(w)
	}
	return -1
}

// clip bounds s to n runes.
func clip(s string, n int) string {
	i := 0
	for at := range s {
		if i == n {
			return strings.TrimSpace(s[:at]) + "…"
		}
		i++
	}
	return s
}
