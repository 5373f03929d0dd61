// Package openai talks to servers that speak the chat completions protocol of OpenAI, or nearly so.
//
// A Client encodes a request (request.go), sends it (transport.go), splits the answer into events (sse.go) and assembles
// the reply (decode.go, calls.go, usage.go). Servers differ in what they take and in what they send. What they take is
// said by a profile (llm/profile) and learned from refusals that name a parameter (habits.go, memory.go); what they send is
// decoded by two rules: what arrived counts more than the finish reason, index or usage that came with it, and a status of
// 200 proves nothing. What a server did that its user may want to change is told in notes (notes.go). Errors in all their
// shapes become *llm.Error (errors.go). Nothing here retries what time may cure; that is for llm.Retry.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"vitrine/llm"
	"vitrine/llm/profile"
)

// Defaults of Config.
const (
	DefaultBaseURL          = "https://api.openai.com/v1"
	DefaultConnectTimeout   = 10 * time.Second
	DefaultFirstByteTimeout = 300 * time.Second
)

// Times that have no need to be set.
const (
	afterFinish = 2 * time.Second       // how long usage or [DONE] may come after the finish reason
	afterDone   = 20 * time.Millisecond // how long the end of the body is waited for, to use the connection again
	errorBody   = 5 * time.Second       // how long the body of an error may take
)

// Config says where the server is and how to talk to it. Printing it never shows the key.
type Config struct {
	// BaseURL is what comes before /chat/completions; empty is DefaultBaseURL. A query is kept.
	BaseURL string
	// Key goes into the Authorization header; without one there is none. Local servers need none.
	Key string `json:"-"`
	// Header is sent with each request, beside what the protocol needs.
	Header http.Header `json:"-"`
	// Transport carries the requests; nil makes one that honours proxies of the environment.
	Transport http.RoundTripper `json:"-"`
	// Wrap, if set, is given the transport and makes the one that is used.
	Wrap func(http.RoundTripper) http.RoundTripper `json:"-"`
	// ConnectTimeout bounds making a connection, with a Transport of our own; 0 is DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// FirstByteTimeout bounds the time from the request to the first byte of the answer's body; 0 is
	// DefaultFirstByteTimeout. How long a stream may last is not bounded; for silence within it see llm.Watchdog.
	FirstByteTimeout time.Duration
	// Profiles are the known profiles; the zero Set stands for profile.Builtin. Profile names the one to use; empty chooses
	// by BaseURL and model.
	Profiles profile.Set
	Profile  string
	// Memory is what servers refused before; nil remembers for the life of the client.
	Memory *Memory `json:"-"`
}

// Client is an llm.Client for one endpoint. It is safe for concurrent use.
type Client struct {
	http      *http.Client
	base      *url.URL
	bad       error // why no request can be sent
	authorize func(http.Header, profile.Profile)
	clean     func(string) string
	firstByte time.Duration
	profiles  *profiles
	memory    *Memory

	mu      sync.Mutex
	told    map[string]bool // notes that are worth telling once
	thinks  map[string]bool // models whose replies began with <think>
	pending []llm.Note      // of refusals, for the next reply
}

// New makes a client. A Config that cannot work makes one whose requests fail with a message that says why.
func New(cfg Config) *Client {
	key := strings.TrimSpace(cfg.Key)
	base, err := parseBase(cfg.BaseURL)
	secrets := append(secretsOf(key, base, cfg.Header), cfg.Profiles.Secrets()...)
	c := &Client{base: base, bad: err, firstByte: cfg.FirstByteTimeout, memory: cfg.Memory}
	c.profiles = &profiles{set: cfg.Profiles, name: cfg.Profile, base: base.String()}
	if c.memory == nil {
		c.memory = NewMemory("")
	}
	if c.bad == nil && strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7F }) {
		c.bad = &llm.Error{Kind: llm.ErrAuth, Message: "the API key holds control characters"}
	}
	if c.firstByte <= 0 {
		c.firstByte = DefaultFirstByteTimeout
	}
	header := cfg.Header.Clone()
	// The key lives in closures only: whatever prints a Client cannot print it.
	c.authorize = func(h http.Header, p profile.Profile) {
		for name, values := range header {
			h[name] = values
		}
		switch {
		case key == "":
		case p.Auth == profile.AuthAPIKey:
			h.Set("Api-Key", key)
		default:
			h.Set("Authorization", "Bearer "+key)
		}
		for name, value := range p.Headers {
			h.Set(name, value)
		}
	}
	c.clean = func(s string) string { return llm.CleanText(s, secrets...) }
	transport := cfg.Transport
	if transport == nil {
		transport = newTransport(cfg.ConnectTimeout)
	}
	if cfg.Wrap != nil {
		transport = cfg.Wrap(transport)
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	return c
}

// Close closes idle connections. Streams that run are not touched, and the client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Host is where requests go.
func (c *Client) Host() string { return c.base.Host }

// Stream implements llm.Client.
func (c *Client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		err := c.stream(ctx, req, func(ch llm.Chunk) bool { return yield(ch, nil) })
		switch {
		case err == nil, errors.Is(err, errStopped):
		case ctx.Err() != nil:
			yield(llm.Chunk{}, ctx.Err())
		default:
			yield(llm.Chunk{}, err)
		}
	}
}

// stream sends the request, again for each habit of the server that a refusal teaches, and plays the reply.
func (c *Client) stream(ctx context.Context, req llm.Request, tell func(llm.Chunk) bool) error {
	if c.bad != nil {
		return c.bad
	}
	where := endpointOf(c.base)
	for {
		d := dialect{c.profiles.of(req.Model), c.memory.of(where, req.Model)}
		if d.ContextTokens == 0 {
			d.ContextTokens = c.memory.window(where, req.Model)
		}
		body, err := encode(req, d)
		if err != nil {
			return &llm.Error{Kind: llm.ErrRejected, Host: c.base.Host, Message: "the request cannot be encoded", Err: err}
		}
		d.MayThink = d.MayThink || c.thought(req.Model)
		x := c.begin(ctx, d)
		x.request, x.size = req, len(body)
		err = x.converse(body, tell)
		x.end()
		var refused *refusal
		if !errors.As(err, &refused) {
			return err
		}
		l, ok := d.adapt(refused.what, refused.fault, req)
		if !ok {
			return refused.what
		}
		if l.unshaped {
			req.Schema = nil
		} else {
			c.memory.learn(where, req.Model, l)
		}
		c.pend(noteLearned(c.base.Host, l, refused.what))
	}
}

// profiles finds the profile of each model, once.
type profiles struct {
	name, base string

	mu    sync.Mutex
	set   profile.Set
	found map[string]profile.Profile
}

// maxFound bounds the models whose profile is kept.
const maxFound = 64

func (p *profiles) of(model string) profile.Profile {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, ok := p.found[model]; ok {
		return found
	}
	if len(p.set.Names()) == 0 {
		p.set = profile.Builtin()
	}
	if len(p.found) >= maxFound || p.found == nil {
		p.found = map[string]profile.Profile{}
	}
	p.found[model] = p.set.Choose(p.name, p.base, model).Profile
	return p.found[model]
}

// refusal is an error of the server before any stream, with what the server said in full.
type refusal struct {
	what  *llm.Error
	fault fault
}

func (r *refusal) Error() string { return r.what.Error() }

// converse sends the body and plays the answer.
func (x *exchange) converse(body []byte, tell func(llm.Chunk) bool) error {
	r, err := x.post("chat/completions", body)
	if err != nil {
		return x.fail(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if !x.dialect.sends(fieldStream) {
		r.Header.Set("Accept", "application/json")
	}
	resp, err := x.client.http.Do(r)
	if err != nil {
		return x.fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return x.refused(resp)
	}
	d := &decoder{tell: tell, dialect: &x.dialect, request: &x.request, clean: x.client.clean, onEnd: x.ended}
	d.window = func(model string) int { return x.client.memory.window(endpointOf(x.client.base), model) }
	done, err := d.decode(x.alive(resp.Body))
	if err != nil {
		return x.fail(err)
	}
	x.drain(resp.Body)
	if d.tags.split {
		x.client.sawThink(x.request.Model)
	}
	done.Notes = x.client.fresh(append(x.buffered(d), done.Notes...))
	tell(llm.Chunk{Done: done})
	return nil
}

// refused reads the error that a server answered with.
func (x *exchange) refused(resp *http.Response) error {
	stop := x.within(errorBody, context.Canceled)
	defer stop()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStray)) // a part of an error says more than none
	f := parseFault(body)
	f.wait(resp.StatusCode, resp.Header, time.Now())
	f.large, f.tools = x.size > largeRequest, x.aboutTools(f)
	if to := resp.Header.Get("Location"); resp.StatusCode < 400 && to != "" {
		f.message = "the server redirects to " + to + "; set the base URL to where it really is"
	}
	e := f.err(resp.StatusCode, x.client.clean)
	x.sign(e)
	return &refusal{what: e, fault: f}
}

// versioned finds what most base URLs end in, or have in the middle.
var versioned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/v\d|/deployments/|/openai`) })

// aboutTools says whether a refusal may be one of the tools: there are some, and no form of the reply that it speaks of.
func (x *exchange) aboutTools(f fault) bool {
	words := strings.ToLower(f.message)
	names := func(word string) bool { return strings.Contains(words, word) }
	return len(x.request.Tools) > 0 && (x.dialect.format(x.request) == "" || !refusesFormat(names))
}

// fail makes the error of a request that got no whole reply.
func (x *exchange) fail(err error) error {
	var e *llm.Error
	var read *readError
	host := x.client.base.Host
	switch cause := context.Cause(x.ctx); {
	case errors.Is(err, errStopped):
		return err
	case errors.Is(cause, errFirstByte):
		return &llm.Error{Kind: llm.ErrTimeout, Host: host, Message: fmt.Sprintf("no answer within %s", x.client.firstByte), Retryable: true}
	case errors.As(err, &e):
		x.sign(e)
		return e
	case errors.As(err, &read):
		return &llm.Error{Kind: llm.ErrCut, Host: host, Message: x.client.clean("the connection broke within the reply: " + plain(read.err.Error())),
			Retryable: true, Err: read.err}
	}
	return x.client.connectError(err)
}

// sign puts the host and what to change there on an error.
func (x *exchange) sign(e *llm.Error) {
	e.Host = x.client.base.Host
	code := string(e.Kind)
	if e.Kind == llm.ErrContext {
		code = "overflow"
	}
	e.Hint = llm.CleanText(x.dialect.Hints[code])
	if e.Hint == "" && (e.Kind == llm.ErrNotFound || e.Kind == llm.ErrProtocol || e.Status == http.StatusMethodNotAllowed) && !versioned().MatchString(x.client.base.Path) {
		e.Hint = "the base URL of most servers ends in /v1"
	}
}

// Models lists the models that the server offers, as it orders them. A server that has no such list gives ErrNotFound, or the
// status 405; when what says so is no JSON it is ErrProtocol, since it may be no server of models at all.
func (c *Client) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	x := c.begin(ctx, dialect{Profile: c.profiles.of("")})
	defer x.end()
	models, err := x.models()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var refused *refusal
	if errors.As(err, &refused) {
		e := refused.what
		if !refused.fault.json && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) { // a wrong path, or a page
			e.Kind, e.Message = llm.ErrProtocol, c.clean("the answer is no list of models: "+e.Message)
		}
		return nil, e
	}
	if err == nil {
		c.memory.Sized(c.base.String(), models)
	}
	return models, err
}

func (x *exchange) models() ([]llm.ModelInfo, error) {
	r, err := x.get("models")
	if err != nil {
		return nil, x.fail(err)
	}
	resp, err := x.client.http.Do(r)
	if err != nil {
		return nil, x.fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, x.refused(resp)
	}
	body, err := io.ReadAll(io.LimitReader(x.alive(resp.Body), maxEvent))
	if err != nil {
		return nil, x.fail(&readError{err})
	}
	body = bytes.TrimSpace(body)
	if models, ok := readModels(body); ok {
		return models, nil
	}
	if f := parseFault(body); f.told && f.message != "" { // some say so with a status of 200
		e := f.err(0, x.client.clean)
		x.sign(e)
		return nil, e
	}
	e := &llm.Error{Kind: llm.ErrProtocol, Message: "the answer is no list of models"}
	if len(body) > 0 && body[0] != '{' && body[0] != '[' {
		e.Message = x.client.clean(e.Message + ": " + x.client.clean(string(body[:min(len(body), maxStray)])))
	}
	x.sign(e)
	return nil, e
}
