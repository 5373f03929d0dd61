package endpoint

import (
	"context"
	"iter"
	"sync"

	"vitrine/llm"
)

// Routes sends each request to the client that has its model: the built-in one, a server on this machine when the model's name
// begins with llm.LocalMark, else the endpoint.
type Routes struct {
	// Builtin is the model called BuiltinName.
	Builtin     llm.Client
	BuiltinName string
	// Remote is the endpoint, nil when there is none.
	Remote llm.Client
	// Local makes clients of servers on this machine.
	Local *Locals
	// Missing says why a model is not reached where there is no endpoint.
	Missing func(model string) string
}

// Stream implements llm.Client.
func (r Routes) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	if req.Model == r.BuiltinName {
		return r.Builtin.Stream(ctx, req)
	}
	if s, id, ok := llm.LocalModel(req.Model); ok && r.Local != nil {
		req.Model = id
		return r.Local.client(s).Stream(ctx, req)
	}
	if r.Remote != nil {
		return r.Remote.Stream(ctx, req)
	}
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, &llm.Error{Kind: llm.ErrNotFound, Message: r.Missing(req.Model)})
	}
}

// Locals are the clients of servers on this machine, made when they are first used. It is safe for concurrent use.
type Locals struct {
	cfg Config

	mu      sync.Mutex
	clients map[string]llm.Client
	closers []func()
}

// NewLocals makes them like cfg, but for the address, the key and the header, which are the endpoint's.
func NewLocals(cfg Config) *Locals { return &Locals{cfg: cfg, clients: map[string]llm.Client{}} }

func (l *Locals) client(s llm.LocalServer) llm.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.clients[s.Prefix]
	if !ok {
		cfg := l.cfg
		cfg.Wire.BaseURL, cfg.Wire.Key, cfg.Wire.Header = s.BaseURL(), "", nil
		var closeIt func()
		c, closeIt = New(cfg)
		l.clients[s.Prefix] = c
		l.closers = append(l.closers, closeIt)
	}
	return c
}

// Close ends idle connections.
func (l *Locals) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.closers {
		f()
	}
	l.closers = nil
}
