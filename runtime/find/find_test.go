package find

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Deploy on Friday!", "deploy on friday"},
		{"今天天气 GPT模型v2", "今 天 天 气 gpt 模 型 v2"},
		{"Café cafe\u0301 ＡＢＣ ÅNGSTRÖM ﬁn", "cafe cafe abc angstrom fin"},
		{"search_mock(a-b) C:\\dir", "search mock a b c dir"},
		{"こんにちは 안녕 สวัสดี", "こ ん に ち は 안 녕 ส ว ส ด"},
		{"👍🏽 → x²", "x2"},
		{strings.Repeat("a", 130), strings.Repeat("a", 64) + " " + strings.Repeat("a", 64) + " aa"},
		{"a\x00b\xffc", "a b c"},
	} {
		if got := Words(c.text); got != c.want {
			t.Errorf("Words(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		query, text string
		want        []string // the hits, nil: not found
	}{
		{"天气", "今天天气很好", []string{"天气"}},
		{"天天", "今天天气", []string{"天天"}},
		{"气天", "今天天气", nil},
		{"气", "天气，气温", []string{"气", "气"}},
		{"dep", "the Deploy of deps", []string{"Dep", "dep"}},
		{"eploy", "the deploy", nil},
		{"cafe", "Le Café, cafés", []string{"Café", "café"}},
		{"café", "cafe\u0301 CAFE", []string{"cafe\u0301", "CAFE"}},
		{"search_mock", "search_mock and search mocks, search a mock", []string{"search_mock", "search mock"}},
		{"friday deploy", "deploy on Friday", []string{"deploy", "Friday"}},
		{"friday monday", "deploy on Friday", nil},
		{`"AND* OR NEAR(x) -`, "and near x or", []string{"and", "near x", "or"}},
		{"GPT模型", "用gpt模型", []string{"gpt模型"}},
		{"天天", "天天天", []string{"天天天"}},
		{"***", "***", nil},
		{"", "x", nil},
		{"ﬁ", "fine", []string{"fi"}},
	} {
		spans, all := Parse(c.query).Spans(c.text, 100)
		var got []string
		if all {
			for _, s := range spans {
				got = append(got, c.text[s.From:s.To])
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q in %q (-want +got):\n%s", c.query, c.text, d)
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("words before it ", 20) + "the deploy is on Friday\n\n  and " + strings.Repeat("more after it ", 20)
	line, spans := Parse("deploy fri").Excerpt(long, 60, "..")
	if want := "..before it the deploy is on Friday and more after it more .."; line != want {
		t.Errorf("excerpt %q", line)
	}
	var hits []string
	for _, s := range spans {
		hits = append(hits, line[s.From:s.To])
	}
	if d := cmp.Diff([]string{"deploy", "Fri"}, hits); d != "" {
		t.Error(d)
	}
	if line, spans := Parse("x").Excerpt("nothing here", 60, ".."); line != "nothing here" || spans != nil {
		t.Errorf("%q %v", line, spans)
	}
}

// Every word of a text is found by itself, by its beginning, and together with the one behind it; spans lie on characters, in
// order; an excerpt never cuts one.
func TestFoundIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ éÅ12 -_\"*今天气候안ก\u0301\n👍")), 1, 60, -1).Draw(t, "text")
		words := strings.Fields(Words(text))
		if len(words) == 0 {
			return
		}
		i := rapid.IntRange(0, len(words)-1).Draw(t, "i")
		query := words[i]
		if i+1 < len(words) && rapid.Bool().Draw(t, "two") {
			query += "-" + words[i+1]
		}
		spans, all := Parse(query).Spans(text, 1000)
		if !all || len(spans) == 0 {
			t.Fatalf("%q is not found in %q", query, text)
		}
		last := 0
		for _, s := range spans {
			if s.From < last || s.To <= s.From || s.To > len(text) || !utf8.RuneStart(text[s.From]) || s.To < len(text) && !utf8.RuneStart(text[s.To]) {
				t.Fatalf("span %v of %q", s, text)
			}
			last = s.To
		}
		line, in := Parse(query).Excerpt(text, rapid.IntRange(1, 40).Draw(t, "size"), "..")
		for _, s := range in {
			if s.From < 0 || s.To < s.From || s.To > len(line) || !utf8.ValidString(line[s.From:s.To]) {
				t.Fatalf("span %v of %q", s, line)
			}
		}
		if strings.ContainsAny(line, "\n") {
			t.Fatalf("%q is not one line", line)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("\"天气* AND -x", "今天天气 and x")
	f.Fuzz(func(t *testing.T, query, text string) {
		q := Parse(query)
		for _, p := range q.Phrases {
			if len(p.Words) == 0 || strings.Join(p.Words, " ") != Words(strings.Join(p.Words, " ")) {
				t.Errorf("phrase %q", p.Words)
			}
		}
		spans, _ := q.Spans(text, 10)
		if len(spans) > 10 {
			t.Errorf("%d spans", len(spans))
		}
	})
}
