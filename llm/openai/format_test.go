package openai

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/llmtest"
)

const pointSchema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`

func shaped(tools bool) llm.Request {
	req := llmtest.SuiteRequest()
	if !tools {
		req.Tools = nil
	}
	req.Schema = &llm.Schema{Name: "answer", JSON: json.RawMessage(pointSchema)}
	return req
}

const (
	asSchema = `{"type":"json_schema","json_schema":{"name":"answer","schema":` + pointSchema + `}}`
	asObject = `{"type":"json_object","schema":` + pointSchema + `}`
)

// formatsOf gives what the requests said about the form of the reply.
func formatsOf(srv *llmtest.Server) (sent []string) {
	for _, r := range srv.Requests() {
		sent = append(sent, string(r.Fields["response_format"]))
	}
	return sent
}

// A schema is sent as response_format; each way that a server refuses, in its own words, is left out from then on, over
// restarts too, beside tools apart from without them, until none is left.
func TestSchemaOfTheReply(t *testing.T) {
	for name, words := range map[string]string{
		"openai":    `{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.","param":"response_format"}}`,
		"deepseek":  `{"error":{"message":"This response_format type is unavailable now","code":"invalid_request_error"}}`,
		"llama.cpp": `{"error":{"code":400,"message":"Cannot use custom grammar constraints with tools.","type":"invalid_request_error"}}`,
		"vllm":      `{"object":"error","message":"Failed to compile the guided decoding grammar","code":400}`,
	} {
		t.Run(name, func(t *testing.T) {
			srv := llmtest.NewServer()
			t.Cleanup(srv.Close)
			file := filepath.Join(t.TempDir(), "endpoints.json")
			ask := func(tools bool) {
				t.Helper()
				c := New(Config{BaseURL: srv.URL(), Memory: NewMemory(file)})
				defer c.Close()
				if reply, err := llmtest.Record(t, c.Stream(t.Context(), shaped(tools))); err != nil || reply.Text != "ok" {
					t.Errorf("%q, %v", reply.Text, err)
				}
			}
			srv.Push(llmtest.Answer("ok"), llmtest.Refuse(400, words), llmtest.Answer("ok"), llmtest.Refuse(422, words), llmtest.Answer("ok"), llmtest.Answer("ok"))
			ask(false)
			ask(false)
			ask(false)
			ask(false)
			srv.Push(llmtest.Refuse(400, words), llmtest.Refuse(400, words), llmtest.Answer("ok"))
			ask(true)
			want := []string{asSchema, asSchema, asObject, asObject, "", "", asSchema, asObject, ""}
			if d := cmp.Diff(want, formatsOf(srv)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A schema that a server cannot take is no reason not to send it others.
func TestOddSchemaIsNotRemembered(t *testing.T) {
	srv, c := serve(t, llmtest.Refuse(400, `{"error":{"message":"Invalid schema for response_format 'answer': schema must have type object","param":"response_format"}}`),
		llmtest.Answer("ok"), llmtest.Answer("ok"))
	for range 2 {
		if reply, err := llmtest.Record(t, c.Stream(t.Context(), shaped(false))); err != nil || reply.Text != "ok" {
			t.Errorf("%q, %v", reply.Text, err)
		}
	}
	if d := cmp.Diff([]string{asSchema, "", asSchema}, formatsOf(srv)); d != "" {
		t.Error(d)
	}
}

// Another refusal takes nothing away, and without a schema nothing is said of one.
func TestSchemaStaysForOtherRefusals(t *testing.T) {
	srv, c := serve(t, llmtest.Refuse(400, `{"error":{"message":"the model is asleep"}}`), llmtest.Answer("ok"), llmtest.Answer("ok"))
	if _, err := llmtest.Record(t, c.Stream(t.Context(), shaped(false))); err == nil {
		t.Error("no error")
	}
	for _, req := range []llm.Request{shaped(false), llmtest.SuiteRequest()} {
		if _, err := llmtest.Record(t, c.Stream(t.Context(), req)); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff([]string{asSchema, asSchema, ""}, formatsOf(srv)); d != "" {
		t.Error(d)
	}
}
