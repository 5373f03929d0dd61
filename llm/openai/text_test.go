package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
)

// thoughts splits pieces of text with tags.
func splitTags(pieces ...string) (reasoning, text string, split bool) {
	var tg tags
	for _, p := range pieces {
		r, s := tg.add(p)
		if tg.void {
			reasoning, text, tg.void = reasoning+text, "", false
		}
		reasoning, text = reasoning+r, text+s
	}
	r, s := tg.flush(true, false)
	return reasoning + r, text + s, tg.split || tg.stray || tg.told
}

func TestTags(t *testing.T) {
	for in, want := range map[string][3]string{
		"<think>r</think>t": {"r", "t", "x"}, " \n<think>r</think> \n t": {"r", "t", "x"}, "<think>r": {"r", "", "x"}, "<think>r</thin": {"r</thin", "", "x"}, "<thin": {"", "<thin", ""},
		"<thinker>": {"", "<thinker>", ""}, "t <think>no</think>": {"", "t <think>no</think>", "x"}, "r</think>t": {"", "r</think>t", "x"}, "r.</think>t": {"", "r.</think>t", "x"}, "r.</think>\nt": {"r.", "t", "x"}, "r。</think>\r\nt": {"r。", "t", "x"}, "</think>\n\nt": {"", "t", "x"}, "": {"", "", ""}, " ": {"", " ", ""},
		"<think></think>": {"", "", "x"}, "a < b": {"", "a < b", ""},
		"r</think>": {"", "r</think>", "x"}, "r.\n</think>\n\n": {"", "r.\n</think>\n\n", "x"}, "You close it with </think>.": {"", "You close it with </think>.", ""}, "It ends with </think>\nwhich": {"", "It ends with </think>\nwhich", ""},
		"It ends.\n</think>" + strings.Repeat("\n", maxBlank+1) + "t": {"", "It ends.\n</think>" + strings.Repeat("\n", maxBlank+1) + "t", "x"}, "Write <b></think>\n": {"", "Write <b></think>\n", "x"}, "It is `</think>`.\n</think>\nt": {"", "It is `</think>`.\n</think>\nt", ""},
		"r\n</think>\n\nt </think> u": {"r\n", "t </think> u", "x"}, "the tag `</think>` ends it": {"", "the tag `</think>` ends it", ""}, "say \"</think>\"": {"", "say \"</think>\"", ""},
		"so:\n```\nx</think>\n```\n": {"", "so:\n```\nx</think>\n```\n", ""}, "a```b```c.</think>\nt": {"a```b```c.", "t", "x"}, "<think>a</think>b</think>c": {"a", "b</think>c", "x"}, "<think>a<b</think>c": {"a<b", "c", "x"},
	} {
		for i := range len(in) + 1 {
			r, s, split := splitTags(in[:i], in[i:])
			if r != want[0] || s != want[1] || split != (want[2] != "") {
				t.Errorf("%q | %q: %q, %q, %v", in[:i], in[i:], r, s, split)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"<think>", "</think>", "<", "/", "think>", "a", " ", "</", "\n", "`", "```", "\""}), 0, 10).Draw(t, "pieces")
		r, s, split := splitTags(pieces...)
		r2, s2, split2 := splitTags(strings.Join(pieces, ""))
		if r != r2 || s != s2 || split != split2 {
			t.Fatalf("in pieces %q %q %v, as a whole %q %q %v", r, s, split, r2, s2, split2)
		}
	})
	for in, want := range map[string][2]string{"r</think>t": {"r", "t"}, " r</think>\n\n": {"r", ""}, "<think>r</think>t": {"r", "t"}, "r</think>t.\n</think>\nu": {"r", "t.\n</think>\nu"}, "t": {"", "t"}, "": {"", ""}, "<thi": {"", "<thi"}, "a </think": {"", "a </think"}} {
		for i := range len(in) + 1 {
			tg := tags{early: true}
			r1, s1 := tg.add(in[:i])
			r2, s2 := tg.add(in[i:])
			r3, s3 := tg.flush(true, false)
			if got := s1 + s2 + s3; got != want[1] || want[0] != "" && r1+r2+r3 != want[0] {
				t.Errorf("early, %q | %q: %q, %q, want %q", in[:i], in[i:], r1+r2+r3, got, want)
			}
		}
	}
	off := tags{off: true}
	if r, s := off.add("<think>r</think>t"); r != "" || s != "<think>r</think>t" {
		t.Errorf("%q %q", r, s)
	}
}

// B107: an answer that ends in the end of reasoning, or speaks of it, is not lost; where reasoning comes in a field of its own, from
// who tells them apart by themselves, and in a shape, no such end is looked for. What was held back as a call is thought too.
func TestTagsInReplies(t *testing.T) {
	const call = `<tool_call>{"name":"shell","arguments":{}}</tool_call>`
	open := profile.Builtin().Choose("", "https://api.openai.com/v1", "gpt-5").Profile
	seek := profile.Builtin().Choose("", "https://api.deepseek.com/v1", "deepseek-reasoner").Profile
	parse := generic(habits{})
	parse.TextCalls = profile.TextCallsParse
	shaped := llm.Request{Schema: &llm.Schema{}}
	thought := llmtest.Reasoning("hm")
	for name, c := range map[string]struct {
		how             dialect
		req             llm.Request
		steps           []llmtest.Step
		text, reasoning string
		calls           int
	}{
		"stray":        {generic(habits{}), llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>"), llmtest.Text("\n\nt")}, "t", "r.\n", 0},
		"nothing left": {generic(habits{}), llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>"), llmtest.Text("\n\n")}, "r.\n</think>\n\n", "", 0},
		"calls left":   {generic(habits{}), llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>\n"), llmtest.CallHead(0, "c", "shell"), llmtest.CallArguments(0, "{}")}, "", "r.\n", 1},
		"own field":    {generic(habits{}), llm.Request{}, []llmtest.Step{thought, llmtest.Text("r.\n</think>\nt")}, "r.\n</think>\nt", "hm", 0},
		"openai":       {dialect{Profile: open}, llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>\nt")}, "r.\n</think>\nt", "", 0},
		"deepseek":     {dialect{Profile: seek}, llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>\nt")}, "r.\n</think>\nt", "", 0},
		"shaped":       {generic(habits{}), shaped, []llmtest.Step{llmtest.Text("{\"a\":\"r.</think>\n\"}")}, "{\"a\":\"r.</think>\n\"}", "", 0},
		"thought of a call": {parse, llm.Request{Tools: []llm.ToolSpec{{Name: "shell"}}}, []llmtest.Step{llmtest.Text("I could " + call), llmtest.Text(".\n</think>"), llmtest.Text("\nt")},
			"t", "I could " + call + ".\n", 0},
		"call after a thought one": {parse, llm.Request{Tools: []llm.ToolSpec{{Name: "shell"}}}, []llmtest.Step{llmtest.Text("I could " + call + "\n</think>\nt" + call)}, "t", "I could " + call + "\n", 1},
	} {
		reply, err := playIn(t, c.how, c.req, false, strings.NewReader(stream(append(c.steps, llmtest.Finish("stop"), llmtest.DoneMark())...)))
		if err != nil || reply.Text != c.text || reply.Reasoning != c.reasoning || len(reply.ToolCalls) != c.calls {
			t.Errorf("%s: text %q, reasoning %q, %d calls (%v)", name, reply.Text, reply.Reasoning, len(reply.ToolCalls), err)
		}
	}
}

// A call in the text is read only where a profile says so, when all of it is calls of tools that were offered.
func TestTextCalls(t *testing.T) {
	tools := []llm.ToolSpec{{Name: "shell"}, {Name: "todo"}}
	how := generic(habits{})
	how.TextCalls = profile.TextCallsParse
	for in, want := range map[string]string{
		`<tool_call>{"name":"shell","arguments":{"cmd": "ls"}}</tool_call>`:                                                                    "|text_0 shell {\"cmd\":\"ls\"}",
		"first\n<tool_call>\n{\"name\":\"shell\",\"arguments\":{}}\n</tool_call>\n<tool_call>{\"name\":\"todo\",\"arguments\":{}}</tool_call>": "first\n|text_0 shell {}|text_1 todo {}",
		`[TOOL_CALLS][{"name":"shell","arguments":{}},{"name":"todo","arguments":{"a":1}}]`:                                                    "|text_0 shell {}|text_1 todo {\"a\":1}",
		`[TOOL_CALLS] [{"name":"shell","arguments":{}}]`:                                                                                       "|text_0 shell {}",
		`<|python_tag|>{"name":"shell","parameters":{"cmd":"ls"}}<|eom_id|>`:                                                                   "|text_0 shell {\"cmd\":\"ls\"}",
		`<function=shell>{"cmd":"ls"}</function>`:                                                                                              "|text_0 shell {\"cmd\":\"ls\"}",
		`<tool_call>{"name":"other","arguments":{}}</tool_call>`:                                                                               `<tool_call>{"name":"other","arguments":{}}</tool_call>`,
		`<tool_call>{"name":"shell","arguments":{}}</tool_call> is how it is written`:                                                          `<tool_call>{"name":"shell","arguments":{}}</tool_call> is how it is written`,
		`<tool_call>{"name":"shell","arguments":{"cmd":`:                                                                                       `<tool_call>{"name":"shell","arguments":{"cmd":`,
		`<tool_call>{"name":"shell","arguments":"x"}</tool_call>`:                                                                              `<tool_call>{"name":"shell","arguments":"x"}</tool_call>`,
		`<tool_call>7</tool_call>`:                                                                                                             `<tool_call>7</tool_call>`,
		`[TOOL_CALLS][]`:                                                                                                                       `[TOOL_CALLS][]`,
		`<function=shell`:                                                                                                                      `<function=shell`,
		"a < b, a [1] <too":                                                                                                                    "a < b, a [1] <too",
		"```json\n{\"name\":\"shell\",\"arguments\":{}}\n```":                                                                                  "```json\n{\"name\":\"shell\",\"arguments\":{}}\n```",
	} {
		for _, n := range []int{1, 4, 1 << 20} {
			var steps []llmtest.Step
			for rest := in; rest != ""; {
				k := min(n, len(rest))
				steps, rest = append(steps, llmtest.Text(rest[:k])), rest[k:]
			}
			reply, err := playIn(t, how, llm.Request{Tools: tools}, false, strings.NewReader(stream(append(steps, llmtest.Finish("stop"), llmtest.DoneMark())...)))
			got := reply.Text
			for _, c := range reply.ToolCalls {
				got += "|" + c.ID + " " + c.Name + " " + c.Arguments
			}
			if err != nil || got != want {
				t.Errorf("%q by %d: %q, want %q (%v)", in, n, got, want, err)
			}
		}
	}
	long := "<tool_call>" + strings.Repeat("x", maxLeak)
	reply, err := playIn(t, how, llm.Request{Tools: tools}, false, strings.NewReader(stream(llmtest.Text(long[:100]), llmtest.Text(long[100:]), llmtest.Text("end"), llmtest.Finish("stop"))))
	if err != nil || reply.Text != long+"end" {
		t.Errorf("%d bytes of %d, %v", len(reply.Text), len(long)+3, err)
	}
	if reply, _ := playIn(t, how, llm.Request{}, false, strings.NewReader(stream(llmtest.Text(`<function=shell>{}</function>`), llmtest.Finish("stop")))); len(reply.ToolCalls) > 0 {
		t.Error("a call was read though no tool was offered")
	}
}

// Reasoning is bounded in what is kept of it, and comes back to its family alone; blocks of OpenRouter come back as they were.
func TestReasoningIsKept(t *testing.T) {
	piece := strings.Repeat("hm ", 1000)
	var steps []llmtest.Step
	for range maxKept/len(piece) + 1 {
		steps = append(steps, llmtest.Reasoning(piece))
	}
	reply := whole(t, stream(append(steps, llmtest.Text("x"), llmtest.Finish("stop"))...))
	if len(reply.Reasoning) < maxKept || len(reply.Extra) > 0 || len(reply.Notes) != 1 || reply.Notes[0].Code != noteLost {
		t.Errorf("%d bytes, kept %d, notes %+v", len(reply.Reasoning), len(reply.Extra), reply.Notes)
	}
	block := func(fields string) string { return `{"choices":[{"delta":{"reasoning_details":[` + fields + `]}}]}` }
	reply = whole(t, data(block(`{"type":"reasoning.text","index":0,"text":"I "}`), block(`{"type":"reasoning.text","index":0,"text":"think","signature":null}`),
		block(`{"type":"reasoning.text","index":0,"signature":"s1"},{"type":"reasoning.encrypted","index":1,"data":"AAA"}`), block(`null,7`), block(`{"type":"reasoning.text","text":"no index"}`), end))
	want := `{"reasoning_details":[{"index":0,"signature":"s1","text":"I think","type":"reasoning.text"},{"data":"AAA","index":1,"type":"reasoning.encrypted"},{"text":"no index","type":"reasoning.text"}],"vitrine_origin":"h"}`
	if d := cmp.Diff(want, string(reply.Extra)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	m := said("x")
	m.Extra = json.RawMessage(want)
	if sent := body(t, habits{}, user("u"), m, user("v")); !strings.Contains(sent, `"signature":"s1"`) || strings.Contains(sent, originField) {
		t.Errorf("sent %s", sent)
	}
	m.Extra = json.RawMessage(strings.Replace(want, `"h"`, `"other"`, 1))
	if sent := body(t, habits{}, user("u"), m, user("v")); strings.Contains(sent, "signature") {
		t.Errorf("sent %s", sent)
	}
	big := block(`{"type":"t","index":0,"data":"` + strings.Repeat("A", maxDetails/2) + `"}`)
	reply = whole(t, data(big, big, big, end))
	if len(reply.Extra) > 0 || len(reply.Notes) != 1 {
		t.Errorf("kept %d bytes, notes %+v", len(reply.Extra), reply.Notes)
	}
}

// Notes are clean whatever a model calls its tools; Record checks it.
func TestNotesAreClean(t *testing.T) {
	reply := whole(t, deltas(entry(0, "c1", "\x1b[31mread\x07_file\u202e", `{"path":"half`)))
	if len(reply.Notes) != 1 || reply.Notes[0].Message != "the arguments of read_file end in the middle" {
		t.Errorf("notes %+v", reply.Notes)
	}
}

// What goes back in which dialect. B107: the field keeps its name, or gets the one that the profile says.
func TestDialects(t *testing.T) {
	mine := said("t")
	mine.Extra = json.RawMessage(`{"reasoning":"r","vitrine_origin":"h","other":1}`)
	foreign := said("f")
	foreign.Extra = json.RawMessage(`{"reasoning":"r","vitrine_origin":"elsewhere","other":1}`)
	for name, c := range map[string]struct {
		change func(*dialect)
		in     []llm.Message
		want   string
	}{
		"fill": {func(d *dialect) { d.Reasoning, d.ReasoningField = profile.ReasoningFill, "reasoning_content" }, []llm.Message{user("u"), mine, user("v"), foreign, user("w"), said("s")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":"t","other":1,"reasoning_content":"r"},{"role":"user","content":"v"},{"role":"assistant","content":"f","reasoning_content":""},{"role":"user","content":"w"},{"role":"assistant","content":"s","reasoning_content":""}]`},
		"fill, as it came": {func(d *dialect) { d.Reasoning = profile.ReasoningFill }, []llm.Message{user("u"), mine, user("v"), said("s")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":"t","other":1,"reasoning":"r"},{"role":"user","content":"v"},{"role":"assistant","content":"s","reasoning_content":""}]`},
		"reply": {func(d *dialect) { d.Reasoning = profile.ReasoningReply }, []llm.Message{user("u"), mine, user("v"), said("s")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":"t","other":1,"reasoning":"r"},{"role":"user","content":"v"},{"role":"assistant","content":"s"}]`},
		"empty content": {func(d *dialect) { d.EmptyContent = profile.ContentEmpty }, []llm.Message{user("u"), said("", toolCall("c", "{}")), result("c", "r")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c"}]`},
		"no content": {func(d *dialect) { d.EmptyContent = profile.ContentOmit }, []llm.Message{user("u"), said("", toolCall("c", "{}")), result("c", "r")},
			`[{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c"}]`},
		"user after a tool": {func(d *dialect) { d.UserAfterTool = false }, []llm.Message{user("u"), said("", toolCall("c", "{}")), result("c", "r"), user("v")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c"},{"role":"assistant","content":"Noted."},{"role":"user","content":"v"}]`},
		"late system": {func(d *dialect) { d.LateSystem, d.SystemRole = true, profile.RoleDeveloper }, []llm.Message{sys("s"), memo("m"), user("u"), sys("late")},
			`[{"role":"developer","content":"s\n\nm"},{"role":"user","content":"u"},{"role":"developer","content":"late"}]`},
		"answers without calls, calls without answers": {func(*dialect) {}, []llm.Message{user("u"), result("x", "r"), said("", toolCall("c", "{}")), user("v"), said("", toolCall("c", "{}")), result("c", "2")},
			`[{"role":"user","content":"u"},{"role":"tool","content":"r","tool_call_id":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"v"},{"role":"assistant","content":null,"tool_calls":[{"id":"c_2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"2","tool_call_id":"c_2"}]`},
	} {
		d := generic(habits{})
		c.change(&d)
		b, err := marshal(wireMessages(c.in, d, nil))
		if diff := cmp.Diff(c.want, string(b)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
