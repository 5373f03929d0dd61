package openai

import (
	"maps"
	"time"

	"vitrine/llm"
)

// Bounds of what is kept of windows: with long names of models they stay far below what the file may have. A server is set up anew
// sooner than it learns to take a field, so its list is believed for a shorter time.
const (
	maxWindowed = 16  // endpoints
	maxWindows  = 256 // models of one
	maxNamed    = 128 // bytes of a name
	keepWindows = 7 * 24 * time.Hour
	// sameList is how old a list may be for the same one to be no news that is worth writing the file.
	sameList = 24 * time.Hour
)

// windows are how long the contexts of an endpoint's models may be, as its list said at a time.
type windows struct {
	At     time.Time      `json:"at"`
	Models map[string]int `json:"models"`
}

// fresh says whether the list is still believed. A clock that was set back does not make it last.
func (w windows) fresh(now time.Time) bool {
	age := now.Sub(w.At)
	return age < keepWindows && age > -keepWindows
}

// Sized notes how long contexts may be at a server, as it lists its models, so that a prompt that it takes beyond that is seen. What
// was known of the endpoint is forgotten, since models are loaded anew with other sizes. The file is written when that changed something.
func (m *Memory) Sized(baseURL string, models []llm.ModelInfo) {
	base, err := parseBase(baseURL)
	if err != nil {
		return
	}
	list := windows{At: m.now().UTC().Truncate(time.Second)}
	for _, one := range models {
		list.size(one.ID, one.Context)
	}
	where := endpointOf(base)
	m.mu.Lock()
	before := m.windows[where]
	m.list(where, list)
	m.mu.Unlock()
	if maps.Equal(before.Models, list.Models) && (len(list.Models) == 0 || list.At.Sub(before.At) < sameList) || m.path == "" {
		return
	}
	m.keep(func() { m.list(where, list) }) // whatever others have read before
}

// size notes one window, within bounds.
func (w *windows) size(model string, tokens int) {
	if tokens <= 0 || tokens > 1<<30 || model == "" || len(model) > maxNamed || len(w.Models) >= maxWindows {
		return
	}
	if w.Models == nil {
		w.Models = map[string]int{}
	}
	w.Models[model] = tokens
}

// list notes a list, forgetting the oldest when there are too many. One without a size is none.
func (m *Memory) list(endpoint string, w windows) {
	delete(m.windows, endpoint)
	if len(w.Models) == 0 {
		return
	}
	if m.windows == nil {
		m.windows = map[string]windows{}
	}
	for len(m.windows) >= maxWindowed {
		delete(m.windows, oldest(m.windows, func(w windows) time.Time { return w.At }))
	}
	m.windows[endpoint] = w
}

// window is how long a model's context may be, 0 when that is not known.
func (m *Memory) window(endpoint, model string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.windows[endpoint]
	if !w.fresh(m.now()) {
		return 0
	}
	return w.Models[model]
}
