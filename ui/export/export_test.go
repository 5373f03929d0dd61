package export_test

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/ui/export"
	"vitrine/ui/words"
)

var at = time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)

func write(t testing.TB, f export.Format, messages ...runtime.MessageRow) string {
	t.Helper()
	var b strings.Builder
	w := export.NewWriter(&b, f, export.Session{ID: "ann-window-1", Title: "deploy <plan> *x*", Model: "mock", Turns: 2, CreatedAt: at, UpdatedAt: at.Add(time.Hour)})
	for _, m := range messages {
		if err := w.Message(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func session() []runtime.MessageRow {
	return []runtime.MessageRow{
		{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: "部署 what is 2*3?\nsecond line", CreatedAt: at},
		{N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "I look.", ToolCalls: []llm.ToolCall{{ID: "c1", Name: "calculator", Arguments: `{"expression":"2*3"}`}}, CreatedAt: at},
		{N: 3, Kind: llm.KindTool, Role: llm.RoleTool, Content: `{"ok":true,"data":6}`, ToolCallID: "c1", ToolName: "calculator", CreatedAt: at},
		{N: 4, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "It is **6**.\n\n| a | b |\n|-|-|\n| 1 | 2 |\n", CreatedAt: at},
		{N: 5, Kind: llm.KindUser, Role: llm.RoleUser, Content: "thanks", CreatedAt: at},
		{N: 6, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "cut here", Partial: true, CreatedAt: at},
	}
}

// Each format holds all of a session, in order.
func TestASessionIsWhole(t *testing.T) {
	for f, want := range map[export.Format][]string{
		export.Markdown: {"# deploy \\<plan\\> \\*x\\*", "ann-window-1", "2026-03-06 14:02 to 2026-03-06 15:02 UTC", "## Turn 1", "> 部署 what is 2*3?\n> second line", "I look.", "`calculator` with",
			"```json\n{\"expression\":\"2*3\"}\n```", "`calculator` gave", `{"ok":true,"data":6}`, "It is **6**.", "## Turn 2", "> thanks", "cut here", "*(cut)*"},
		export.HTML: {"<h1>deploy &lt;plan&gt; *x*</h1>", "<h2>Turn 1</h2>", "部署 what is 2*3?\nsecond line", "Called <code>calculator</code>", "{&#34;expression&#34;:&#34;2*3&#34;}",
			"<strong>6</strong>", "<table>", "<h2>Turn 2</h2>", "(cut)", "</html>"},
		export.JSON: {`"title":"deploy \u003cplan\u003e *x*"`, `"n":6`, `"partial":true`},
	} {
		got := write(t, f, session()...)
		for _, text := range want {
			i := strings.Index(got, text)
			if i < 0 {
				t.Errorf("%s lacks %q, or has it in another place:\n%s", f, text, got)
			}
			got = got[max(i, 0):]
		}
	}
	var doc struct {
		Session  export.Session
		Messages []struct {
			N         int64
			Content   string
			ToolCalls []llm.ToolCall `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(write(t, export.JSON, session()...)), &doc); err != nil || len(doc.Messages) != 6 || doc.Messages[1].ToolCalls[0].Name != "calculator" ||
		doc.Session.Turns != 2 {
		t.Errorf("%+v, %v", doc, err)
	}
	for _, f := range formats() {
		if got := write(t, f); got == "" {
			t.Errorf("%s of an empty session is empty", f)
		}
	}
}

var tag = regexp.MustCompile(`(?i)<(script|img|iframe|object|style|svg|a)\b[^>]*>`)

// Whatever stands in the messages stays text: no tag, no block that swallows what comes after, no control sequence.
func TestTextStaysText(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"plain ", "部署", "\n", "\n\n", "```", "````go\n", "~~~\n", "`", "# head\n", "> q\n", "</pre>", "</section>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
		"[x](javascript:alert(1))", "\x1b[31m", "\u009b31m", "\u202e", "</details>", "&lt;", "| a |\n|-|\n", "- item\n", "    code\n", "<!--", "]]>"})
	words := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		evil := words.Draw(t, "text")
		rows := []runtime.MessageRow{
			{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: evil},
			{N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: evil, ToolCalls: []llm.ToolCall{{Name: "t" + evil, Arguments: evil}}},
			{N: 3, Kind: llm.KindTool, Role: llm.RoleTool, Content: evil, ToolName: evil},
			{N: 4, Kind: llm.KindNotice, Role: llm.RoleUser, Content: evil},
			{N: 5, Kind: llm.KindUser, Role: llm.RoleUser, Content: "the end"},
		}
		for _, f := range formats() {
			var b strings.Builder
			w := export.NewWriter(&b, f, export.Session{ID: "s", Title: evil})
			for _, m := range rows {
				if err := w.Message(m); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := b.String()
			if strings.ContainsAny(got, "\x1b\u202e\u009b") {
				t.Fatalf("%s holds a control character: %q", f, got)
			}
			switch f {
			case export.HTML:
				_, body, _ := strings.Cut(got, "<main>")
				for _, found := range tag.FindAllString(body, -1) {
					if !strings.HasPrefix(found, `<a href="">`) && !strings.HasPrefix(found, `<img src="`) {
						t.Fatalf("a tag %s in %s", found, body)
					}
				}
			case export.JSON:
				if !json.Valid([]byte(got)) {
					t.Fatalf("no JSON: %s", got)
				}
			case export.Markdown:
				if heads := headings([]byte(got)); len(heads) == 0 || heads[len(heads)-1] != "Turn 2" {
					t.Fatalf("the last turn is not a heading: %q of\n%s", heads, got)
				}
			}
		}
	})
}

// headings are those that stand at the top of a document, by how Markdown is read.
func headings(source []byte) (out []string) {
	doc := goldmark.DefaultParser().Parse(text.NewReader(source))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			out = append(out, string(h.Lines().Value(source)))
		}
	}
	return out
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no room")
	}
	return len(b), nil
}

// What cannot be written is told, at the latest by Close.
func TestNoRoom(t *testing.T) {
	for _, f := range formats() {
		var w io.Writer = &full{left: 3000}
		out := export.NewWriter(w, f, export.Session{ID: "s"})
		var err error
		for range 1000 {
			if err = out.Message(session()[0]); err != nil {
				break
			}
		}
		if err == nil && out.Close() == nil {
			t.Errorf("%s: nothing is told", f)
		}
	}
}

func formats() []export.Format { return []export.Format{export.Markdown, export.JSON, export.HTML} }

func TestNamesOfFormats(t *testing.T) {
	for name, ok := range map[string]bool{"": true, "markdown": true, ".HTML": true, "json": true, "pdf": false} {
		if _, err := export.ParseFormat(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What looks like a tag is text that stays, and code within a row opens no block.
func TestTagsAreText(t *testing.T) {
	answer := runtime.MessageRow{N: 1, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "Use a List<String> here.\n\n<div>\nboxed\n</div>\n\n```x``` is code.\n\n    ```\n"}
	after := runtime.MessageRow{N: 2, Kind: llm.KindUser, Role: llm.RoleUser, Content: "the end"}
	html := write(t, export.HTML, answer, after)
	for _, want := range []string{"List&lt;String&gt; here", "&lt;div&gt;", "boxed", "&lt;/div&gt;"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is lost in\n%s", want, html)
		}
	}
	md := write(t, export.Markdown, answer, after)
	if heads := headings([]byte(md)); len(heads) != 2 || heads[1] != "Turn 1" {
		t.Errorf("headings %q of\n%s", heads, md)
	}
}

// A document for people is written in their language; what was said is not touched, nor is JSON.
func TestExportInChinese(t *testing.T) {
	for f, want := range map[export.Format][]string{
		export.Markdown: {"会话 s，模型 m，1 轮，UTC", "## 第 1 轮", "调用 `look`，参数", "`look` 的结果", "*（不完整）*", "> Turn 1 of the game"},
		export.HTML:     {`lang="zh-Hans"`, "<h2>第 1 轮</h2>", "调用 <code>look</code>", "<code>look</code> 的结果"},
		export.JSON:     {`"content":"Turn 1 of the game"`},
	} {
		var b strings.Builder
		w := export.NewWriter(&b, f, export.Session{ID: "s", Title: "x", Model: "m", Turns: 1, Lang: words.Chinese})
		for _, m := range []runtime.MessageRow{
			{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: "Turn 1 of the game"},
			{N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}},
			{N: 3, Kind: llm.KindTool, Role: llm.RoleTool, ToolName: "look", Content: "{}"},
			{N: 4, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "so", Partial: true},
		} {
			if err := w.Message(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%s lacks %q:\n%s", f, text, b.String())
			}
		}
		if f == export.JSON && strings.ContainsAny(b.String(), "会轮") {
			t.Errorf("the JSON is translated:\n%s", b.String())
		}
	}
}
