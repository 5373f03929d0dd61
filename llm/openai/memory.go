package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"vitrine/llm/profile"
)

// Bounds of what is remembered. What is older is asked anew, since servers are updated.
const (
	maxEndpoints = 64
	maxModels    = 64 // of one endpoint
	maxDropped   = 32
	maxMemory    = 1 << 20 // bytes of the file
	keepHabits   = 30 * 24 * time.Hour
)

// Memory remembers what servers refused, so that a refusal is met once: for the life of the program, and over restarts
// when it has a file. It holds addresses without user, password or query, names of models and names of fields; no text of
// a server and no key. A file that is none of ours, or of a newer version, is left as it is. A Memory is safe for
// concurrent use; processes that share a file see what the others learned when they start, or learn something themselves.
type Memory struct {
	path string
	now  func() time.Time

	disk    sync.Mutex // for who reads and writes the file; mu is not held then
	mu      sync.Mutex
	all     map[string]map[string]learnedEntry // by endpoint, then by model; "" holds for all models
	windows map[string]windows
}

// Memories gives the Memory of a file, one and the same however often it is asked for, so that what one part of the program learns the
// others know. The zero value is ready; nil makes a new one each time. It is safe for concurrent use.
type Memories struct {
	mu    sync.Mutex
	known map[string]*Memory
}

// At gives the Memory that is kept in a file.
func (m *Memories) At(path string) *Memory {
	if m == nil {
		return NewMemory(path)
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[path] == nil {
		if m.known == nil {
			m.known = map[string]*Memory{}
		}
		m.known[path] = NewMemory(path)
	}
	return m.known[path]
}

// learnedEntry is what was learned of one model.
type learnedEntry struct {
	habits
	At time.Time `json:"at"`
}

// memoryFile is the file's content.
type memoryFile struct {
	Version   int                                `json:"version"`
	Endpoints map[string]map[string]learnedEntry `json:"endpoints"`
	Listed    map[string]windows                 `json:"listed,omitempty"`
}

// NewMemory makes a memory that is kept in a file; an empty path keeps it for the life of the program only. A file that
// cannot be read counts as empty: all that is lost is a request that is refused once more.
func NewMemory(path string) *Memory {
	m := &Memory{path: path, now: time.Now}
	m.all, m.windows, _ = m.read() // see above
	return m
}

// Learned is something that a server refused.
type Learned struct {
	Endpoint string
	// Model is empty when it holds for all of the endpoint's models.
	Model string
	// What is done since, in a few words each.
	What []string
	At   time.Time
}

// List tells what is remembered, by endpoint and model.
func (m *Memory) List() []Learned {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Learned
	for _, endpoint := range slices.Sorted(maps.Keys(m.all)) {
		models := m.all[endpoint]
		for _, model := range slices.Sorted(maps.Keys(models)) {
			out = append(out, Learned{Endpoint: endpoint, Model: model, What: models[model].words(), At: models[model].At})
		}
	}
	return out
}

// Of tells what is remembered of a model at a base URL.
func (m *Memory) Of(baseURL, model string) []Learned {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(m.List(), func(l Learned) bool {
		return l.Endpoint != endpointOf(base) || l.Model != "" && l.Model != model
	})
}

// words tells what is done.
func (h habits) words() []string {
	var out []string
	for _, f := range h.Dropped {
		out = append(out, f+" is left out")
	}
	switch h.Role {
	case "":
	case profile.RoleUser:
		out = append(out, "instructions stand in front of the first message")
	default:
		out = append(out, "instructions have the role "+string(h.Role))
	}
	if h.Limit != "" {
		out = append(out, "limit of a reply: "+string(h.Limit))
	}
	if h.Reasoning != "" {
		out = append(out, "reasoning: "+string(h.Reasoning))
	}
	if h.CallIDs == profile.IDsAlnum9 {
		out = append(out, "ids of calls: nine letters and digits")
	}
	return out
}

// of gives what is known of a model.
func (m *Memory) of(endpoint, model string) habits {
	m.mu.Lock()
	defer m.mu.Unlock()
	models := m.all[endpoint]
	return models[""].habits.with(models[model].habits)
}

// learn adds what a refusal taught. The file is written at once; when it cannot be, the memory lasts as long as the program.
func (m *Memory) learn(endpoint, model string, l lesson) {
	if l.endpoint {
		model = ""
	}
	m.keep(func() {
		h := m.all[endpoint][model].habits.with(l.habits)
		if len(h.Dropped) > maxDropped {
			h.Dropped = h.Dropped[:maxDropped]
		}
		m.put(endpoint, model, learnedEntry{habits: h, At: m.now().UTC().Truncate(time.Second)})
	})
}

// keep changes what is known, with what other processes learned meanwhile, and writes the file, unless it is none of ours.
func (m *Memory) keep(change func()) {
	m.disk.Lock()
	defer m.disk.Unlock()
	others, lists, unreadable := m.read()
	m.mu.Lock()
	m.merge(others, lists)
	change()
	b, err := json.MarshalIndent(memoryFile{Version: 1, Endpoints: m.all, Listed: m.windows}, "", " ")
	m.mu.Unlock()
	if m.path != "" && unreadable == nil && err == nil {
		_ = m.write(append(b, '\n')) // without a file it holds as long as the program runs
	}
}

// merge takes in what other processes learned.
func (m *Memory) merge(others map[string]map[string]learnedEntry, lists map[string]windows) {
	for endpoint, models := range others {
		for name, theirs := range models {
			if mine, ok := m.all[endpoint][name]; !ok || theirs.At.After(mine.At) {
				m.put(endpoint, name, theirs)
			}
		}
	}
	for endpoint, theirs := range lists {
		if mine, ok := m.windows[endpoint]; !ok || theirs.At.After(mine.At) {
			m.list(endpoint, theirs)
		}
	}
}

// put notes an entry, forgetting the oldest when there are too many.
func (m *Memory) put(endpoint, model string, e learnedEntry) {
	if m.all == nil {
		m.all = map[string]map[string]learnedEntry{}
	}
	models := m.all[endpoint]
	if models == nil {
		for len(m.all) >= maxEndpoints {
			delete(m.all, oldest(m.all, newest))
		}
		models = map[string]learnedEntry{}
		m.all[endpoint] = models
	}
	if _, ok := models[model]; !ok {
		for len(models) >= maxModels {
			delete(models, oldest(models, func(e learnedEntry) time.Time { return e.At }))
		}
	}
	models[model] = e
}

func newest(models map[string]learnedEntry) (at time.Time) {
	for _, e := range models {
		if e.At.After(at) {
			at = e.At
		}
	}
	return at
}

// oldest gives the key of the entry with the earliest time, the first by name among equals.
func oldest[V any](m map[string]V, at func(V) time.Time) string {
	keys := slices.Sorted(maps.Keys(m))
	return slices.MinFunc(keys, func(a, b string) int { return at(m[a]).Compare(at(m[b])) })
}

var fieldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) })

// read reads the file. What is too old or makes no sense is left out.
func (m *Memory) read() (learned map[string]map[string]learnedEntry, lists map[string]windows, err error) {
	if m.path == "" {
		return nil, nil, nil
	}
	info, err := os.Stat(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("look at the memory of endpoints: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxMemory:
		return nil, nil, errors.New("the memory of endpoints is no file of ours")
	}
	b, err := os.ReadFile(m.path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the memory of endpoints: %w", err)
	}
	var f memoryFile
	if err := json.Unmarshal(b, &f); err != nil || f.Version != 1 {
		return nil, nil, errors.New("the memory of endpoints is no file of ours")
	}
	kept := &Memory{}
	for endpoint, models := range f.Endpoints {
		for model, e := range models {
			e.Dropped = slices.DeleteFunc(e.Dropped, func(s string) bool { return !fieldName().MatchString(s) })
			slices.Sort(e.Dropped)
			if age := m.now().Sub(e.At); age < keepHabits && age > -keepHabits && len(e.Dropped) <= maxDropped && !e.empty() {
				kept.put(endpoint, model, e)
			}
		}
	}
	for endpoint, w := range f.Listed {
		list := windows{At: w.At}
		for model, tokens := range w.Models {
			list.size(model, tokens)
		}
		if w.fresh(m.now()) {
			kept.list(endpoint, list)
		}
	}
	return kept.all, kept.windows, nil
}

// write replaces the file as a whole, readable by its owner alone.
func (m *Memory) write(b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(m.path), filepath.Base(m.path)+".*")
	if err != nil {
		return fmt.Errorf("write the memory of endpoints: %w", err)
	}
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), m.path)
	}
	if err != nil {
		return fmt.Errorf("write the memory of endpoints: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// endpointOf names an endpoint without what may be secret.
func endpointOf(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }
