package prompt_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"vitrine/runtime/prompt"
)

// FuzzParseSummary: whatever a model says, it is a summary within its bounds or none, and what is kept is JSON without null.
func FuzzParseSummary(f *testing.F) {
	f.Add(`{"goals":["a"],"facts":[],"todos":[],"unresolved":[]}`)
	f.Add("```json\n{\"goals\":[\"a\\u0000b\"],\"facts\":[\" \"],\"todos\":[],\"unresolved\":[]}\n```")
	f.Add(`<think>hm</think>{"goals":[],"facts":["x"],"todos":[],"unresolved":[],"updated_at":7}`)
	f.Add(`<tool_call>{"name":"shell"}</tool_call>`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := prompt.ParseSummary(text)
		if err != nil {
			if !errors.Is(err, prompt.ErrBadSummary) {
				t.Errorf("%v", err)
			}
			return
		}
		merged, _ := prompt.Merge(prompt.Summary{}, s, at)
		b, err := json.Marshal(merged)
		if err != nil || strings.Contains(string(b), "null,") || strings.Contains(string(b), ":null") && !strings.Contains(text, "null") {
			t.Errorf("%s, %v", b, err)
		}
		for _, list := range [][]string{merged.Goals, merged.Facts, merged.Todos, merged.Unresolved} {
			if len(list) > prompt.SummaryEntries {
				t.Errorf("%d entries", len(list))
			}
			for _, e := range list {
				if e == "" || !utf8.ValidString(e) || utf8.RuneCountInString(e) > prompt.MaxEntry || strings.ContainsAny(e, "\n\x00\x1b") {
					t.Errorf("entry %q", e)
				}
			}
		}
	})
}

// FuzzRules: rules are sentences of the text, few and short.
func FuzzRules(f *testing.F) {
	f.Add("Never touch vendor/. Answer in French. Port is 8443.")
	f.Add("不要在周五上线。用中文回答。")
	f.Add("```\nnever\n```\n\xff must")
	f.Fuzz(func(t *testing.T, text string) {
		rules := prompt.Rules(text)
		if len(rules) > 8 {
			t.Errorf("%d rules", len(rules))
		}
		for _, r := range rules {
			if !strings.Contains(text, r) || r == "" || utf8.RuneCountInString(r) > 240 {
				t.Errorf("rule %q", r)
			}
		}
	})
}

func TestSummaryIsNeverNull(t *testing.T) {
	b, err := json.Marshal(prompt.Summary{Facts: []string{"x"}})
	if want := `{"goals":[],"facts":["x"],"todos":[],"unresolved":[]}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}
