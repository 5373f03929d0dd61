package openai

import "vitrine/llm"

// Bounds of what is kept of windows: with long names of models they stay far below what the file may have.
const (
	maxWindowed = 16  // endpoints
	maxWindows  = 256 // models of one
	maxNamed    = 128 // bytes of a name
)

// Sized notes how long contexts may be at a server, as it lists its models, so that a prompt that it takes beyond that is seen. What
// was known of the endpoint is forgotten, since models are loaded anew with other sizes. The file is written when that changed something.
func (m *Memory) Sized(baseURL string, models []llm.ModelInfo) {
	base, err := parseBase(baseURL)
	if err != nil {
		return
	}
	where := endpointOf(base)
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.windows[where]
	delete(m.windows, where)
	for _, one := range models {
		m.size(where, one.ID, one.Context)
	}
	same := len(before) == len(m.windows[where])
	for model, tokens := range before {
		same = same && m.windows[where][model] == tokens
	}
	if same || m.path == "" {
		return
	}
	if m.merge(where) == nil {
		_ = m.write() // without a file it holds as long as the program runs
	}
}

// size notes one window, within bounds.
func (m *Memory) size(endpoint, model string, tokens int) {
	if tokens <= 0 || tokens > 1<<30 || model == "" || len(model) > maxNamed {
		return
	}
	if m.windows[endpoint] == nil {
		if len(m.windows) >= maxWindowed {
			return
		}
		if m.windows == nil {
			m.windows = map[string]map[string]int{}
		}
		m.windows[endpoint] = map[string]int{}
	}
	if len(m.windows[endpoint]) < maxWindows {
		m.windows[endpoint][model] = tokens
	}
}

// window is how long a model's context may be, 0 when that is not known.
func (m *Memory) window(endpoint, model string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.windows[endpoint][model]
}
