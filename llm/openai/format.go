package openai

import (
	"encoding/json"

	"vitrine/llm"
)

// How a reply is asked for in the shape of a schema. Servers that make a grammar of it take the first form or the second;
// what a server refuses is left out from then on, beside tools apart from without them, and down to nothing.
type wireFormat struct {
	Type       string          `json:"type"`
	JSONSchema *wireSchema     `json:"json_schema,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"` // where json_object takes one; elsewhere it is ignored
}

type wireSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// The forms, the best first, as they are named among the fields that are left out.
var formats = []string{"response_format.json_schema", "response_format.json_object"}

// besideTools is added to the name of a form that is not sent beside tools.
const besideTools = ".tools"

// format gives the name of the form that a request is sent with, empty for none.
func (d dialect) format(req llm.Request) string {
	if req.Schema == nil {
		return ""
	}
	for _, f := range formats {
		if len(req.Tools) > 0 {
			f += besideTools
		}
		if d.sends(f) {
			return f
		}
	}
	return ""
}

func (d dialect) wireFormat(req llm.Request) *wireFormat {
	switch d.format(req) {
	case "":
		return nil
	case formats[0], formats[0] + besideTools:
		return &wireFormat{Type: "json_schema", JSONSchema: &wireSchema{Name: req.Schema.Name, Schema: req.Schema.JSON}}
	}
	return &wireFormat{Type: "json_object", Schema: req.Schema.JSON}
}

// refusesFormat says whether an error is about the form of the reply.
func refusesFormat(names func(string) bool) bool {
	for _, word := range []string{"response_format", "json_schema", "json_object", "grammar", "schema", "structured output", "guided"} {
		if names(word) {
			return true
		}
	}
	return false
}
