package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"vitrine/llm"
)

// Replies says whether replies are made at the base URL: a request without messages is refused there with other words than that there
// is no such path. It costs nothing, since there is nothing to reply to. An error says that it could not be told.
func (c *Client) Replies(ctx context.Context) (bool, error) {
	if c.bad != nil {
		return false, c.bad
	}
	x := c.begin(ctx, dialect{Profile: c.profiles.of("")})
	defer x.end()
	r, err := x.post("chat/completions", []byte("{}"))
	if err != nil {
		return false, x.fail(err)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return false, x.fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(x.alive(resp.Body), maxStray))
		if body = bytes.TrimSpace(body); err != nil || len(body) == 0 || body[0] == '<' {
			return false, nil // a page
		}
		f := parseFault(body)
		return !f.told || f.err(0, c.clean).Kind != llm.ErrNotFound, nil
	}
	var refused *refusal
	if err := x.refused(resp); !errors.As(err, &refused) {
		return false, err
	}
	switch e := refused.what; {
	case e.Kind == llm.ErrAuth, e.Status < 400, e.Status >= 500:
		return false, e
	case e.Kind == llm.ErrNotFound, e.Status == http.StatusMethodNotAllowed:
		return false, nil
	}
	return true, nil
}

// listed is one entry of a server's list of models, with the names under which servers tell how long a context may be: OpenRouter,
// vLLM, Groq, Mistral and LM Studio, llama.cpp.
type listed struct {
	ID            string `json:"id"`
	ContextLength count  `json:"context_length"`
	MaxModelLen   count  `json:"max_model_len"`
	ContextWindow count  `json:"context_window"`
	MaxContext    count  `json:"max_context_length"`
	MaxInput      count  `json:"max_input_tokens"`
	Loaded        count  `json:"loaded_context_length"`
	Meta          struct {
		Loaded  count `json:"n_ctx"`
		Trained count `json:"n_ctx_train"`
	} `json:"meta"`
}

// readModels reads a list of models; ok says whether it is one. An entry that cannot be read keeps its id alone.
func readModels(body []byte) (models []llm.ModelInfo, ok bool) {
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if len(body) > 0 && body[0] == '[' { // Together has nothing around it
		if json.Unmarshal(body, &list.Data) != nil || len(list.Data) == 0 {
			return nil, false
		}
	} else if json.Unmarshal(body, &list) != nil || list.Data == nil {
		return nil, false
	}
	models = make([]llm.ModelInfo, 0, len(list.Data))
	for _, raw := range list.Data {
		var m listed
		if json.Unmarshal(raw, &m) != nil {
			var only struct {
				ID string `json:"id"`
			}
			if json.Unmarshal(raw, &only) != nil {
				continue
			}
			m = listed{ID: only.ID}
		}
		if m.ID == "" {
			continue
		}
		info := llm.ModelInfo{ID: m.ID}
		for _, c := range []count{m.Loaded, m.ContextLength, m.MaxModelLen, m.ContextWindow, m.MaxContext, m.MaxInput, m.Meta.Loaded, m.Meta.Trained} {
			if c.n != nil && *c.n > 0 {
				info.Context = *c.n
				break
			}
		}
		models = append(models, info)
	}
	return models, len(models) > 0 || len(list.Data) == 0
}
