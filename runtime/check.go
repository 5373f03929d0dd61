package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"vitrine/llm"
	"vitrine/trace"
)

// maxRejections is how often an answer that fails a check goes back to the model.
const maxRejections = 3

// Checks are what a run's answer has to pass. They are kept with the run, so that a resumed one is held to them too.
type Checks struct {
	// Schema is a JSON schema that the answer, as JSON, has to satisfy.
	Schema json.RawMessage `json:",omitempty"`
	// Regexp has to match somewhere in the answer.
	Regexp string `json:",omitempty"`
	// Tool has to have succeeded in the run.
	Tool string `json:",omitempty"`
	// NoOpenTodo wants every todo of the session completed.
	NoOpenTodo bool `json:",omitempty"`
}

// Validate says what is wrong with the checks themselves.
func (c *Checks) Validate() error {
	if c == nil {
		return nil
	}
	if _, err := c.schema(); err != nil {
		return err
	}
	if _, err := regexp.Compile(c.Regexp); err != nil {
		return fmt.Errorf("the regular expression: %w", err)
	}
	return nil
}

func (c *Checks) schema() (*jsonschema.Resolved, error) {
	if len(c.Schema) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(c.Schema, &v); err != nil {
		return nil, fmt.Errorf("the JSON schema: %w", err)
	}
	if kind := notSchema(v); kind != "" { // the library's own words on this are its Go types
		return nil, fmt.Errorf("the JSON schema has to be an object, or true or false; it is %s", kind)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(c.Schema, &s); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return nil, fmt.Errorf("the JSON schema: its field %s cannot be a %s", wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("the JSON schema: %s", cutLine(oneLine(err)))
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the JSON schema: %w", err)
	}
	return resolved, nil
}

// notSchema names the kind of a JSON value that can be no schema; empty when it can.
func notSchema(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case float64:
		return "a number"
	case []any:
		return "an array"
	}
	return ""
}

// cutLine bounds what a library says of a fault to what fits on a few rows of a screen.
func cutLine(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// text says what is wrong with an answer as far as its text tells; empty when nothing is.
func (c *Checks) text(answer string) string {
	if re, err := regexp.Compile(c.Regexp); err == nil && !re.MatchString(answer) {
		return fmt.Sprintf("it has to match the regular expression %s", c.Regexp)
	}
	return c.shape(answer)
}

// shape says what is wrong with an answer as far as the schema tells.
func (c *Checks) shape(answer string) string {
	schema, err := c.schema()
	if err != nil || schema == nil {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(unfence(answer)), &v); err != nil {
		return "it has to be one JSON value and nothing else: " + oneLine(err)
	}
	if err := schema.Validate(v); err != nil {
		return "it does not satisfy the JSON schema: " + oneLine(err)
	}
	return ""
}

// unfence takes a code fence around the whole text away.
func unfence(s string) string {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "```") || !strings.HasSuffix(s, "```") || len(s) < 6 {
		return s
	}
	_, body, ok := strings.Cut(s, "\n")
	if !ok {
		return s
	}
	return strings.TrimSuffix(body, "```")
}

// verify checks the answer. With checks it is stored first: what a crash finds is an answer that is still to be verified.
func (r *run) verify() (Input, error) {
	c := r.row.Versions.Checks
	if c == nil {
		return InVerified, nil
	}
	if !r.reply.stored {
		m := r.newMessage(llm.KindAssistant, llm.RoleAssistant, r.reply.text)
		m.Extra = r.reply.done.Extra
		tx := r.s.tx()
		tx.Messages, tx.Events = []MessageRow{m}, r.takeEvents()
		if err := r.commitAs(tx, StateVerifying); err != nil {
			return "", err
		}
		r.reply.stored, r.text = true, ""
		r.answerN = lastN(r.s.window)
	}
	why, err := r.rejection(c)
	if err != nil {
		return "", err
	}
	if why == "" {
		return InVerified, nil
	}
	r.rejected = why
	return InRejected, nil
}

// rejection says why the answer does not pass, empty when it does.
func (r *run) rejection(c *Checks) (string, error) {
	if c.Tool != "" && !r.used[c.Tool] {
		return fmt.Sprintf("the tool %s has to be called, with success, before the answer", c.Tool), nil
	}
	if c.NoOpenTodo {
		ctx, cancel := r.s.eng.storeContext()
		defer cancel()
		todos, err := r.s.eng.cfg.Store.Todos(ctx, r.s.id)
		if err != nil {
			return "", fmt.Errorf("read the todos of session %s: %w", r.s.id, err)
		}
		for _, t := range todos {
			if !t.Completed {
				return fmt.Sprintf("the todo %q is still open", t.Text), nil
			}
		}
	}
	r.misshapen = r.misshapen || c.shape(r.reply.text) != ""
	return c.text(r.reply.text), nil
}

// shape is the schema that the model's server is asked to hold the next reply to. Many servers cannot have both tools and a
// schema, and a schema keeps some from calling tools at all; so in a run with tools it is asked for only when an answer did not
// have it.
func (r *run) shape() *llm.Schema {
	c := r.row.Versions.Checks
	if c == nil || len(c.Schema) == 0 || len(r.s.eng.specs) > 0 && !r.misshapen {
		return nil
	}
	return &llm.Schema{Name: "answer", JSON: c.Schema}
}

// sendBack stores the request to pass the check, or gives up after maxRejections.
func (r *run) sendBack() (Input, error) {
	why := r.rejected
	r.rejected = ""
	if r.rejections++; r.rejections > maxRejections {
		r.reason = ReasonCheck
		r.failure = &trace.ErrorData{
			Message: "the answer does not pass its checks", Why: fmt.Sprintf("after %d tries: %s", maxRejections+1, why), Code: "check",
			Todo: "the last answer stands; loosen the check, or ask in other words",
		}
		return InModelFailed, nil
	}
	m := r.newMessage(llm.KindNotice, llm.RoleUser, "[RUNTIME] Your answer does not pass a check: "+why+". Answer again so that it does.")
	tx := r.s.tx()
	tx.Messages, tx.Events = []MessageRow{m}, r.takeEvents()
	if err := r.commit(tx); err != nil {
		return "", err
	}
	r.answerN = 0
	return InRepaired, nil
}

// restoreAnswer takes up an answer that was still to be verified when the program stopped.
func (r *run) restoreAnswer() error {
	for i := len(r.s.window) - 1; i >= 0; i-- {
		m := r.s.window[i]
		if m.RunID == r.row.ID && m.Kind == llm.KindAssistant && len(m.ToolCalls) == 0 {
			r.reply = reply{text: m.Content, stored: true}
			r.answerN = m.N
			return nil
		}
	}
	return errors.New("the answer that was to be verified is not there")
}
