package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Request is a request for a completion as it came.
type Request struct {
	Header http.Header
	Path   string
	Query  url.Values
	Body   []byte
	// Model, Messages and Stream are parsed from Body, as far as it could be.
	Model    string
	Messages []Message
	Stream   bool
	// Fields holds every field of the body.
	Fields map[string]json.RawMessage
	// Problem is what a strict server finds wrong with it.
	Problem error
}

// Last is the text of the last message with the role, empty when there is none.
func (r Request) Last(role string) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == role {
			return r.Messages[i].Text()
		}
	}
	return ""
}

// Server speaks the chat completions protocol on a loopback address. It is safe for concurrent use.
//
// Replies are taken from a queue (Push) and, when that is empty, from a function (Handle); without either the answer is
// 500, so that a test that asks too often fails. Every request is recorded.
type Server struct {
	ln     net.Listener
	http   *http.Server
	dial   func(context.Context, string, string) (net.Conn, error)
	closed chan struct{}
	once   sync.Once
	served sync.WaitGroup

	mu        sync.Mutex
	queue     []Reply
	handle    func(Request) Reply
	guard     func(Request) (Reply, bool)
	arrived   func()
	models    Reply
	elsewhere Reply // to requests of other paths
	strict    bool
	closing   bool
	requests  []Request
}

// NewServer starts a server on 127.0.0.1. The caller closes it.
func NewServer() *Server {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("llmtest: " + err.Error()) // nothing works without loopback
	}
	var d net.Dialer
	return start(ln, d.DialContext)
}

// NewPipeServer starts a server that is reached only through Transport and uses no network, so that it can be used within
// a testing/synctest bubble.
func NewPipeServer() *Server {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	return start(p, p.dial)
}

func start(ln net.Listener, dial func(context.Context, string, string) (net.Conn, error)) *Server {
	s := &Server{ln: ln, dial: dial, closed: make(chan struct{}), models: Models("test-model"), elsewhere: Page(http.StatusNotFound, "text/plain", "404 page not found\n")}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.serveModels)
	mux.HandleFunc("POST /", s.serveCompletion)
	s.http = &http.Server{Handler: mux}
	s.served.Go(func() { _ = s.http.Serve(ln) }) // ends with ErrServerClosed
	return s
}

// URL is the base URL, as in OPENAI_BASE_URL.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() + "/v1" }

// Transport makes a transport that reaches this server whatever the host. The caller closes its idle connections.
func (s *Server) Transport() *http.Transport { return &http.Transport{DialContext: s.dial} }

// Close ends all connections and waits until nothing of the server runs.
func (s *Server) Close() {
	s.once.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		_ = s.http.Close() // first, so that no reply that is held looks whole
		close(s.closed)
	})
	s.served.Wait()
}

// Push appends replies to the queue.
func (s *Server) Push(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Handle sets the function that answers when the queue is empty. It is called from several goroutines.
func (s *Server) Handle(f func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = f
}

// OnRequest sets a function that is called when a request for a completion has arrived.
func (s *Server) OnRequest(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = f
}

// SetModels sets the answer to requests for the list of models.
func (s *Server) SetModels(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = r
}

// SetElsewhere sets the answer to requests of a path that ends in no /chat/completions.
func (s *Server) SetElsewhere(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere = r
}

// Strict makes the server answer 400 to every request whose messages are not ValidHistory, whose last message is no user
// or tool message, or which has two assistant messages in a row. Such a request uses up no reply. It returns the server.
func (s *Server) Strict() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strict = true
	return s
}

// Requests gives all requests so far, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Left is how many replies of the queue were not asked for.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// enter counts a request in, unless the server closes.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.served.Add(1)
	return true
}

func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.served.Done()
	s.mu.Lock()
	reply := s.models
	s.mu.Unlock()
	s.play(w, r, reply)
}

func (s *Server) serveCompletion(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.served.Done()
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		s.mu.Lock()
		reply := s.elsewhere
		s.mu.Unlock()
		s.play(w, r, reply)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	s.play(w, r, s.take(parse(r, body)))
}

func parse(r *http.Request, body []byte) Request {
	req := Request{Header: r.Header.Clone(), Path: r.URL.Path, Query: r.URL.Query(), Body: body}
	var w struct {
		Model    string          `json:"model"`
		Messages json.RawMessage `json:"messages"`
		Stream   bool            `json:"stream"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		req.Problem = fmt.Errorf("the body is no request: %w", err)
		return req
	}
	req.Model, req.Stream = w.Model, w.Stream
	req.Problem = problem(body, w.Messages)
	_ = json.Unmarshal(w.Messages, &req.Messages) // what is wrong with them is in Problem
	_ = json.Unmarshal(body, &req.Fields)         // it is an object: w was read from it
	return req
}

// problem says what a strict server finds wrong.
func problem(body, messages []byte) error {
	if err := strict(messages); err != nil {
		return err
	}
	if half := loneSurrogate(string(body)); half != "" || !utf8.Valid(body) {
		return fmt.Errorf("the body is no valid UTF-8 or holds half a character %s", half)
	}
	return nil
}

// take records a request and chooses its reply.
func (s *Server) take(req Request) Reply {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	handle, arrived := s.handle, s.arrived
	if arrived != nil {
		defer arrived()
	}
	switch {
	case s.strict && req.Problem != nil:
		s.mu.Unlock()
		return Refuse(http.StatusBadRequest, compactJSON(map[string]any{
			"error": map[string]any{"message": "invalid history: " + req.Problem.Error(), "type": "invalid_request_error"},
		}))
	case s.guard != nil:
		if r, refused := s.guard(req); refused {
			s.mu.Unlock()
			return r
		}
	}
	switch {
	case len(s.queue) > 0:
		r := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return r
	}
	s.mu.Unlock()
	if handle == nil {
		return Refuse(http.StatusInternalServerError, `{"error":{"message":"the test server has no more replies"}}`)
	}
	return handle(req)
}

// play sends a reply.
func (s *Server) play(w http.ResponseWriter, r *http.Request, reply Reply) {
	if reply.left != nil {
		defer reply.left()
	}
	if !s.wait(r, reply.delay) {
		return
	}
	if reply.end == endSilent {
		s.hold(r)
		return
	}
	for name, values := range reply.header {
		w.Header()[name] = values
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(max(reply.status, http.StatusOK))
	if reply.body != "" {
		_, _ = io.WriteString(w, reply.body) // the client may have left
		return
	}
	if !s.stream(w, r, reply) {
		return
	}
	switch reply.end {
	case endFIN, endReset:
		sever(w, reply.end == endReset)
	case endHold:
		s.hold(r)
	}
}

// stream sends the steps; false means that the client left.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, reply Reply) bool {
	out := http.NewResponseController(w)
	steps := reply.steps
	if reply.split != nil {
		steps = resplit(reply.Bytes(), reply.split)
	}
	if out.Flush() != nil {
		return false
	}
	for _, step := range steps {
		if !s.wait(r, step.wait) {
			return false
		}
		if _, err := io.WriteString(w, step.data); err != nil || out.Flush() != nil {
			return false
		}
	}
	return true
}

// resplit cuts a stream at the given bytes.
func resplit(b []byte, at []int) []Step {
	var steps []Step
	from := 0
	for _, n := range append(append([]int(nil), at...), len(b)) {
		if n = min(n, len(b)); n > from {
			steps = append(steps, Raw(string(b[from:n])))
			from = n
		}
	}
	return steps
}

// wait waits for d; false means that the client left or the server closes.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

// hold waits until the client leaves or the server closes.
func (s *Server) hold(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.closed:
	}
}

// sever breaks the connection without the end of the body.
func sever(w http.ResponseWriter, reset bool) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // a protocol whose connections cannot be taken over
	}
	_ = rw.Flush()
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// pipes is a listener whose connections stay within the process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	var err error
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		err = errors.New("connection refused")
	case <-ctx.Done():
		err = ctx.Err()
	}
	_, _ = client.Close(), server.Close()
	return nil, err
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe.test" }
