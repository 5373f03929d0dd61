package main

import (
	"encoding/json"
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/protocol"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
)

// What a model without tool calls does wrong goes back to it as an error or is asked again, and never runs: a thought without
// more, arguments that are no JSON or have no end, a tool that does not exist. The turn ends with its answer (B050, B053).
func TestFaultsInWords(t *testing.T) {
	for form, replies := range map[protocol.Form][]string{
		protocol.JSON: {
			`{"thought":"I wonder."}`,
			`{"action":"tool","tool_name":"calculator","tool_args":{'expression':'1+1'}}`,
			`{"action":"tool","tool_name":"calculator","tool_args":{"expression":"1+`,
			`{"action":"tool","tool_name":"shell","tool_args":{"cmd":"ls"}}`,
			`{"action":"tool","tool_name":"calculator","tool_args":{"expression":"20+22"}}` + "\nObservation: 99",
			`{"action":"final","final_answer":"It is 42."}`,
		},
		protocol.ReAct: {
			"Thought: I wonder.",
			"Action: calculator\nAction Input: {'expression':'1+1'}\nObservation: 99",
			"Action: calculator\nAction Input: {\"expression\":\"1+",
			"Thought: x\nAction: shell\nAction Input: {\"cmd\":\"ls\"}\nObservation: 99",
			"Action: calculator\nAction Input: 20+22\nObservation: 99\nFinal Answer: 99",
			"Thought: y\nFinal Answer: It is 42.",
		},
	} {
		t.Run(string(form), func(t *testing.T) {
			var steps []scripted.Step
			for _, r := range replies {
				steps = append(steps, scripted.Text(r))
			}
			model := scripted.New(clock.Real(), steps...)
			w := wiring{client: func(llm.Client) llm.Client { return protocol.New(model, form) }}
			dir := t.TempDir()
			r := inProcess(t, w, dir, "run", "--session", "s", "go")
			if r.code != 0 || r.stdout != "It is 42.\n" {
				t.Fatalf("%+v", r)
			}
			list := messages(t, dir, "s")
			checkTurns(t, list)
			told, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range []string{"malformed_arguments", "truncated_arguments", "unknown_tool"} {
				if !strings.Contains(string(told), code) {
					t.Errorf("the model was not told of %s", code)
				}
			}
			if strings.Contains(string(told), "99") || strings.Count(string(told), `\"ok\":true`) != 1 {
				t.Errorf("what was made up is in the history, or something else ran: %s", told)
			}
			for i, req := range model.Requests() {
				for _, m := range req.Messages {
					if m.Role == llm.RoleTool || len(m.ToolCalls) > 0 || len(req.Tools) > 0 {
						t.Errorf("request %d has native calls", i)
					}
				}
			}
		})
	}
}

// inWords is a model without tool calls that gives an expression in the last question to the calculator, in the words of a
// form, makes up a result behind it, and answers with the real one.
func inWords(form string) func(llmtest.Request) llmtest.Reply {
	return func(r llmtest.Request) llmtest.Reply {
		if r.Fields["tools"] != nil || !strings.Contains(r.Messages[0].Text(), "- calculator: ") {
			return llmtest.Refuse(400, `{"error":{"message":"this model has no tool calls"}}`)
		}
		last := r.Last("user")
		if i := strings.Index(last, `"result":"`); i >= 0 && (strings.Contains(last, "tool_result") || strings.HasPrefix(last, "Observation: ")) {
			result, _, _ := strings.Cut(last[i+len(`"result":"`):], `"`)
			if form == "react" {
				return llmtest.Answer("Thought: I have it.\nFinal Answer: The tool says " + result)
			}
			return llmtest.Answer(`{"thought":"I have it.","action":"final","final_answer":"The tool says ` + result + `"}`)
		}
		args, err := json.Marshal(map[string]string{"expression": strings.TrimPrefix(strings.TrimSuffix(last, "?"), "what is ")})
		if err != nil {
			return llmtest.Answer(err.Error())
		}
		if form == "react" {
			return llmtest.Answer("Thought: I compute.\nAction: calculator\nAction Input: " + string(args) + "\nObservation: 1234567\nFinal Answer: 1234567")
		}
		return llmtest.Answer("```json\n{\"thought\":\"I compute.\",\"action\":\"tool\",\"tool_name\":\"calculator\",\"tool_args\":" + string(args) +
			"}\n```\n{\"tool_result\":1234567}\n{\"final_answer\":\"1234567\"}")
	}
}

// shapes is a model that answers in prose, and with the JSON that a schema wants only where the request asks the server for
// it in the second of the ways; the first is refused.
func shapes(r llmtest.Request) llmtest.Reply {
	format := string(r.Fields["response_format"])
	switch {
	case strings.Contains(format, "json_schema"):
		return llmtest.Refuse(400, `{"error":{"message":"response_format json_schema is not supported"}}`)
	case strings.Contains(format, `"x"`):
		return llmtest.Answer(`{"x":4}`)
	}
	return llmtest.Answer("It is four.")
}
