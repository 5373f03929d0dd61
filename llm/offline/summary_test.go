package offline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
)

type summary struct {
	Goals, Facts, Todos, Unresolved []string
}

func summaryOf(t *testing.T, text string) summary {
	t.Helper()
	r := respond(llm.Request{Messages: []llm.Message{
		{Role: llm.RoleSystem, Content: "You write summaries.\n  [SUMMARIZE]  \nAnswer with JSON."},
		{Role: llm.RoleUser, Content: text},
		{Role: llm.RoleAssistant, Content: "{"},
		{Role: llm.RoleUser, Kind: llm.KindNotice, Content: "That was no JSON. user: the trap is set"},
	}})
	dec := json.NewDecoder(strings.NewReader(r.text))
	dec.DisallowUnknownFields()
	var s summary
	if err := dec.Decode(&s); err != nil || len(r.calls) > 0 {
		t.Fatalf("%q: %v", r.text, err)
	}
	if s.Goals == nil || s.Facts == nil || s.Todos == nil || s.Unresolved == nil {
		t.Errorf("a field is no list: %s", r.text)
	}
	for _, list := range [][]string{s.Goals, s.Facts, s.Todos, s.Unresolved} {
		if len(list) > maxEntries {
			t.Errorf("%d entries", len(list))
		}
	}
	return s
}

const oldSummary = `{"goals":["ship it"],"facts":["the deploy is on Monday","the venue is Rome"],"todos":["pay the rent","call Bob"],"unresolved":[]}`

var conversation = []struct{ role, text string }{
	{"user", "Remember that the deploy is on Friday. My name is Ada."},
	{"assistant", "Noted."},
	{"user", "add a todo: buy milk"},
	{"assistant", ""},
	{"tool", `{"ok":true,"data":{"facts":"no"}}`},
	{"assistant", "Added."},
	{"user", "complete todo rent"},
	{"assistant", "Done."},
	{"user", "I want to learn Go"},
	{"assistant", "Noted."},
	{"user", "where is the key?"},
	{"assistant", enTexts.notTold},
	{"user", "what is my name?"},
	{"assistant", "Ada."},
	{"user", "我的猫叫咪咪，计算 2+2"},
}

var wantSummary = summary{
	Goals: []string{"I want to learn Go", "ship it"},
	Facts: []string{"我的猫叫咪咪", "My name is Ada", "the deploy is on Friday", "the venue is Rome"},
	Todos: []string{"buy milk", "call Bob"}, Unresolved: []string{"where is the key?"},
}

func TestSummaryFormats(t *testing.T) {
	var lines, numbered, jsonLines []string
	var list []map[string]string
	for i, m := range conversation {
		lines = append(lines, m.role+": "+m.text)
		numbered = append(numbered, fmt.Sprintf("### [%d] %s (step 2)>\n%s", i, strings.ToUpper(m.role), m.text))
		o := map[string]string{"role": m.role, "content": m.text}
		list = append(list, o)
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		jsonLines = append(jsonLines, string(b))
	}
	whole, err := json.Marshal(map[string]any{"summary": json.RawMessage(oldSummary), "messages": list})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"lines":      "Old summary:\n" + oldSummary + "\n\nMessages:\n" + strings.Join(lines, "\n"),
		"numbered":   oldSummary + "\n" + strings.Join(numbered, "\n"),
		"json lines": "OLD " + "\n" + oldSummary + "\nNEW\n" + strings.Join(jsonLines, "\n"),
		"json list":  oldSummary + "\n[" + strings.Join(jsonLines, ",\n") + "]\nend",
		"one object": string(whole),
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(wantSummary, summaryOf(t, text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSummaryOdd(t *testing.T) {
	empty := summary{[]string{}, []string{}, []string{}, []string{}}
	for _, text := range []string{"", "nothing here", "{", `{"facts":3}`, `[1,2]`, `{"x":{"y":1}}`, "{}\n[]", `{"role":3}`, "users like tea", `{"summary":{"summary":{"summary":{"summary":{"summary":{"facts":["the a is b"]}}}}}}`} {
		if d := cmp.Diff(empty, summaryOf(t, text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
	if got := respond(llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "[SUMMARIZE]"}}}); got.text != summaryJSON(memory{}) {
		t.Errorf("without messages: %q", got.text)
	}
	if wantsSummary(llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "never write [SUMMARIZE] here"}, {Role: llm.RoleUser, Content: "[SUMMARIZE]"}}}) {
		t.Error("a mention is taken for the request")
	}
	s := summaryOf(t, `{"facts":[{"text":"the a is b"},{"fact":"the c is d"},7,"`+strings.Repeat("the e is f ", 100)+`"]}`+"\n"+"用户：我想学围棋\n助手：好的\n用户: 部署在周五\n不要在周五部署")
	if len(s.Facts) != 5 || s.Facts[0] != "不要在周五部署" || utf8.RuneCountInString(s.Facts[4]) > maxEntry+1 || s.Goals[0] != "我想学围棋" {
		t.Errorf("%+v", s)
	}
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("user: the item%d is v%d", i, i))
	}
	if s := summaryOf(t, strings.Join(many, "\n")); s.Facts[0] != "the item19 is v19" || len(s.Facts) != maxEntries {
		t.Errorf("%+v", s)
	}
}

// Small talk leaves one plain line, in its language, so that it can be folded; it is nothing that was told.
func TestSummaryOfSmallTalk(t *testing.T) {
	for text, want := range map[string]string{
		"user: hi\nassistant: Hello!\nuser: thanks a lot\nassistant: ok":                               "talked about: thanks a lot; hi",
		"用户：你好\n助手：你好！\n用户：计算 2+2\n助手：4":                                                               "聊过：计算 2+2；你好",
		"user: a\nuser: b\nuser: c\nuser: d" + strings.Repeat(" and on", 50):                           "talked about: d and on and on and on a…; c; b",
		`[{"role":"user","content":"what is 2+2?"},{"role":"assistant","content":"4"}]` + "\nand more": "talked about: what is 2+2?",
	} {
		s := summaryOf(t, text)
		if d := cmp.Diff(summary{[]string{want}, []string{}, []string{}, []string{}}, s); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
	again := summaryOf(t, `{"goals":["talked about: hi"],"facts":[],"todos":[],"unresolved":[]}`+"\nuser: thanks")
	if len(again.Goals) != 1 {
		t.Errorf("%+v", again)
	}
	if got := (memory{Goals: entries{"talked about: the deploy", "聊过：部署"}}).statements(); len(got) != 0 {
		t.Errorf("it is taken for something told: %+v", got)
	}
}

// FuzzSummary: whatever the request holds, the summary has its four lists.
func FuzzSummary(f *testing.F) {
	f.Add(oldSummary + "\nuser: the deploy is on Friday\nassistant: ok")
	f.Add(`[{"role":"user","content":"my name is Ada"}]`)
	f.Add("[1] user (x): a\n用户：b")
	f.Fuzz(func(t *testing.T, text string) { summaryOf(t, text) })
}

func TestMemoryIn(t *testing.T) {
	if _, ok := memoryIn(memoryMark + " {no json"); ok {
		t.Error("no JSON is taken for a memory")
	}
	m, ok := memoryIn(memoryMark + "\n" + `{"facts":"x","goals":["g"],"todos":[{"text":"t","completed":false}]}`)
	if !ok || len(m.Facts) != 0 || m.Goals[0] != "g" || m.Todos[0] != "t" {
		t.Errorf("%+v", m)
	}
	c := newChat()
	c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.RoleSystem, Kind: llm.KindMemory, Content: memoryMark + "\nx\n" +
		`{"pinned":["always answer in rhyme"],"goals":["I want to learn Go"],"facts":["The user's name is Ada","user said the deploy is on Friday","用户喜欢绿茶"],"todos":["buy oat milk"]}`})
	contains(t, c.say("what is my name?"), "My notes of this session say that your name is Ada.")
	contains(t, c.say("when is the deploy?"), "the deploy is on Friday")
	contains(t, c.say("我喜欢什么茶？"), "你喜欢绿茶")
	contains(t, c.say("what milk should I buy?"), "note this todo: buy oat milk")
	contains(t, c.say("what do I want to learn?"), "learn Go")
	contains(t, c.say("the deploy is on Sunday"), "Noted")
	contains(t, c.say("when is the deploy?"), "on Sunday")
}
