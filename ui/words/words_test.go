package words

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
)

// arguments gives the verb of each argument of a format, in the order of the arguments.
func arguments(s string) (list []string) {
	next := 0
	at := map[int]string{}
	for _, v := range verbs.FindAllString(s, -1) {
		if strings.HasSuffix(v, "%") {
			continue
		}
		if m := regexp.MustCompile(`^%\[(\d+)\]`).FindStringSubmatch(v); m != nil {
			next, _ = strconv.Atoi(m[1])
			next--
			v = "%" + strings.TrimPrefix(v, m[0])
		}
		at[next] = v[len(v)-1:]
		next++
	}
	for i := range len(at) {
		list = append(list, at[i]) // "" where a number was left out
	}
	return list
}

// signs are those beside ASCII and Chinese characters; all are two cells wide in every terminal.
const signs = "，。：；？！（）、"

// badSigns gives what a Chinese text must not hold: signs that are one cell wide in one terminal and two in another, and
// English punctuation between Chinese characters.
func badSigns(zh string) (bad []string) {
	runes := []rune(zh)
	for i, r := range runes {
		han := func(j int) bool { return j >= 0 && j < len(runes) && unicode.Is(unicode.Han, runes[j]) }
		switch {
		case r >= 0x7f && !unicode.Is(unicode.Han, r) && !strings.ContainsRune(signs, r):
			bad = append(bad, fmt.Sprintf("%q may be of ambiguous width", r))
		case strings.ContainsRune(",;?!", r) && han(i-1):
			bad = append(bad, fmt.Sprintf("%q behind a Chinese character", r))
		case han(i) && i+1 < len(runes) && runes[i+1] < 0x80 && (unicode.IsLetter(runes[i+1]) || unicode.IsDigit(runes[i+1])),
			r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) && han(i+1) && (i == 0 || runes[i-1] != '%' && runes[i-1] != ']'):
			bad = append(bad, fmt.Sprintf("no blank between %q and %q", r, runes[i+1]))
		}
	}
	return bad
}

// checkPair finds what is wrong with a text and its Chinese.
func checkPair(en, zh string) (bad []string) {
	if strings.TrimSpace(zh) == "" {
		return []string{"no Chinese"}
	}
	if a, b := arguments(en), arguments(zh); !slices.Equal(a, b) {
		bad = append(bad, fmt.Sprintf("verbs %v became %v", a, b))
	}
	edge := func(s string) string {
		return s[:len(s)-len(strings.TrimLeft(s, " \n"))] + "|" + s[len(strings.TrimRight(s, " \n")):]
	}
	if !strings.Contains(en, note) && edge(en) != edge(zh) {
		bad = append(bad, "other blanks at the ends")
	}
	return append(bad, badSigns(zh)...)
}

func TestTables(t *testing.T) {
	seen := map[Text]bool{}
	for i, table := range tables() {
		for en, zh := range table {
			if seen[en] {
				t.Errorf("%q stands in two tables", en)
			}
			seen[en] = true
			for _, bad := range checkPair(string(en), zh) {
				t.Errorf("table %d: %q: %q: %s", i, en, zh, bad)
			}
		}
	}
	for en, zh := range toldTable() {
		for _, bad := range checkPair(verbs.ReplaceAllStringFunc(en, asText), zh) {
			t.Errorf("told: %q: %q: %s", en, zh, bad)
		}
		if strings.TrimSpace(verbs.ReplaceAllString(en, "")) == "" {
			t.Errorf("told: %q matches everything", en)
		}
	}
}

// asText makes a verb that of a text.
func asText(verb string) string {
	if verb == "%%" {
		return verb
	}
	return "%s"
}

// The checks find what they are for.
func TestCheckPair(t *testing.T) {
	for _, c := range []struct{ en, zh, want string }{
		{"step %d of %d", "第 %d/%d 步", ""},
		{"%s of %d", "%[2]d 中的 %[1]s", ""},
		{"100%% of %d", "%d 的 100%%", ""},
		{"step %d of %d", "第 %d 步", "verbs"},
		{"step %d", "第 %s 步", "verbs"},
		{"%s of %d", "%[2]s 中的 %[1]d", "verbs"},
		{"open##state", "打开", ""},
		{"open ", "打开", "blanks"},
		{"open", " ", "no Chinese"},
		{"open", "“打开”", "ambiguous"},
		{"open", "打开…", "ambiguous"},
		{"open, close", "打开,关闭", "behind"},
		{"open tab", "打开tab", "no blank"},
		{"a tab", "tab标签", "no blank"},
	} {
		if got := strings.Join(checkPair(c.en, c.zh), "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, %q: %q, want %q", c.en, c.zh, got, c.want)
		}
	}
}

func TestT(t *testing.T) {
	if got := English.T("%d m %s s", 1, "08"); got != "1 m 08 s" {
		t.Error(got)
	}
	if got := Chinese.T("%d m %s s", 1, "08"); got != "1 分 08 秒" {
		t.Error(got)
	}
	if got := Chinese.T("a text without Chinese"); got != "a text without Chinese" {
		t.Error(got)
	}
	if got := English.T("open##a note"); got != "open" {
		t.Error(got)
	}
	if got := English.T("100%"); got != "100%" { // nothing to put in: a percent sign is one
		t.Error(got)
	}
}

func TestN(t *testing.T) {
	for _, c := range []struct {
		l    Lang
		n    int
		want string
	}{{English, 0, "0 d"}, {English, 1, "one day, 1"}, {English, 2, "2 d"}, {Chinese, 1, "1 天"}, {Chinese, 3, "3 天"}} {
		if got := c.l.N(c.n, "one day, %d", "%d d", c.n); got != c.want {
			t.Errorf("%v %d: %q, want %q", c.l, c.n, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		d        time.Duration
		en, zh   string
		ago, zha string
	}{
		{-time.Second, "0 ms", "0 毫秒", "now", "刚刚"},
		{0, "0 ms", "0 毫秒", "now", "刚刚"},
		{900 * time.Millisecond, "0.9 s", "0.9 秒", "now", "刚刚"},
		{59_960 * time.Millisecond, "1 m 00 s", "1 分 00 秒", "now", "刚刚"},
		{41 * time.Millisecond, "41 ms", "41 毫秒", "now", "刚刚"},
		{4400 * time.Millisecond, "4.4 s", "4.4 秒", "now", "刚刚"},
		{125 * time.Second, "2 m 05 s", "2 分 05 秒", "2 m", "2 分钟"},
		{62 * time.Minute, "1 h 02 m", "1 时 02 分", "1 h", "1 小时"},
		{3 * 24 * time.Hour, "3 d", "3 天", "3 d", "3 天"},
		{30 * 24 * time.Hour, "30 d", "30 天", "4 w", "4 周"},
		{800 * 24 * time.Hour, "800 d", "800 天", "2 y", "2 年"},
	} {
		for l, want := range map[Lang][2]string{English: {c.en, c.ago}, Chinese: {c.zh, c.zha}} {
			if got := [2]string{l.Duration(c.d), l.Ago(c.d)}; got != want {
				t.Errorf("%v %v: %q, want %q", l, c.d, got, want)
			}
		}
	}
}
