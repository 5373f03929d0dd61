package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tools are what the tests offer.
func tools() []llm.ToolSpec {
	return []llm.ToolSpec{
		{Name: "calculator", Description: "Computes.", Schema: json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}`)},
		{Name: "search_mock", Description: "Looks up.", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"top":{"type":"integer"}},"required":["query"]}`)},
		{Name: "todo", Description: "Keeps todos.", Schema: json.RawMessage(`{"type":"object","properties":{"action":{"type":"string"},"text":{"type":"string"}},"required":["action","text"]}`)},
		{Name: "wait", Description: "Waits.", Schema: json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"integer"}},"required":["seconds"]}`)},
	}
}

// script writes what a play has a model say in a form, as deltas.
func script(form Form, p llmtest.Play) []string {
	if len(p.Calls) == 0 {
		if p.Text == nil {
			return nil
		}
		if form == ReAct {
			return append([]string{"Final Ans", "wer: "}, p.Text...)
		}
		out := []string{"{\"thought\":\"\",\"action\":\"final\",\"final_", `answer":"`}
		for _, t := range p.Text {
			out = append(out, strings.Trim(plainJSON(t), `"`))
		}
		if p.End == llmtest.EndDone {
			out = append(out, `"}`)
		}
		return out
	}
	out := append([]string(nil), p.Text...)
	w := writer{form: form}
	for _, c := range p.Calls {
		text := w.call(c, "")
		if !json.Valid([]byte(c.Arguments)) && form == JSON { // as a model does that breaks off
			text = `{"action":"tool","tool_name":` + plainJSON(c.Name)
			if c.Arguments != "" {
				text += `,"tool_args":` + c.Arguments
			} else {
				text += "}"
			}
		}
		if c.Arguments == "" && form == ReAct {
			text = strings.TrimSuffix(text, "{}") + "None"
		}
		out = append(out, "\n")
		for len(text) > 0 {
			r := []rune(text)
			n := min(5, len(r))
			out = append(out, string(r[:n]))
			text = string(r[n:])
		}
	}
	return out
}

// asWritten puts the ids of a scenario's calls back, which no text has.
type asWritten struct {
	llm.Client
	plays []llmtest.Play
}

func (a asWritten) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for ch, err := range a.Client.Stream(ctx, req) {
			if ch.Done != nil {
				for _, p := range a.plays {
					for i := range min(len(p.Calls), len(ch.Done.ToolCalls)) {
						if len(p.Calls) == len(ch.Done.ToolCalls) && p.Calls[i].ID != "" {
							ch.Done.ToolCalls[i].ID = p.Calls[i].ID
						}
					}
				}
			}
			if !yield(ch, err) {
				return
			}
		}
	}
}

// TestSuite: both forms keep the contract of a client, over a server that is strict about roles and order.
func TestSuite(t *testing.T) {
	for _, form := range []Form{JSON, ReAct} {
		t.Run(string(form), func(t *testing.T) {
			llmtest.Suite(t, func(t *testing.T, s llmtest.Scenario) llm.Client {
				srv := llmtest.NewServer()
				c := openai.New(openai.Config{BaseURL: srv.URL()})
				t.Cleanup(func() {
					c.Close()
					srv.Close()
				})
				text := llmtest.Scenario{Repeat: s.Repeat}
				for _, p := range s.Plays {
					p.Text, p.Calls = script(form, p), nil
					text.Plays = append(text.Plays, p)
				}
				text.Serve(srv.Strict())
				return asWritten{New(c, form), s.Plays}
			})
		})
	}
}

// told is all that a reader and the runtime get of a reply.
type told struct {
	Text, Thought string
	Calls         []string
}

func read(pieces ...string) told {
	p := newParser(tools())
	var got told
	add := func() {
		for _, ch := range p.take() {
			got.Text += ch.Text
			got.Thought += ch.Reasoning
		}
	}
	for _, s := range pieces {
		p.write(s)
		add()
	}
	p.end()
	add()
	for _, c := range p.calls {
		got.Calls = append(got.Calls, c.Name+" "+c.Arguments)
	}
	return got
}

func calls(c ...string) []string { return c }

const sum = `{"action":"tool","tool_name":"calculator","tool_args":{"expression":"1+1"}}`

var jsonReplies = map[string]struct {
	in   string
	want told
}{
	"call":           {`{"thought":"add","action":"tool","tool_name":"calculator","tool_args":{"expression":"1+1"}}`, told{"", "add", calls(`calculator {"expression":"1+1"}`)}},
	"answer":         {`{"thought":"known","action":"final","final_answer":"It is \"66\".\nDone \u4e16\ud83d\ude00"}`, told{"It is \"66\".\nDone 世😀", "known", nil}},
	"fence":          {"```json\n" + sum + "\n```", told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"prose around":   {"Sure, I compute.\n\n```json\n" + sum + "\n```\nNow I wait.", told{"Sure, I compute.", "", calls(`calculator {"expression":"1+1"}`)}},
	"within a line":  {"I call " + sum, told{"I call", "", calls(`calculator {"expression":"1+1"}`)}},
	"braces in text": {`{"action":"tool","tool_name":"search_mock","tool_args":{"query":"a } b { \" } ] c","x":{"y":[{"z":"}"}]}}}`, told{"", "", calls(`search_mock {"query":"a } b { \" } ] c","x":{"y":[{"z":"}"}]}}`)}},
	"several":        {sum + "\n" + strings.ReplaceAll(sum, "1+1", "2+2"), told{"", "", calls(`calculator {"expression":"1+1"}`, `calculator {"expression":"2+2"}`)}},
	"a list":         {"[\n" + sum + ",\n" + strings.ReplaceAll(sum, "1+1", "2+2") + "]", told{"", "", calls(`calculator {"expression":"1+1"}`, `calculator {"expression":"2+2"}`)}},
	"two fences":     {"```json\n" + sum + "\n```\n\n```json\n" + sum + "\n```\n", told{"", "", calls(`calculator {"expression":"1+1"}`, `calculator {"expression":"1+1"}`)}},
	// What was made up behind a call is never shown, and what it led to never runs.
	"own result":    {sum + "\nObservation: 3\n" + strings.ReplaceAll(sum, "1+1", "3+3"), told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"own result 2":  {sum + "\n{\"tool_result\":{\"tool_name\":\"calculator\",\"result\":3}}\n{\"final_answer\":\"3\"}", told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"answer behind": {sum + "\n{\"thought\":\"so\",\"action\":\"final\",\"final_answer\":\"2\"}" + sum, told{"", "so", calls(`calculator {"expression":"1+1"}`)}},
	// What breaks off is never a whole call.
	"cut in arguments":   {`{"action":"tool","tool_name":"calculator","tool_args":{"expression":"1+`, told{"", "", calls(`calculator {"expression":"1+`)}},
	"cut before":         {`{"action":"tool","tool_name":"todo"`, told{"", "", calls(`todo {`)}},
	"cut in string":      {`{"action":"tool","tool_name":"todo","tool_args":"{}`, told{"", "", calls(`todo {{}`)}},
	"one brace short":    {`{"action":"tool","tool_name":"calculator","tool_args":{"expression":"1+1"}`, told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"cut in the name":    {`{"thought":"x","action":"tool","tool_name":"calc`, told{"", "x", nil}},
	"cut in the answer":  {`{"action":"final","final_answer":"half an`, told{"half an", "", nil}},
	"cut in an escape":   {`{"action":"final","final_answer":"half \u4e`, told{`half \u4e`, "", nil}},
	"half a character":   {`{"action":"final","final_answer":"a\ud83d b\udc00"}`, told{"a\uFFFD b\uFFFD", "", nil}},
	"only a thought":     {`{"thought":"hm"}`, told{"", "hm", nil}},
	"thought, then call": {"{\"thought\":\"hm\"}\n" + sum, told{"", "hm", calls(`calculator {"expression":"1+1"}`)}},
	"thought, then text": {"{\"thought\":\"hm\"}\nThe answer is 66.", told{"The answer is 66.", "hm", nil}},
	"single quotes":      {`{'thought': "it's", 'action': 'tool', 'tool_name': 'calculator', 'tool_args': {'expression': '1+1}'},}`, told{"", "it's", calls(`calculator {'expression': '1+1}'}`)}},
	"left comma":         {`{"thought":"a" , "action":"final","final_answer":"b",}`, told{"b", "a", nil}},
	"left comma within":  {`{"tool_name":"calculator","tool_args":{"expression":"1+1",}}`, told{"", "", calls(`calculator {"expression":"1+1",}`)}},
	"quotes in a string": {`{"action":"final","final_answer":"he said "hi" to me, "ok", and left"}`, told{`he said "hi" to me, "ok", and left`, "", nil}},
	"line break":         {"{\"final_answer\":\"a\nb\\qc\"}", told{"a\nb\\qc", "", nil}},
	"chinese":            {`{"thought":"需要计算","action":"tool","tool_name":"search_mock","tool_args":{"query":"上下文窗口"}}`, told{"", "需要计算", calls(`search_mock {"query":"上下文窗口"}`)}},
	"unknown tool":       {`{"action":"tool","tool_name":"shell","tool_args":{"cmd":"ls"}}`, told{"", "", calls(`shell {"cmd":"ls"}`)}},
	"tool as action":     {`{"action":"calculator","action_input":{"expression":"1"}}`, told{"", "", calls(`calculator {"expression":"1"}`)}},
	"tool as action 2":   {`{"action":"Final Answer","action_input":"66"}`, told{"66", "", nil}},
	"arguments as text":  {`{"tool_name":"calculator","tool_args":"{\"expression\":\"1\"}"}`, told{"", "", calls(`calculator {"expression":"1"}`)}},
	"plain arguments":    {`{"tool_name":"calculator","tool_args":"1+1"}`, told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"plain for two":      {`{"tool_name":"todo","tool_args":"buy milk"}`, told{"", "", calls(`todo buy milk`)}},
	"null":               {`{"thought":null,"action":"final","tool_name":null,"tool_args":null,"final_answer":"x"}`, told{"x", "", nil}},
	"null answer":        {`{"action":"tool","final_answer":null,"tool_name":"calculator","tool_args":{"expression":"1"}}`, told{"", "", calls(`calculator {"expression":"1"}`)}},
	"no arguments":       {`{"action":"tool","tool_name":"calculator","tool_args":null}`, told{"", "", calls(`calculator `)}},
	"answer as object":   {`{"action":"final","final_answer":{"a":[1,2]}}`, told{`{"a":[1,2]}`, "", nil}},
	"both, final":        {`{"action":"final","tool_name":"calculator","tool_args":{},"final_answer":"x"}`, told{"x", "", nil}},
	"both, call":         {`{"action":"tool","final_answer":"I will","tool_name":"calculator","tool_args":{"expression":"1"}}`, told{"I will", "", calls(`calculator {"expression":"1"}`)}},
	"prose behind":       {"{\"final_answer\":\"66\"}\n\nHope this helps!", told{"66", "", nil}},
	// Models fall back to the form that they were trained on.
	"trained form":        {`{"name":"calculator","arguments":{"expression":"1+1"}}`, told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"trained form 2":      {"I add.\n```json\n" + `{"type":"function","name":"calculator","parameters":{"expression":"1+1"}}` + "\n```", told{"I add.", "", calls(`calculator {"expression":"1+1"}`)}},
	"trained form, cut":   {`{"name":"calculator","arguments":{"expression":"1+`, told{"", "", calls(`calculator {"expression":"1+`)}},
	"their arguments":     {`{"thought":"add","action":"tool","tool_name":"calculator","arguments":{"expression":"1+1"}}`, told{"", "add", calls(`calculator {"expression":"1+1"}`)}},
	"large keys":          {`{"Thought":"known","Action":"Final","Final_Answer":"66"}`, told{"66", "known", nil}},
	"in marks":            {"I add.\n<tool_call>\n" + `{"name":"calculator","arguments":{"expression":"1+1"}}` + "\n</tool_call>\n<tool_response>\n3", told{"I add.", "", calls(`calculator {"expression":"1+1"}`)}},
	"in marks, two":       {strings.Repeat(`[TOOL_CALLS]calculator[ARGS]{"expression":"1+1"}`, 2), told{"", "", calls(`calculator {"expression":"1+1"}`, `calculator {"expression":"1+1"}`)}},
	"in tags":             {"<function=wait>\n<parameter=seconds>\n5\n</parameter>\n</function>", told{"", "", calls(`wait {"seconds":5}`)}},
	"marks of no call":    {"<tool_call>\n{'name':'calculator'}\n</tool_call>\nYes.", told{"<tool_call>\n{'name':'calculator'}\n</tool_call>\nYes.", "", nil}},
	"marks in a sentence": {"Write <tool_call> and wait.", told{"Write <tool_call> and wait.", "", nil}},
	"json with a name":    {`{"name":"Ada","arguments":["for","against"]} and {"id":7,"type":"x"}`, told{`{"name":"Ada","arguments":["for","against"]} and {"id":7,"type":"x"}`, "", nil}},
	"more than a call":    {`{"name":"calculator","arguments":{"expression":"1+1"},"price":3}`, told{`{"name":"calculator","arguments":{"expression":"1+1"},"price":3}`, "", nil}},
	"name of a tool":      {`{"name":"calculator","price":3}`, told{`{"name":"calculator","price":3}`, "", nil}},
	"list of things":      {"[{\"id\":1,\"name\":\"a\"},\n{\"id\":2}]", told{"[{\"id\":1,\"name\":\"a\"},\n{\"id\":2}]", "", nil}},
	// What is no frame stays as it is.
	"plain text":       {"The answer is 66.\n\n- a\n- b", told{"The answer is 66.\n\n- a\n- b", "", nil}},
	"json answer":      {`{"name":"x","action":"tool","tool_name":"todo","tool_args":{}}`, told{`{"name":"x","action":"tool","tool_name":"todo","tool_args":{}}`, "", nil}},
	"json with action": {`{"action":"buy","price":3}`, told{`{"action":"buy","price":3}`, "", nil}},
	"json with tool":   {`{"tool":"hammer","price":3}`, told{`{"tool":"hammer","price":3}`, "", nil}},
	"nested":           {`{"steps":[` + sum + `]} and more`, told{`{"steps":[` + sum + `]} and more`, "", nil}},
	"code":             {"```go\nfunc main() { x := map[string]int{\"action\": 1} }\nAction: todo\n```\nThat is it.", told{"```go\nfunc main() { x := map[string]int{\"action\": 1} }\nAction: todo\n```\nThat is it.", "", nil}},
	"frame in code":    {"```python\nprint()\n" + sum + "\n```", told{"```python\nprint()\n" + sum + "\n```", "", nil}},
	"other json":       {"```json\n{\"a\":1}\n```\n", told{"```json\n{\"a\":1}\n```", "", nil}},
	"braces":           {"a { b } {{c}} {} [ ] {'x'}", told{"a { b } {{c}} {} [ ] {'x'}", "", nil}},
	"only a brace":     {"{", told{"{", "", nil}},
	"half a fence":     {"``", told{"``", "", nil}},
	"empty":            {"", told{}},
	"spaces":           {" \n\n ", told{}},
}

var reactReplies = map[string]struct {
	in   string
	want told
}{
	"call":              {"Thought: I add.\nAction: calculator\nAction Input: {\"expression\":\"1+1\"}", told{"", "I add.", calls(`calculator {"expression":"1+1"}`)}},
	"answer":            {"Thought: known.\nFinal Answer: It is 66.\n\nThought: this line is a part of it", told{"It is 66.\n\nThought: this line is a part of it", "known.", nil}},
	"own result":        {"Action: calculator\nAction Input: {\"expression\":\"1+1\"}\nObservation: 3\nThought: I know.\nFinal Answer: 3", told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"own result only":   {"Thought: hm\nObservation: 3\nFinal Answer: 3", told{"", "hm", nil}},
	"fence":             {"Action: calculator\nAction Input:\n```json\n{\n  \"expression\": \"1+1\"\n}\n```\nObservation: 2", told{"", "", calls("calculator {\n  \"expression\": \"1+1\"\n}")}},
	"plain input":       {"Action: calculator\nAction Input: (17+5)*3\nObservation: 1", told{"", "", calls(`calculator {"expression":"(17+5)*3"}`)}},
	"input as code":     {"Action: calculator\nAction Input: `{\"expression\":\"1+1\"}`\nObservation: 3", told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"input as code 2":   {"Action: calculator\nAction Input: `1+1`", told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"trained form":      {"Thought: x\n<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"1\"}}</tool_call>", told{"", "x", calls(`calculator {"expression":"1"}`)}},
	"quoted input":      {"Action: calculator\nAction Input: \"1+1\"", told{"", "", calls(`calculator {"expression":"1+1"}`)}},
	"plain for two":     {"Action: todo\nAction Input: buy milk", told{"", "", calls(`todo buy milk`)}},
	"braces in text":    {"Action: search_mock\nAction Input: {\"query\":\"} {\\\" Observation: \"}\n", told{"", "", calls(`search_mock {"query":"} {\" Observation: "}`)}},
	"several":           {"Action: calculator\nAction Input: {\"expression\":\"1\"}\nAction: todo\nAction Input: {}", told{"", "", calls(`calculator {"expression":"1"}`, "todo {}")}},
	"cut":               {"Action: calculator\nAction Input: {\"expression\":\"1+", told{"", "", calls(`calculator {"expression":"1+`)}},
	"cut, then more":    {"Action: calculator\nAction Input: {\"expression\":\"1+\nObservation: 2", told{"", "", calls(`calculator {"expression":"1+`)}},
	"single quotes":     {"Action: calculator\nAction Input: {'expression': '1+1'}\nThought: x", told{"", "", calls(`calculator {'expression': '1+1'}`)}},
	"left comma":        {"Action: calculator\nAction Input: {\"expression\":\"1\",}", told{"", "", calls(`calculator {"expression":"1",}`)}},
	"no input":          {"Thought: x\nAction: todo\nObservation: y", told{"", "x", calls("todo ")}},
	"unknown, no input": {"Thought: x\nAction: shell\nObservation: y", told{"", "x", calls("shell ")}},
	"number as input":   {"Action: wait\nAction Input: 5", told{"", "", calls("wait 5")}},
	"null input":        {"Action: todo\nAction Input: None", told{"", "", calls("todo ")}},
	"label forgotten":   {"Action: calculator\n{\"expression\":\"1\"}", told{"", "", calls(`calculator {"expression":"1"}`)}},
	"unknown tool":      {"Thought: x\nAction: shell\nAction Input: {\"cmd\":\"ls\"}", told{"", "x", calls(`shell {"cmd":"ls"}`)}},
	"emphasis":          {"**Thought:** I add.\n**Action:** `calculator`\n**Action Input:** {\"expression\":\"1\"}\n**Observation:** 1", told{"", "I add.", calls(`calculator {"expression":"1"}`)}},
	"numbers":           {"Thought 1: a\nAction 1: calculator[1+1]\nObservation 1: 2", told{"", "a", calls(`calculator {"expression":"1+1"}`)}},
	"like a function":   {"Action: calculator({\"expression\":\"1\"})", told{"", "", calls(`calculator {"expression":"1"}`)}},
	"chinese":           {"思考：需要计算\n行动：calculator\n行动输入：{\"expression\":\"1\"}\n观察：1", told{"", "需要计算", calls(`calculator {"expression":"1"}`)}},
	"chinese answer":    {"思考: 好\n最终答案: 是 66。", told{"是 66。", "好", nil}},
	"final as action":   {"Action: Final Answer\nAction Input: \"66\"", told{"66", "", nil}},
	"none as action":    {"Thought: x\nAction: None\nFinal Answer: 66", told{"66", "x", nil}},
	"no final label":    {"Thought: I know.\n\nThe answer is 66.", told{"The answer is 66.", "I know.", nil}},
	"only a thought":    {"Thought: hm, let me\nsee", told{"", "hm, let me\nsee", nil}},
	"mixed: frame":      {"Thought: x\nAction:\n```json\n{\"action\":\"calculator\",\"action_input\":{\"expression\":\"1\"}}\n```\nObservation: 1", told{"", "x", calls(`calculator {"expression":"1"}`)}},
	"mixed: frame 2":    {"Thought: x\n" + sum + "\nObservation: 1", told{"", "x", calls(`calculator {"expression":"1+1"}`)}},
	"mixed: answer":     {"Thought: x\nFinal Answer: {\"action\":\"final\",\"final_answer\":\"66\"}", told{"66", "x", nil}},
	"json answer":       {"Final Answer: {\"a\":1}\nAction: todo", told{"{\"a\":1}\nAction: todo", "", nil}},
	"code answer":       {"Final Answer:\n```go\nx()\n```", told{"```go\nx()\n```", "", nil}},
	// What only looks like it stays as it is.
	"a line of text": {"What to do:\nAction: buy milk\nThen rest.", told{"What to do:\nAction: buy milk\nThen rest.", "", nil}},
	"a report":       {"Observation: the sky is blue.\nAction Input: none", told{"Observation: the sky is blue.\nAction Input: none", "", nil}},
	"a word":         {"Actions speak. Thoughtful\nFinally: x\nact", told{"Actions speak. Thoughtful\nFinally: x\nact", "", nil}},
}

func TestReadsReplies(t *testing.T) {
	for form, replies := range map[string]map[string]struct {
		in   string
		want told
	}{"json": jsonReplies, "react": reactReplies} {
		for name, c := range replies {
			t.Run(form+"/"+name, func(t *testing.T) {
				if d := cmp.Diff(c.want, read(c.in)); d != "" {
					t.Errorf("%s\n-want +got:\n%s", c.in, d)
				}
			})
		}
	}
}

// B106: a call in a form that could be read is none that a server left behind; of one that could not, what helps here is told.
func TestNotesOfCallsInText(t *testing.T) {
	note := llm.Note{Code: llm.NoteToolText, Message: "as text", Todo: "set text_calls"}
	for text, want := range map[string]string{
		`<tool_call>{"name":"calculator","arguments":{"expression":"1"}}</tool_call>`: "",
		`<tool_call>{"name":"shell","arguments":{}}</tool_call>`:                      "--protocol (AGENT_PROTOCOL) takes another form; /model changes the model",
	} {
		inner := voids{{Text: text}, {Done: &llm.Done{Finish: llm.FinishStop, Notes: []llm.Note{note, {Code: "other", Todo: "x"}}}}}
		r, err := llm.Collect(New(inner, JSON).Stream(t.Context(), llm.Request{Tools: tools(), Messages: []llm.Message{{Role: llm.RoleUser, Content: "1+1?"}}}))
		told := ""
		for _, n := range r.Notes {
			if n.Code == llm.NoteToolText {
				told = n.Todo
			}
		}
		if err != nil || told != want || r.Notes[len(r.Notes)-1].Code != "other" {
			t.Errorf("%s: %+v, %v", text, r.Notes, err)
		}
	}
}

// corpus is every text that the tests read.
func corpus() []string {
	var all []string
	for _, c := range jsonReplies {
		all = append(all, c.in)
	}
	for _, c := range reactReplies {
		all = append(all, c.in)
	}
	slices.Sort(all)
	return all
}

// B107: thinking in front of a reply in a form is thinking, whether a tag begins it or its end alone is told, or it has a field; what it
// says of calls runs nothing, and an answer that speaks of the tags is kept. Of a model that is known to think nothing of it is shown
// before that is clear.
func TestThinkingBeforeTheForm(t *testing.T) {
	const (
		draft = "I could " + `{"action":"tool","tool_name":"todo","tool_args":{"action":"list","text":""}}` + ", but no.\n"
		plain = "The user wants a sum.\n"
		react = "Thought: add\nAction: calculator\nAction Input: {\"expression\":\"1+1\"}"
		final = `{"action":"final","final_answer":"It is 2."}`
	)
	add := calls(`calculator {"expression":"1+1"}`)
	for _, c := range []struct {
		name, model string
		form        Form
		steps       []llmtest.Step
		want        told
	}{
		{"tags", "m", JSON, []llmtest.Step{llmtest.Text("<think>" + draft + "</think>\n\n" + sum)}, told{"", draft, add}},
		{"tags", "m", ReAct, []llmtest.Step{llmtest.Text("<think>" + draft + "</think>\n" + react)}, told{"", draft + "add", add}},
		{"end alone", "m", JSON, []llmtest.Step{llmtest.Text(plain + "</think>\n\n" + sum)}, told{"", plain, add}},
		{"end alone, fence", "m", JSON, []llmtest.Step{llmtest.Text(plain + "</think>```json\n" + sum + "\n```")}, told{"", plain, add}},
		{"end alone", "m", ReAct, []llmtest.Step{llmtest.Text(plain + "</think>\n\n" + react)}, told{"", plain + "add", add}},
		{"end alone, answer", "m", JSON, []llmtest.Step{llmtest.Text(plain + "</think>\n" + final)}, told{"It is 2.", plain, nil}},
		{"end alone, answer", "m", ReAct, []llmtest.Step{llmtest.Text(plain + "</think>\nFinal Answer: It is 2.")}, told{"It is 2.", plain, nil}},
		{"end alone, known, draft", "qwen3:8b", JSON, []llmtest.Step{llmtest.Text(draft + "</think>\n\n" + sum)}, told{"", draft, add}},
		{"end alone, known, draft", "deepseek-r1:8b", ReAct, []llmtest.Step{llmtest.Text(draft + "</think>\n\n" + react)}, told{"", draft + "add", add}},
		{"end alone, known, prose", "qwen3:8b", JSON, []llmtest.Step{llmtest.Text(plain + "</think>\n\nIt is 2.")}, told{"It is 2.", plain, nil}},
		{"no thinking, known", "qwen3:8b", JSON, []llmtest.Step{llmtest.Text("It is 2.\n"), llmtest.Text(sum)}, told{"It is 2.", "", add}},
		{"a field", "qwen3:8b", JSON, []llmtest.Step{llmtest.Reasoning(plain), llmtest.Text(sum)}, told{"", plain, add}},
		{"prose of the tag", "m", JSON, []llmtest.Step{llmtest.Text("Its end is written so:\n</think>\nand nothing else.")}, told{"Its end is written so:\n</think>\nand nothing else.", "", nil}},
		{"prose of the tag", "m", ReAct, []llmtest.Step{llmtest.Text("Final Answer: it is written\n</think>\nor so.")}, told{"it is written\n</think>\nor so.", "", nil}},
		{"answer of the tag", "qwen3:8b", JSON, []llmtest.Step{llmtest.Text(`{"action":"final","final_answer":"so:\n</think>\n{}"}`)}, told{"so:\n</think>\n{}", "", nil}},
	} {
		t.Run(string(c.form)+"/"+c.name, func(t *testing.T) {
			srv := llmtest.NewServer()
			defer srv.Close()
			inner := openai.New(openai.Config{BaseURL: srv.URL()})
			defer inner.Close()
			srv.Push(llmtest.Stream(append(c.steps, llmtest.Finish("stop"), llmtest.DoneMark())...))
			r, err := llm.Collect(New(inner, c.form).Stream(t.Context(), llm.Request{Model: c.model, Tools: tools(), Messages: []llm.Message{{Role: llm.RoleUser, Content: "1+1?"}}}))
			got := told{r.Text, r.Reasoning, nil}
			for _, call := range r.ToolCalls {
				got.Calls = append(got.Calls, call.Name+" "+call.Arguments)
			}
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// TestSplitAnywhere: the same text gives the same reply, wherever it was cut into deltas, within characters too.
func TestSplitAnywhere(t *testing.T) {
	texts := corpus()
	for _, s := range texts {
		want := read(s)
		for i := range len(s) + 1 {
			if d := cmp.Diff(want, read(s[:i], s[i:])); d != "" {
				t.Errorf("%q cut at %d\n-whole +cut:\n%s", s, i, d)
			}
		}
		if d := cmp.Diff(want, read(strings.Split(s, "")...)); d != "" {
			t.Errorf("%q in characters\n-whole +cut:\n%s", s, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(texts).Draw(t, "first") + rapid.SampledFrom([]string{"", "\n", " ", "\n\n"}).Draw(t, "between") +
			rapid.SampledFrom(texts).Draw(t, "second")
		var pieces []string
		for rest := s; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if d := cmp.Diff(read(s), read(pieces...)); d != "" {
			t.Fatalf("%q as %q\n-whole +cut:\n%s", s, pieces, d)
		}
	})
}

// TestSoup: parts of both forms in any order are read to an end, and the same wherever they were cut.
func TestSoup(t *testing.T) {
	parts := strings.Split("{|}|[|]|\"|'|,|:| |\n|```|json|\"action\":|\"tool\"|tool_name|\"final_answer\":\"|thought|Thought:|Action:|Action Input:|Observation:|"+
		"Final Answer:|calculator|\\|\\u|d83d|行动：|*|`|x|{\"action\":\"tool\"}|"+sum, "|")
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 40).Draw(t, "parts"), "")
		at := rapid.IntRange(0, len(s)).Draw(t, "at")
		if d := cmp.Diff(read(s), read(s[:at], s[at:])); d != "" {
			t.Fatalf("%q cut at %d\n-whole +cut:\n%s", s, at, d)
		}
	})
}

// TestRoundTrip: what the history shows of a reply is what the parser makes of it, whatever texts it holds.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom([]Form{JSON, ReAct}).Draw(t, "form")
		w := writer{form: form}
		args := rapid.MapOfN(rapid.StringN(1, 8, -1), rapid.String(), 0, 4).Draw(t, "args")
		name := rapid.SampledFrom([]string{"calculator", "todo", "no_such_tool", "odd name", "Ärger"}).Draw(t, "name")
		call := llm.ToolCall{Name: name, Arguments: plainJSON(args)}
		got := read("Thought: t\n\n" + w.call(call, ""))
		if d := cmp.Diff(calls(name+" "+call.Arguments), got.Calls); d != "" {
			t.Fatalf("%s\n%s", w.call(call, ""), d)
		}
		text := strings.TrimSpace(rapid.StringMatching(`[a-z"\\{}世界:, \n]{1,40}`).Draw(t, "text"))
		shown := w.assistant(llm.Message{Role: llm.RoleAssistant, Content: text})
		if got := read(shown).Text; form == JSON && got != text {
			t.Fatalf("%s\nis read as %q, want %q", shown, got, text)
		}
	})
}

func history() llm.Request {
	return llm.Request{Model: "m", Tools: tools(), Schema: &llm.Schema{Name: "answer", JSON: json.RawMessage(`{}`)}, Messages: []llm.Message{
		{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: "You are a test."},
		{Role: llm.RoleSystem, Kind: llm.KindMemory, Content: "memory"},
		{Role: llm.RoleUser, Kind: llm.KindUser, Content: "hi"},
		{Role: llm.RoleAssistant, Kind: llm.KindAssistant, Content: "hello"},
		{Role: llm.RoleUser, Kind: llm.KindUser, Content: "1+1?"},
		{Role: llm.RoleAssistant, Kind: llm.KindAssistant, Content: "I add.", Extra: json.RawMessage(`{"vitrine_origin":"text","vitrine_thought":"two\ncalls"}`),
			ToolCalls: []llm.ToolCall{{ID: "a", Name: "calculator", Arguments: `{"expression":"1<1"}`}, {ID: "b", Name: "todo"}}},
		{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: "a", Name: "calculator", Content: `{"ok":true}`},
		{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: "b", Name: "todo", Content: "no JSON"},
		{Role: llm.RoleUser, Kind: llm.KindNotice, Content: "[RUNTIME] go on"},
	}}
}

// TestHistoryAsText: calls and results become text, in roles that every server takes, and the request stays as it was.
func TestHistoryAsText(t *testing.T) {
	want := map[Form][]string{
		JSON: {"system: memory", "user: hi", `assistant: {"action":"final","final_answer":"hello"}`, "user: 1+1?",
			"assistant: I add.\n" + `{"thought":"two\ncalls","action":"tool","tool_name":"calculator","tool_args":{"expression":"1<1"}}` + "\n" +
				`{"action":"tool","tool_name":"todo","tool_args":{}}`,
			`user: {"tool_result":{"tool_name":"calculator","result":{"ok":true}}}` + "\n" + `{"tool_result":{"tool_name":"todo","result":"no JSON"}}` + "\n\n[RUNTIME] go on"},
		ReAct: {"system: memory", "user: hi", "assistant: Final Answer: hello", "user: 1+1?",
			"assistant: I add.\nThought: two calls\nAction: calculator\nAction Input: {\"expression\":\"1<1\"}\nAction: todo\nAction Input: {}",
			"user: Observation: {\"ok\":true}\nObservation: no JSON\n\n[RUNTIME] go on"},
	}
	for form, want := range want {
		req := history()
		got := rewrite(req, form)
		if d := cmp.Diff(history(), req); d != "" {
			t.Errorf("%s: the request was changed:\n%s", form, d)
		}
		var lines []string
		for _, m := range got.Messages[1:] {
			lines = append(lines, string(m.Role)+": "+m.Content)
			if m.ToolCalls != nil || m.ToolCallID != "" || m.Extra != nil {
				t.Errorf("%s: a message has parts of native calls: %+v", form, m)
			}
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Errorf("%s:\n%s", form, d)
		}
		first := got.Messages[0].Content
		if got.Schema != nil {
			t.Errorf("%s: a schema of the reply would forbid the form", form)
		}
		if got.Tools != nil || !strings.HasPrefix(first, "You are a test.\n\nHow you call tools") {
			t.Errorf("%s: tools %v, system message %q", form, got.Tools, first)
		}
		for _, spec := range tools() {
			if !strings.Contains(first, "- "+spec.Name+": "+spec.Description+"\n  arguments: "+string(spec.Schema)) {
				t.Errorf("%s: %s is not offered:\n%s", form, spec.Name, first)
			}
		}
	}
}

// TestRequestsGrow: a request is the beginning of the next one, so that what a server caches stays of use.
func TestRequestsGrow(t *testing.T) {
	for _, form := range []Form{JSON, ReAct} {
		whole := history()
		before := ""
		for n := 3; n <= len(whole.Messages); n++ {
			req := whole
			req.Messages = whole.Messages[:n]
			text := ""
			for _, m := range rewrite(req, form).Messages {
				text += "\n" + string(m.Role) + ":" + m.Content
			}
			if last := req.Messages[n-1].Role; !strings.HasPrefix(strings.ReplaceAll(text, "\nuser:", "\n"), strings.ReplaceAll(before, "\nuser:", "\n")) {
				t.Errorf("%s: with %s behind, the request is not the one before and more:\n%s\n---\n%s", form, last, before, text)
			}
			before = text
		}
	}
}

// fixed answers every request with the same text and keeps the last request.
type fixed struct {
	text string
	done llm.Done
	got  *llm.Request
	left *bool
}

func (f fixed) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if f.got != nil {
			*f.got = req
		}
		for _, r := range f.text {
			if !yield(llm.Chunk{Text: string(r)}, nil) {
				if f.left != nil {
					*f.left = true
				}
				return
			}
		}
		yield(llm.Chunk{Done: &f.done}, nil)
	}
}

// TestInventedResultEndsTheReply: the connection is let go of where a model begins to write the result itself.
func TestInventedResultEndsTheReply(t *testing.T) {
	for _, form := range []Form{JSON, ReAct} {
		w, left := writer{form: form}, false
		text := w.call(llm.ToolCall{Name: "calculator", Arguments: `{"expression":"1"}`}, "") + "\nObservation: 1\n" + strings.Repeat("and so on ", 1000)
		reply, err := llmtest.Record(t, New(fixed{text: text, left: &left}, form).Stream(t.Context(), history()))
		if err != nil || !left || len(reply.ToolCalls) != 1 || reply.Finish != llm.FinishToolCalls || reply.Text != "" {
			t.Errorf("%s: left %v, error %v, reply %+v", form, left, err, reply)
		}
	}
}

// TestThoughtComesBack: the thought is reasoning for the reader, kept beside the reply, and shown to the model again.
func TestThoughtComesBack(t *testing.T) {
	for form, text := range map[Form]string{JSON: `{"thought":"I know","action":"final","final_answer":"x"}`, ReAct: "Thought: I know\nFinal Answer: x"} {
		reply, err := llmtest.Record(t, New(fixed{text: text}, form).Stream(t.Context(), history()))
		if err != nil || reply.Reasoning != "I know" || reply.Text != "x" {
			t.Fatalf("%s: %+v, %v", form, reply, err)
		}
		req := history()
		req.Messages = append(req.Messages, reply.Message())
		got := rewrite(req, form).Messages
		if last := got[len(got)-1]; last.Content != text || last.Extra != nil {
			t.Errorf("%s: shown as %q with %s, want %q", form, last.Content, last.Extra, text)
		}
	}
}

// TestWithoutToolsNothingChanges: what asks for no tools goes through, such as the request for a summary.
func TestWithoutToolsNothingChanges(t *testing.T) {
	var got llm.Request
	req := llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
	reply, err := llmtest.Record(t, New(fixed{text: `{"final_answer":"x"}`, got: &got}, JSON).Stream(t.Context(), req))
	if err != nil || reply.Text != `{"final_answer":"x"}` {
		t.Errorf("%+v, %v", reply, err)
	}
	if d := cmp.Diff(req, got); d != "" {
		t.Error(d)
	}
}

// TestLengthKeepsItsReason: a call in a reply that was cut for its length is told as such, so that it is not run.
func TestLengthKeepsItsReason(t *testing.T) {
	reply, err := llmtest.Record(t, New(fixed{text: sum, done: llm.Done{Finish: llm.FinishLength}}, JSON).Stream(t.Context(), history()))
	if err != nil || reply.Finish != llm.FinishLength || len(reply.ToolCalls) != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestBounds: a call beyond all measure is an error, and so many calls as fit are taken.
func TestBounds(t *testing.T) {
	for form, text := range map[Form]string{
		JSON:  `{"action":"tool","tool_name":"todo","tool_args":{"text":"` + strings.Repeat("x", maxFrame),
		ReAct: "Action: todo\nAction Input: {\"text\":\"" + strings.Repeat("x", maxFrame),
	} {
		p := newParser(tools())
		p.write(text)
		var e *llm.Error
		if !errors.As(p.err, &e) || e.Kind != llm.ErrTooLarge {
			t.Errorf("%s: %v", form, p.err)
		}
	}
	if got := read(strings.Repeat(sum+"\n", maxCalls+9)); len(got.Calls) != maxCalls {
		t.Errorf("%d calls", len(got.Calls))
	}
	if got := read(`{"final_answer":"` + strings.Repeat("x", maxFrame+9) + `"}`); len(got.Text) != maxFrame+9 {
		t.Errorf("an answer of %d bytes came", len(got.Text))
	}
}

// FuzzRead: no text breaks the parser, and its cuts change nothing.
func FuzzRead(f *testing.F) {
	for _, s := range corpus() {
		f.Add(s, uint(len(s)/2))
	}
	f.Fuzz(func(t *testing.T, s string, at uint) {
		i := int(at % uint(len(s)+1))
		whole, cut := read(s), read(s[:i], s[i:])
		if d := cmp.Diff(whole, cut); d != "" {
			t.Fatalf("cut at %d:\n%s", i, d)
		}
		if len(whole.Text) > 3*len(s) || len(whole.Thought) > 3*len(s) || len(whole.Calls) > maxCalls {
			t.Fatalf("%d bytes became %d of text, %d of thought and %d calls", len(s), len(whole.Text), len(whole.Thought), len(whole.Calls))
		}
	})
}

// FuzzHistory: whatever was said and called, the request is one that a strict server takes.
func FuzzHistory(f *testing.F) {
	f.Add("hi", "calculator", `{"a":1}`, "66", true)
	f.Add("", "", "", "", false)
	f.Add("\x00", "odd name\n", "{'a'", "\xff", true)
	f.Fuzz(func(t *testing.T, text, name, args, result string, react bool) {
		form := JSON
		if react {
			form = ReAct
		}
		req := history()
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Content: text, ToolCalls: []llm.ToolCall{{ID: "c", Name: name, Arguments: args}}},
			llm.Message{Role: llm.RoleTool, ToolCallID: "c", Name: name, Content: result})
		wire := []map[string]string{}
		system := ""
		for _, m := range rewrite(req, form).Messages {
			if m.Role == llm.RoleSystem {
				system += m.Content
				continue
			}
			wire = append(wire, map[string]string{"role": string(m.Role), "content": m.Content})
		}
		b, err := json.Marshal(append([]map[string]string{{"role": "system", "content": system}}, wire...))
		if err != nil {
			t.Fatal(err)
		}
		if err := llmtest.ValidHistory(b); err != nil && !strings.Contains(err.Error(), "half a character") {
			t.Fatal(err)
		}
	})
}

// TestCorpusIsKept: what the fuzzers found stays, and is played with every test.
func TestCorpusIsKept(t *testing.T) {
	for _, name := range []string{"FuzzRead", "FuzzHistory"} {
		files, err := filepath.Glob(filepath.Join("testdata", "fuzz", name, "*"))
		if err != nil || len(files) == 0 {
			t.Errorf("no corpus of %s: %v", name, err)
		}
	}
}

// voids streams chunks as they are.
type voids []llm.Chunk

func (v voids) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for _, c := range v {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// What turns out to have been thinking is no part of the action that follows it.
func TestVoidTextIsForgotten(t *testing.T) {
	for form, answer := range map[Form]string{JSON: `{"action":"final","final_answer":"66"}`, ReAct: "Final Answer: 66"} {
		next := voids{{Text: "I might say {\"thought\": \"or Action: todo\nAction Input: {"}, {Void: true}, {Text: answer}, {Done: &llm.Done{Finish: llm.FinishStop}}}
		reply, err := llm.Collect(New(next, form).Stream(t.Context(), llm.Request{Tools: tools(), Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}))
		if err != nil || reply.Text != "66" || len(reply.ToolCalls) != 0 {
			t.Errorf("%v: %q, %+v, %v", form, reply.Text, reply.ToolCalls, err)
		}
	}
}
