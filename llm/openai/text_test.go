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

// splitTags splits pieces of text of a model that may think.
func splitTags(pieces ...string) (reasoning, text string, split bool) {
	return splitWith(tags{may: true}, pieces...)
}

func splitWith(tg tags, pieces ...string) (reasoning, text string, split bool) {
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
		"so:\n```\nx</think>\n```\n": {"", "so:\n```\nx</think>\n```\n", ""}, "so:\n~~~~\nx\n</think>\ny\n~~~~\n": {"", "so:\n~~~~\nx\n</think>\ny\n~~~~\n", ""}, "~~~\na\n~~~\nb\n</think>\nc": {"~~~\na\n~~~\nb\n", "c", "x"},
		"```\n~~~\n```\nr.\n</think>\nt": {"```\n~~~\n```\nr.\n", "t", "x"}, "as `a.</think>\nb`": {"", "as `a.</think>\nb`", ""}, "as ``a ` b.</think>\nt": {"", "as ``a ` b.</think>\nt", ""}, "a `b` c ``d`` ~e.</think>\nt": {"a `b` c ``d`` ~e.", "t", "x"}, "it's `a\nb.</think>\nt": {"it's `a\nb.", "t", "x"},
		"a```b```c.</think>\nt": {"a```b```c.", "t", "x"}, "<think>a</think>b</think>c": {"a", "b</think>c", "x"}, "<think>a<b</think>c": {"a<b", "c", "x"},
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
	testUnknownThinker(t)
	off := tags{off: true}
	if r, s := off.add("<think>r</think>t"); r != "" || s != "<think>r</think>t" {
		t.Errorf("%q %q", r, s)
	}
}

// Of a model of which nobody says that it thinks, an end without a beginning is text, alone in its line too; where a form was asked for,
// what stands before the end is thought when the form begins behind it and not before.
func testUnknownThinker(t *testing.T) {
	react := []string{"{", "```", "Thought", "Final Answer"}
	for _, c := range []struct {
		opens                   []string
		in, reasoning, text, is string
	}{
		{nil, "It ends with\n</think>\nand then the answer.", "", "It ends with\n</think>\nand then the answer.", "x"},
		{nil, "</think>\n\nt", "", "</think>\n\nt", "x"}, {nil, "r.</think>\n{\"a\":1}", "", "r.</think>\n{\"a\":1}", "x"}, {nil, "<think>r</think>t", "r", "t", "x"},
		{jsonOpens, "So {\"a\":0}? No.\n</think>\n\n{\"a\":1}", "So {\"a\":0}? No.\n", "{\"a\":1}", "x"}, {jsonOpens, "r</think>{\"a\":1}", "r", "{\"a\":1}", "x"}, {jsonOpens, "r</think>```json\n{}", "r", "```json\n{}", "x"},
		{jsonOpens, "r\n</think>\n\nIt is 1.", "", "r\n</think>\n\nIt is 1.", "x"}, {jsonOpens, "{\"a\":\"r.</think>\n{\"}", "", "{\"a\":\"r.</think>\n{\"}", ""}, {jsonOpens, "a `</think>`{", "", "a `</think>`{", ""},
		{react, "hm.\n</think>\nTHOUGHT: x", "hm.\n", "THOUGHT: x", "x"}, {react, "hm.\n</think>\n\nFinal answer: x", "hm.\n", "Final answer: x", "x"}, {react, "hm\n</think>\nFinally", "", "hm\n</think>\nFinally", "x"},
		{react, "hm\n</think>\nFinal", "", "hm\n</think>\nFinal", "x"}, {react, "Thought: a\n</think>\nFinal Answer: x", "", "Thought: a\n</think>\nFinal Answer: x", ""}, {react, "Though", "", "Though", ""}, {react, "``", "", "``", ""},
		{react, "<think>a</think>\nFinal Answer: x", "a", "Final Answer: x", "x"},
	} {
		for i := range len(c.in) + 1 {
			r, s, split := splitWith(tags{opens: c.opens}, c.in[:i], c.in[i:])
			if r != c.reasoning || s != c.text || split != (c.is != "") {
				t.Errorf("%q | %q: %q, %q, %v", c.in[:i], c.in[i:], r, s, split)
			}
		}
	}
	for in, want := range map[string][2]string{"I could {\"a\":0}.\n</think>\n{\"a\":1}": {"I could {\"a\":0}.\n", "{\"a\":1}"}, "It is `</think>`. {\"a\":1}": {"", "It is `</think>`. {\"a\":1}"}, "It is 66.": {"", "It is 66."}, "r.\n</think>\n\nIt is 66.": {"r.\n", "It is 66."}, "x </": {"", "x </"}, "r.\n</think>": {"", "r.\n</think>"}} {
		for i := range len(in) + 1 {
			tg := tags{may: true, opens: jsonOpens}
			r, s := tg.add(in[:i])
			r2, s2 := tg.add(in[i:])
			r3, s3 := tg.flush(true, false)
			if tg.void || r+r2+r3 != want[0] || s+s2+s3 != want[1] || strings.HasPrefix(s, "I could") {
				t.Errorf("may, %q | %q: %q, %q", in[:i], in[i:], r+r2+r3, s+s2+s3)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		opens := rapid.SampledFrom([][]string{nil, jsonOpens, react}).Draw(t, "opens")
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"<think>", "</think>", "<", "think>", "a", "Fin", "al Answer", "{", " ", "\n", "`", "~~~", "\""}), 0, 10).Draw(t, "pieces")
		whole := strings.Join(pieces, "")
		r, s, split := splitWith(tags{opens: opens}, pieces...)
		r2, s2, split2 := splitWith(tags{opens: opens}, whole)
		if r != r2 || s != s2 || split != split2 {
			t.Fatalf("in pieces %q %q %v, as a whole %q %q %v", r, s, split, r2, s2, split2)
		}
		if opens == nil && !strings.HasPrefix(strings.TrimSpace(whole), "<think>") && (r != "" || s != whole) {
			t.Fatalf("%q gives %q and %q", whole, r, s)
		}
	})
}

// B107: an answer that ends in the end of reasoning, or speaks of it, is not lost; where reasoning comes in a field of its own, from
// who tells them apart by themselves, and in a shape, no such end is looked for. What was held back as a call is thought too.
func TestTagsInReplies(t *testing.T) {
	const call = `<tool_call>{"name":"shell","arguments":{}}</tool_call>`
	open := profile.Builtin().Choose("", "https://api.openai.com/v1", "gpt-5").Profile
	seek := profile.Builtin().Choose("", "https://api.deepseek.com/v1", "deepseek-reasoner").Profile
	parse := generic(habits{})
	parse.TextCalls, parse.MayThink = profile.TextCallsParse, true
	thinker := generic(habits{})
	thinker.MayThink = true
	early := generic(habits{})
	early.StartsThinking = true
	shaped := llm.Request{Schema: &llm.Schema{}}
	thought := llmtest.Reasoning("hm")
	for name, c := range map[string]struct {
		how             dialect
		req             llm.Request
		steps           []llmtest.Step
		text, reasoning string
		calls           int
	}{
		"stray":               {thinker, llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>"), llmtest.Text("\n\nt")}, "t", "r.\n", 0},
		"nothing left":        {thinker, llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>"), llmtest.Text("\n\n")}, "r.\n</think>\n\n", "", 0},
		"unknown":             {generic(habits{}), llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>"), llmtest.Text("\n\nt")}, "r.\n</think>\n\nt", "", 0},
		"field, early":        {early, llm.Request{}, []llmtest.Step{thought, llmtest.Text("the answer"), llmtest.Text(" </think> of it")}, "the answer </think> of it", "hm", 0},
		"no room":             {thinker, shaped, []llmtest.Step{llmtest.Text("Let me see.\n</think>\n"), llmtest.Text("{\"a\":1}")}, "{\"a\":1}", "Let me see.\n", 0},
		"shape, unknown":      {generic(habits{}), shaped, []llmtest.Step{llmtest.Text("Let me see {\"a\":2}.</thi"), llmtest.Text("nk>"), llmtest.Text("{\"a\":1}")}, "{\"a\":1}", "Let me see {\"a\":2}.", 0},
		"calls left, unknown": {generic(habits{}), llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>\n"), llmtest.CallHead(0, "c", "shell"), llmtest.CallArguments(0, "{}")}, "r.\n</think>\n", "", 1},
		"calls left":          {thinker, llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>\n"), llmtest.CallHead(0, "c", "shell"), llmtest.CallArguments(0, "{}")}, "", "r.\n", 1},
		"own field":           {thinker, llm.Request{}, []llmtest.Step{thought, llmtest.Text("r.\n</think>\nt")}, "r.\n</think>\nt", "hm", 0},
		"openai":              {dialect{Profile: open}, llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>\nt")}, "r.\n</think>\nt", "", 0},
		"deepseek":            {dialect{Profile: seek}, llm.Request{}, []llmtest.Step{llmtest.Text("r.\n</think>\nt")}, "r.\n</think>\nt", "", 0},
		"shaped":              {generic(habits{}), shaped, []llmtest.Step{llmtest.Text("{\"a\":\"r.</think>\n\"}")}, "{\"a\":\"r.</think>\n\"}", "", 0},
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

// Who tells reasoning and text apart by themselves leaves no tag in the text that is one: at OpenAI, DeepSeek and Moonshot a reply that
// begins with a tag is an answer, streams as it comes and is told of in no note, unless the configuration says otherwise. Everywhere
// else, and under such a name elsewhere, it is taken out.
func TestThinkTagsOfProfiles(t *testing.T) {
	const in = "<think>r</think>t"
	play := func(set profile.Set, name, base, model string) (llm.Reply, profile.Profile) {
		p := set.Choose(name, base, model).Profile
		reply, err := playIn(t, dialect{Profile: p}, llm.Request{}, false, strings.NewReader(stream(llmtest.Text(in[:4]), llmtest.Text(in[4:]), llmtest.Finish("stop"), llmtest.DoneMark())))
		if err != nil {
			t.Fatal(err)
		}
		return reply, p
	}
	for base, model := range map[string]string{"https://api.openai.com/v1": "gpt-5", "https://api.deepseek.com/v1": "deepseek-reasoner", "https://api.moonshot.ai/v1": "kimi-k2-thinking"} {
		reply, p := play(profile.Builtin(), "", base, model)
		if reply.Text != in || reply.Reasoning != "" || len(reply.Notes) > 0 {
			t.Errorf("%s: %q, %q, %+v", base, reply.Text, reply.Reasoning, reply.Notes)
		}
		own, err := profile.Parse([]byte("[profile." + p.Name + "]\nthink_tags = true\n"))
		if err != nil {
			t.Fatal(err)
		}
		if reply, _ := play(own, "", base, model); reply.Text != "t" || reply.Reasoning != "r" {
			t.Errorf("%s, overridden: %q, %q", base, reply.Text, reply.Reasoning)
		}
	}
	for _, name := range profile.Builtin().Names() {
		reply, p := play(profile.Builtin(), name, "http://h.example/v1", "m")
		if off := name == "openai" || name == "deepseek" || name == "moonshot"; p.ThinkTags == off || (reply.Text == in) != off {
			t.Errorf("%s: %v, %q", name, p.ThinkTags, reply.Text)
		}
	}
}

// Which models may think by themselves is a matter of their names, and of the configuration.
func TestMayThink(t *testing.T) {
	own, err := profile.Parse([]byte("[profile.mine]\nendpoints = ['mine.example']\nmay_think = true\n[[profile.mine.model]]\nmatch = ['plain*']\nmay_think = false\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B": true, "deepseek-r1:8b": true, "Qwen/QwQ-32B": true, "Qwen3-4B-Thinking-2507": true, "qwen3:8b": true, "phi-4-reasoning": true, "glm-4.6": true,
		"qwen3-coder:30b": false, "Qwen3-30B-A3B-Instruct-2507": false, "llama3.2:1b": false, "gpt-4o-mini": false, "SmolLM2-135M-Instruct": false, "deepseek-chat": false, "mistral-large": false, "any": false, "": false,
	} {
		if got := profile.Builtin().Choose("", "http://127.0.0.1:8000/v1", name).MayThink; got != want {
			t.Errorf("%s: %v", name, got)
		}
		if got := own.Choose("", "http://mine.example/v1", name).MayThink; !got && !strings.Contains(strings.ToLower(name), "coder") && !strings.Contains(strings.ToLower(name), "instruct") {
			t.Errorf("%s, where all may: %v", name, got)
		}
	}
	if own.Choose("", "http://mine.example/v1", "plain-r1").MayThink {
		t.Error("a rule for a model counts for nothing")
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
		"instructions of the user": {func(d *dialect) { d.SystemRole = profile.RoleUser }, []llm.Message{sys("s"), memo("m"), user("u"), said("a"), sys("late"), user("v")},
			`[{"role":"user","content":"s\n\nm\n\nlate\n\nu"},{"role":"assistant","content":"a"},{"role":"user","content":"v"}]`},
		"instructions, late too": {func(d *dialect) { d.LateSystem, d.SystemRole = true, profile.RoleUser }, []llm.Message{sys("s"), said("a"), user("u"), sys("late")},
			`[{"role":"user","content":"s"},{"role":"assistant","content":"a"},{"role":"user","content":"u\n\nlate"}]`},
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
