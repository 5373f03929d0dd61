package openai

import (
	"net/http"
	"strings"
	"sync"

	"vitrine/llm"
)

// habits is how one model of this endpoint differs from what we send at first. They are learned from refusals that name
// a parameter, and then kept for the life of the client, so that a refusal is met once.
type habits struct {
	noStreamOptions bool // a habit of the endpoint, whatever the model
	noTemperature   bool
	limit           limit
	replay          bool // wants its reasoning back
	forgetful       bool // refused its reasoning; never try again
}

// limit is the parameter that bounds a reply.
type limit int

const (
	limitMaxTokens limit = iota
	limitMaxCompletionTokens
	limitNone
)

// memory holds the habits of all models.
type memory struct {
	mu              sync.Mutex
	noStreamOptions bool
	models          map[string]habits
}

func (m *memory) of(model string) habits {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.models[model]
	h.noStreamOptions = m.noStreamOptions
	return h
}

// learn notes h, which a refusal of a request taught.
func (m *memory) learn(model string, h habits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noStreamOptions = m.noStreamOptions || h.noStreamOptions
	if m.models == nil {
		m.models = map[string]habits{}
	}
	m.models[model] = h
}

// adapt gives the habits that a refusal teaches, and whether it taught any: then the request is worth sending again.
func (h habits) adapt(e *llm.Error, f fault, req llm.Request) (habits, bool) {
	if e.Kind != llm.ErrRejected || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return h, false
	}
	words := strings.ToLower(f.message)
	names := func(param string) bool {
		return strings.HasPrefix(f.param, param) || strings.Contains(words, param)
	}
	switch {
	case !h.noStreamOptions && (names("stream_options") || names("include_usage")):
		h.noStreamOptions = true
	case names("reasoning") && h.replay:
		h.replay, h.forgetful = false, true
	case names("reasoning") && !h.forgetful && hasReasoning(req):
		h.replay = true
	case !h.noTemperature && req.Temperature != nil && names("temperature"):
		h.noTemperature = true
	case h.limit < limitNone && req.MaxTokens > 0 && unsupported(words, f.code) && (names("max_tokens") || names("max_completion_tokens")):
		h.limit++
	default:
		return h, false
	}
	return h, true
}

// unsupported tells a parameter that a server does not know from one whose value it does not like.
func unsupported(words, code string) bool {
	return hasAny(code, "unsupported", "unknown_parameter") ||
		hasAny(words, "unsupported", "not support", "unknown", "unrecogni", "not permitted", "not allowed", "unexpected", "use 'max_completion_tokens'")
}

func hasReasoning(req llm.Request) bool {
	for _, m := range req.Messages {
		fields := fieldsOf(m.Extra)
		if fields["reasoning"] != nil || fields["reasoning_content"] != nil {
			return true
		}
	}
	return false
}
