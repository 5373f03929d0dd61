package main

import (
	"encoding/json"
	"strings"

	"vitrine/llm/llmtest"
)

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
