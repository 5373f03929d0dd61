package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// What the schema of a summary lets pass is read as one, and what it does not is none.
func TestSummarySchema(t *testing.T) {
	s := SummarySchema()
	var schema jsonschema.Schema
	if err := json.Unmarshal(s.JSON, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	const whole = `{"goals":["a"],"facts":["b"],"todos":[],"unresolved":[]}`
	for text, want := range map[string]bool{
		whole: true,
		strings.Replace(whole, `,"todos":[]`, "", 1):            false,
		strings.Replace(whole, `["b"]`, `"b"`, 1):               false,
		strings.Replace(whole, `["b"]`, `[1]`, 1):               false,
		strings.Replace(whole, `{"goals"`, `{"x":1,"goals"`, 1): false,
		`[]`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := resolved.Validate(v) == nil; got != want {
			t.Errorf("the schema takes %s: %v", text, got)
		}
		if _, err := ParseSummary(text); (err == nil) != want {
			t.Errorf("%s is read with %v", text, err)
		}
	}
}
