// Package discover finds programs that run models on this machine: Ollama, llama.cpp and LM Studio, at their addresses on the loopback.
// Each is known by a path that only it has, which also tells more of its models than OpenAI's list does. Nothing is looked for
// unless somebody asks, and what is found is only told.
package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

// Bounds of an answer. A server on this machine is quick or not there.
const (
	patience = 2 * time.Second
	maxBody  = 4 << 20
	// maxModels is how many models of a server are told.
	maxModels = 500
)

// Found is a server that answered.
type Found struct {
	llm.LocalServer
	Models []llm.ModelInfo
}

// Local asks the servers at once and gives those that answered, in their order. Ending ctx ends the search.
func Local(ctx context.Context, clk clock.Clock, servers []llm.LocalServer) []Found {
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // no proxy: it is this machine that is asked
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, cancel := clk.WithTimeout(ctx, patience)
	defer cancel()
	answers := make([]*Found, len(servers))
	group := clock.NewGroup(clk)
	for i, s := range servers {
		group.Go(func() {
			a := asker{ctx: ctx, client: client, root: s.Root}
			if models, err := a.models(s.Prefix); err == nil {
				answers[i] = &Found{LocalServer: s, Models: models[:min(len(models), maxModels)]}
			}
		})
	}
	_ = group.Wait(context.WithoutCancel(ctx)) // each ends with ctx
	var found []Found
	for _, a := range answers {
		if a != nil {
			found = append(found, *a)
		}
	}
	return found
}

var errNotIt = errors.New("another program answers there")

type asker struct {
	ctx    context.Context
	client *http.Client
	root   string
}

func (a asker) models(prefix string) ([]llm.ModelInfo, error) {
	switch prefix {
	case "ollama":
		return a.ollama()
	case "llama.cpp":
		return a.llamaCPP()
	case "lmstudio":
		return a.lmStudio()
	}
	return nil, errNotIt
}

// ollama lists what was pulled. Only of what is loaded the context is told: what others could have, Ollama does not give them
// by itself.
func (a asker) ollama() ([]llm.ModelInfo, error) {
	var tags struct {
		Models []struct{ Name string }
	}
	if err := a.get("/api/tags", &tags); err != nil {
		return nil, err
	}
	if tags.Models == nil {
		return nil, errNotIt
	}
	var loaded struct {
		Models []struct {
			Name    string
			Context int `json:"context_length"`
		}
	}
	sizes := map[string]int{}
	if err := a.get("/api/ps", &loaded); err == nil { // an old one has no such path, and then no sizes
		for _, m := range loaded.Models {
			sizes[m.Name] = m.Context
		}
	}
	var models []llm.ModelInfo
	for _, m := range tags.Models {
		models = append(models, llm.ModelInfo{ID: m.Name, Context: sizes[m.Name]})
	}
	return models, nil
}

// llamaCPP lists the model that the server was started with, and its context.
func (a asker) llamaCPP() ([]llm.ModelInfo, error) {
	var props struct {
		Settings *struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err := a.get("/props", &props); err != nil {
		return nil, err
	}
	if props.Settings == nil {
		return nil, errNotIt
	}
	var list struct {
		Data []struct{ ID string }
	}
	if err := a.get("/v1/models", &list); err != nil {
		return nil, err
	}
	var models []llm.ModelInfo
	for _, m := range list.Data {
		models = append(models, llm.ModelInfo{ID: m.ID, Context: props.Settings.Context})
	}
	return models, nil
}

// lmStudio lists what was downloaded, without what can only embed.
func (a asker) lmStudio() ([]llm.ModelInfo, error) {
	var list struct {
		Data []struct {
			ID, Type string
			Most     int `json:"max_context_length"`
			Loaded   int `json:"loaded_context_length"`
		}
	}
	if err := a.get("/api/v0/models", &list); err != nil {
		return nil, err
	}
	if list.Data == nil {
		return nil, errNotIt
	}
	var models []llm.ModelInfo
	for _, m := range list.Data {
		if m.Type == "embeddings" {
			continue
		}
		size := m.Loaded
		if size == 0 {
			size = m.Most
		}
		models = append(models, llm.ModelInfo{ID: m.ID, Context: size})
	}
	return models, nil
}

func (a asker) get(path string, into any) error {
	req, err := http.NewRequestWithContext(a.ctx, http.MethodGet, a.root+path, nil)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", path, err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errNotIt
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
