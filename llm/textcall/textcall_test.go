package textcall

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
)

func tools() []llm.ToolSpec {
	return []llm.ToolSpec{
		{Name: "sum", Schema: json.RawMessage(`{"type":"object","properties":{"of":{"type":"string"},"top":{"type":"integer"},"all":{"type":"boolean"},"list":{"type":"array"}}}`)},
		{Name: "now"},
	}
}

// forms are the ways in which models write a call, each of sum with 1+1.
var forms = map[string]string{
	"Hermes, Qwen":     `<tool_call>` + "\n" + `{"name": "sum", "arguments": {"of": "1+1"}}` + "\n</tool_call>",
	"not closed":       `<tool_call>{"name":"sum","arguments":{"of":"1+1"}}`,
	"encoded twice":    `<tool_call>{"name":"sum","arguments":"{\"of\":\"1+1\"}"}</tool_call>`,
	"more than a call": `<tool_call>{"name":"sum","why":"so","arguments":{"of":"1+1"}}</tool_call>`,
	"as on the wire":   `<tool_call>{"id":"1","type":"function","function":{"name":"sum","arguments":"{\"of\":\"1+1\"}"}}</tool_call>`,
	"Mistral":          `[TOOL_CALLS] [{"name":"sum","arguments":{"of":"1+1"}}]</s>`,
	"Mistral, newer":   `[TOOL_CALLS]sum[ARGS]{"of":"1+1"}`,
	"Mistral with id":  `[TOOL_CALLS]sum[CALL_ID]abc[ARGS]{"of":"1+1"}`,
	"Mistral, short":   `[TOOL_CALLS]sum{"of":"1+1"}`,
	"Llama":            `<|python_tag|>{"type":"function","name":"sum","parameters":{"of":"1+1"}}<|eom_id|>`,
	"Llama, function":  `<function=sum>{"of":"1+1"}</function>`,
	"Qwen Coder":       "<tool_call>\n<function=sum>\n<parameter=of>\n1+1\n</parameter>\n</function>\n</tool_call>",
	"Qwen Coder, bare": "<function=sum>\n<parameter=of>\n1+1\n</parameter>\n</function>\n</tool_call>",
	"GLM":              "<tool_call>sum\n<arg_key>of</arg_key>\n<arg_value>1+1</arg_value>\n</tool_call>",
	"Kimi":             `<|tool_calls_section_begin|><|tool_call_begin|>functions.sum:0<|tool_call_argument_begin|>{"of":"1+1"}<|tool_call_end|><|tool_calls_section_end|>`,
	"DeepSeek":         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>sum\n```json\n{\"of\":\"1+1\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
	"DeepSeek 3.1":     `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>sum<｜tool▁sep｜>{"of":"1+1"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
	"DeepSeek 3.2":     `<｜DSML｜function_calls><｜DSML｜invoke name="sum"><｜DSML｜parameter name="of" string="true">1+1</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`,
	"MiniMax":          "<minimax:tool_call>\n<invoke name=\"sum\">\n<parameter name=\"of\">1+1</parameter>\n</invoke>\n</minimax:tool_call>",
	"invoke":           "<function_calls>\n<invoke name=\"sum\">\n<parameter name=\"of\">1+1</parameter>\n</invoke>\n</function_calls>",
	"gpt-oss":          `<|channel|>commentary to=functions.sum <|constrain|>json<|message|>{"of":"1+1"}<|call|>`,
	"Granite":          `<|tool_call|>[{"name":"sum","arguments":{"of":"1+1"}}]`,
}

// B106: each form is read, twice in a row too, and begins with an opening; half of it is none, but where only what closes it is missing.
func TestForms(t *testing.T) {
	one := Call{"sum", `{"of":"1+1"}`}
	for name, text := range forms {
		calls, rest := Read(text, tools())
		if d := cmp.Diff([]Call{one}, calls); d != "" || rest != "" {
			t.Errorf("%s: %s, rest %q", name, d, rest)
		}
		if calls, rest = Read(text+"\n"+text, tools()); len(calls) != 2 || rest != "" {
			t.Errorf("%s: of two %d, rest %q", name, len(calls), rest)
		}
		if calls, rest = Read(text+" That is it.", tools()); len(calls) != 1 || rest == "" {
			t.Errorf("%s: what follows is taken for a call: %v", name, calls)
		}
		begins := false
		for _, o := range Openings() {
			begins = begins || strings.HasPrefix(text, o)
		}
		if !begins {
			t.Errorf("%s: it has no opening", name)
		}
		for i := range len(text) {
			if calls, _ := Read(text[:i], tools()); len(calls) > 0 && calls[0] != one {
				t.Errorf("%s: cut at %d it is %v", name, i, calls)
			}
		}
	}
}

// What parameters in tags mean is said by the tool: text stays text.
func TestValuesByTheSchema(t *testing.T) {
	text := "<function=sum><parameter=of>\n12\n</parameter><parameter=top>3</parameter><parameter=all>true</parameter><parameter=list>[1, \"<b>\"]</parameter><parameter=other>7</parameter></function>"
	calls, rest := Read(text, tools())
	want := []Call{{"sum", `{"all":true,"list":[1,"<b>"],"of":"12","other":"7","top":3}`}}
	if d := cmp.Diff(want, calls); d != "" || rest != "" {
		t.Error(d, rest)
	}
	calls, _ = Read("<tool_call>now</tool_call>", tools())
	if d := cmp.Diff([]Call{{"now", `{}`}}, calls); d != "" {
		t.Error(d)
	}
}

// B106: nothing is guessed.
func TestNoCalls(t *testing.T) {
	for _, text := range []string{
		"", "sum", "Use <tool_call> for that.", `<tool_call>{"name":"rm","arguments":{}}</tool_call>`, `<tool_call>{"name":"sum"}</tool_call>`,
		`<tool_call>{'name':'sum','arguments':{}}</tool_call>`, `<tool_call>{"name":"sum","arguments":[1]}</tool_call>`, `<tool_call>{"name":"sum","arguments":"x"}</tool_call>`,
		`[TOOL_CALLS][]`, `[TOOL_CALLS]rm[ARGS]{}`, `<function=sum>`, `<function=rm>{}</function>`, `<function=sum><parameter=of>1`, `<function=sum>text</function>`,
		`<tool_call>sum<arg_key>of</arg_key></tool_call>`, `<invoke name="rm"></invoke>`, `<|channel|>commentary to=functions.sum`, `<｜tool▁call▁begin｜>sum`,
	} {
		if calls, _ := Read(text, tools()); len(calls) > 0 {
			t.Errorf("%q is %v", text, calls)
		}
	}
}

// JSON that is all of a reply is a call when it has nothing but what calls have.
func TestBare(t *testing.T) {
	const call = ` {"name":"sum","parameters":{"of":"1+1"}} `
	for text, want := range map[string]int{
		call: 1, call + "\n" + call: 2, `{"type":"function","name":"sum","arguments":{}}`: 1, "": 0, "[" + call + "]": 0, call + "x": 0, "So: " + call: 0,
		`{"name":"sum","arguments":{},"price":3}`: 0, `{"name":"Ada","arguments":{}}`: 0, `{"name":"sum"}`: 0, "<tool_call>" + call: 0,
	} {
		if got := ReadBare(text, tools()); len(got) != want {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// FuzzRead: no text breaks the reader, and what it reads can be run.
func FuzzRead(f *testing.F) {
	for _, text := range forms {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		calls, rest := Read(text, tools())
		if len(rest) > len(text) {
			t.Fatalf("%d bytes left %d", len(text), len(rest))
		}
		for _, c := range append(calls, ReadBare(text, tools())...) {
			if c.Name != "sum" && c.Name != "now" || !json.Valid([]byte(c.Arguments)) || c.Arguments[0] != '{' {
				t.Fatalf("%q is %v", text, c)
			}
		}
	})
}

// TestCorpusIsKept: what the fuzzer found stays, and is played with every test.
func TestCorpusIsKept(t *testing.T) {
	if files, err := filepath.Glob(filepath.Join("testdata", "fuzz", "FuzzRead", "*")); err != nil || len(files) == 0 {
		t.Errorf("no corpus: %v", err)
	}
}
