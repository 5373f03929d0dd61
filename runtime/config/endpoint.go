package config

import (
	"cmp"
	"fmt"

	"vitrine/llm"
)

// EndpointKind is which model client is meant.
type EndpointKind string

// The kinds.
const (
	Offline    EndpointKind = "offline"
	OpenAI     EndpointKind = "openai"
	OpenRouter EndpointKind = "openrouter"
	Local      EndpointKind = "local" // a server on this machine that the model's name tells of, as local:ollama/qwen3:8b
)

// OfflineModel is the name that selects the built-in model.
const OfflineModel = "offline"

// Endpoint is where model calls go.
type Endpoint struct {
	Kind    EndpointKind
	BaseURL string
	Key     Secret
	Model   string
	// Banner is what the user is shown at start, line by line: that the model is the offline one and how to connect
	// another. It is empty for an endpoint.
	Banner []string
	// Warning tells of a setting that has no effect, in one line; it also stands in the banner.
	Warning string
	// Chosen says that the user asked for the offline model.
	Chosen bool
}

// Endpoint selects the endpoint: the OpenAI variables, else OpenRouter's, else the offline model.
func (c Config) Endpoint() Endpoint {
	switch {
	case c.Model == OfflineModel:
		return offlineEndpoint("", true)
	case isLocal(c.Model):
		return localEndpoint(c.Model)
	case c.OpenAIKey != "" || c.OpenAIBaseURL != "":
		return Endpoint{Kind: OpenAI, Key: c.OpenAIKey, BaseURL: cmp.Or(c.OpenAIBaseURL, DefaultBaseURL), Model: cmp.Or(c.Model, DefaultModel)}
	case c.OpenRouterKey != "":
		model := cmp.Or(c.OpenRouterModel, c.Model, DefaultOpenRouterModel)
		if c.modelFlag {
			model = c.Model
		}
		if model == OfflineModel {
			return offlineEndpoint("", true)
		}
		return Endpoint{Kind: OpenRouter, Key: c.OpenRouterKey, BaseURL: OpenRouterBaseURL, Model: model}
	}
	if short := llm.LocalMark + c.Model; isLocal(short) {
		return localEndpoint(short) // there is no endpoint that could be meant
	}
	warning := ""
	switch {
	case c.modelFlag:
		warning = unused("--model", c.Model, "OPENAI_API_KEY or OPENAI_BASE_URL")
	case c.Model != "":
		warning = unused("MODEL", c.Model, "OPENAI_API_KEY or OPENAI_BASE_URL")
	case c.OpenRouterModel != "":
		warning = unused("OPENROUTER_MODEL", c.OpenRouterModel, "OPENROUTER_API_KEY")
	}
	return offlineEndpoint(warning, false)
}

// Remote is the endpoint that other models than those of this machine are at; its kind is Offline when there is none.
func (c Config) Remote() Endpoint {
	end := c.Endpoint()
	if end.Kind == Local {
		c.Model = ""
		end = c.Endpoint()
	}
	return end
}

// ModelID is the model as the endpoint itself names it.
func (e Endpoint) ModelID() string {
	if _, id, ok := llm.LocalModel(e.Model); ok {
		return id
	}
	return e.Model
}

func localEndpoint(model string) Endpoint {
	server, _, _ := llm.LocalModel(model)
	return Endpoint{Kind: Local, BaseURL: server.BaseURL(), Model: model}
}

func isLocal(model string) bool {
	_, _, ok := llm.LocalModel(model)
	return ok
}

func unused(name, model, missing string) string {
	return fmt.Sprintf("%s names %s, but no endpoint is set, so it is not used; set %s", name, model, missing)
}

func offlineEndpoint(warning string, chosen bool) Endpoint {
	e := Endpoint{Kind: Offline, Model: OfflineModel, Warning: warning, Chosen: chosen}
	e.Banner = []string{
		"OFFLINE MODEL  fixed rules: no key, network or cost",
		"To connect one: OPENAI_BASE_URL or OPENAI_API_KEY",
	}
	if warning != "" {
		e.Banner = append(e.Banner, warning)
	}
	return e
}
