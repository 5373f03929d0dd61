package mention_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm/attach"
	"vitrine/ui/mention"
)

func TestFind(t *testing.T) {
	for text, want := range map[string][]string{
		"@a.txt":                         {"a.txt"},
		"see @src/x.go and @b":           {"src/x.go", "b"},
		`see @"my notes.txt"now`:         {"my notes.txt"},
		"请看@笔记.md，谢谢":                    {"笔记.md，谢谢"},
		"（@a.txt）":                       {"a.txt）"},
		"user@example.com, a_@b, x/@y @": nil,
		`@"open`:                         nil,
		"@a@b":                           {"a@b"},
		"@@types/x":                      {"@types/x"},
		"line\n@c\n":                     {"c"},
		"":                               nil,
	} {
		var got []string
		for _, m := range mention.Find(text) {
			got = append(got, m.Name)
			if all := text[m.Start:m.End]; all != "@"+m.Name && all != `@"`+m.Name+`"` {
				t.Errorf("%q: %+v stands for %q", text, m, all)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestAt(t *testing.T) {
	for _, c := range []struct {
		text string // with | for the cursor
		want string
		ok   bool
	}{
		{"@|", "", true}, {"see @no|tes x", "no", true}, {"see @notes |", "", false}, {`@"my no|`, "my no", true}, {`@"my notes.txt"|`, "", false},
		{"a@b|", "", false}, {"看@笔|", "笔", true}, {"|@a", "", false}, {"@a\nb|", "", false},
	} {
		at := strings.IndexByte(c.text, '|')
		text := strings.Replace(c.text, "|", "", 1)
		m, ok := mention.At(text, at)
		if ok != c.ok || m.Name != c.want || ok && (m.End != at || text[m.Start] != '@') {
			t.Errorf("%q: %+v %v", c.text, m, ok)
		}
	}
}

// folder reads from a map.
func folder(files map[string]string) mention.Reader {
	return func(_ context.Context, name string, limit int) attach.File {
		text, ok := files[name]
		f := attach.File{Name: name, Bytes: int64(len(text))}
		switch {
		case strings.HasPrefix(name, "/"):
			f.Refused = attach.Outside
		case !ok:
			f.Refused = attach.Gone
		case strings.ContainsRune(text, 0):
			f.Refused = attach.Binary
		default:
			f.Text = text[:min(limit, len(text))]
		}
		return f
	}
}

func TestResolve(t *testing.T) {
	files := map[string]string{"a.txt": "hello", "笔记.md": "你好", "my notes.txt": "n", "pic": "\x00", "big": strings.Repeat("x", mention.MaxFile+1), "a": "short"}
	for i := range 5 {
		files[fmt.Sprint("full", i)] = strings.Repeat("y", mention.MaxFile)
	}
	known := func(name string) bool { return name == "was.txt" }
	for text, want := range map[string][]string{
		"@a.txt, please; @a.txt again":    {"a.txt 5"},
		"请看@笔记.md，谢谢":                     {"笔记.md 6"},
		"请看@笔记.md看看":                      {"笔记.md 6"},
		`@"my notes.txt"`:                 {"my notes.txt 1"},
		`@"no such file"`:                 {"no such file not there"},
		"@nobody @angular/core @a.txtfoo": {"a 5"}, // a point ends a word
		"@afoo":                           nil,
		"@was.txt and @was.txt。":          {"was.txt not there"},
		"@pic":                            {"pic binary"},
		"@/etc/passwd":                    {"/etc/passwd outside"},
		"@big":                            {"big 65536 of 65537"},
		"@full0 @full1 @full2 @full3 @full4 @a.txt": {"full0 65536", "full1 65536", "full2 65536", "full3 65536", "full4 no room", "a.txt no room"},
	} {
		var got []string
		for _, f := range mention.Resolve(context.Background(), text, folder(files), known) {
			switch {
			case f.Refused != "":
				got = append(got, f.Name+" "+string(f.Refused))
			case f.Cut():
				got = append(got, fmt.Sprint(f.Name, " ", len(f.Text), " of ", f.Bytes))
			default:
				got = append(got, fmt.Sprint(f.Name, " ", len(f.Text)))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if n := len(mention.Resolve(context.Background(), strings.Repeat(`@"x" `, 3)+manyNames(30), folder(files), known)); n != mention.MaxFiles {
		t.Errorf("%d files in a message, want %d", n, mention.MaxFiles)
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `@"x%d" `, i)
	}
	return b.String()
}

func TestRank(t *testing.T) {
	names := []string{"README.md", "docs/readme-old.md", "ui/input/input.go", "ui/input/input_test.go", "runtime/engine.go", "main.go", "笔记/周报.md", "ui/keys.go"}
	for query, want := range map[string][]string{
		"":          {"main.go", "README.md", "ui/keys.go"},
		"readme":    {"README.md", "docs/readme-old.md"},
		"input":     {"ui/input/input.go", "ui/input/input_test.go"},
		"uiin":      {"ui/input/input.go", "ui/input/input_test.go"},
		"ren":       {"runtime/engine.go"},
		"周":         {"笔记/周报.md"},
		"笔报":        {"笔记/周报.md"},
		"./main.go": {"main.go"},
		"zzz":       {},
	} {
		got := mention.Rank(names, query, 3)
		if diff := cmp.Diff(want, got[:min(len(got), max(len(want), 0))]); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

// What is written into a text is found there, as the same name and alone.
func TestWriteIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.SampledFrom([]rune(`ab .中，,-_/()`)), 1, 12, -1).Draw(t, "name")
		if name = strings.TrimSpace(name); name == "" || name[0] == '/' {
			return
		}
		text := "看 " + mention.Write(name) + rapid.SampledFrom([]string{"", " x", "\n"}).Draw(t, "behind")
		if !utf8.ValidString(text) {
			return
		}
		got := mention.Resolve(context.Background(), text, folder(map[string]string{name: "x"}), func(string) bool { return false })
		if len(got) != 1 || got[0].Name != name || got[0].Refused != "" {
			t.Fatalf("%q holds %+v, want %q", text, got, name)
		}
	})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"@a", `@"a b"`, "a@b", "看@笔记.md，", "@@", `@"`, "@\n"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		end := 0
		for _, m := range mention.Find(text) {
			if m.Start < end || m.End > len(text) || m.End <= m.Start || text[m.Start] != '@' {
				t.Fatalf("%q: %+v", text, m)
			}
			end = m.End
		}
		at = min(max(at, 0), len(text))
		if m, ok := mention.At(text, at); ok && (m.Start >= at || m.End != at) {
			t.Fatalf("%q at %d: %+v", text, at, m)
		}
	})
}
