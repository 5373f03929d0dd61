// Package record keeps what passes between the program and a model's endpoint in a file, and plays it back without a network.
//
// A Recorder is an http.RoundTripper over the real one. It writes one line of JSON for each request: the request, and the
// response with its bytes in the pieces in which they came, how long each took, and how it ended. Keys never reach the file
// (secret.go). A Player is an http.RoundTripper without one beneath: it answers each request as the recording does, cuts,
// refusals and broken connections too, and tells a request that the recording does not have by the first field that differs
// (player.go, differ.go).
package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"vitrine/runtime/clock"
)

// Bounds of a recording, in bytes. What goes beyond them is left out, and its line says so.
const (
	maxRequest  = 64 << 20
	maxResponse = 64 << 20
	maxFile     = 512 << 20
)

// exchange is one line of a recording.
type exchange struct {
	// N counts requests from 1, in the order in which they were begun; lines stand in the order in which they ended.
	N        int       `json:"n"`
	At       time.Time `json:"at"`
	Request  request   `json:"request"`
	Response *response `json:"response,omitempty"`
	// Failed tells why there was no response.
	Failed *failure `json:"failed,omitempty"`
}

type request struct {
	Method string            `json:"method"`
	URL    string            `json:"url"` // without user, password and the values of a query
	Header map[string]string `json:"header,omitempty"`
	// Body is JSON as it was sent, Text what is none.
	Body json.RawMessage `json:"body,omitempty"`
	Text string          `json:"text,omitempty"`
}

type response struct {
	Status int               `json:"status"`
	MS     int64             `json:"ms"` // from the request to the header
	Header map[string]string `json:"header,omitempty"`
	Chunks []chunk           `json:"chunks,omitempty"`
	End    ending            `json:"end"`
	// Error is what broke the body.
	Error string `json:"error,omitempty"`
}

// chunk is what one read of the body gave.
type chunk struct {
	MS    int64  `json:"ms"` // since the request
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"bytes,omitempty"` // in the place of Text where it is no UTF-8
}

func (c chunk) data() []byte {
	if c.Bytes != nil {
		return c.Bytes
	}
	return []byte(c.Text)
}

// ending is how a body ended.
type ending string

const (
	endWhole ending = "whole"
	endCut   ending = "cut"  // the connection broke
	endLeft  ending = "left" // the program closed it
	endFull  ending = "full" // more came than a recording holds
)

// failure is why there was no response, in a kind that the player can make again.
type failure struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	MS   int64  `json:"ms"`
}

const (
	failDial    = "dial"
	failDNS     = "dns"
	failTimeout = "timeout"
	failEOF     = "eof"
	failLeft    = "left"
	failOther   = "other"
)

// Header fields that are kept; everything else may hold a secret or says nothing.
var (
	requestFields  = []string{"Accept", "Content-Type", "User-Agent"}
	responseFields = []string{"Content-Type", "Date", "Location", "Ratelimit-Remaining", "Ratelimit-Reset", "Retry-After", "Retry-After-Ms", "Server"}
)

// Recorder writes what passes through it. It is safe for concurrent use.
type Recorder struct {
	clock   clock.Clock
	secrets Secrets
	path    string

	// most is how much of a response, all how much of everything is kept.
	most int
	all  int64

	mu    sync.Mutex
	file  *os.File
	n     int
	bytes int64
	err   error
}

// Create starts a recording in a new file that only the user can read. A file that is there is not overwritten.
func Create(path string, clk clock.Clock, secrets Secrets) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the recording: %w", err)
	}
	return &Recorder{clock: clk, secrets: secrets, path: path, file: f, most: maxResponse, all: maxFile}, nil
}

// Close ends the recording and tells the first error of writing it. Responses that end later are left out.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("end the recording: %w", err)
	}
	return r.err
}

// Over makes the transport that records what next carries.
func (r *Recorder) Over(next http.RoundTripper) http.RoundTripper {
	return &tap{recorder: r, next: next}
}

// write appends a line. After an error, or when the file is full, nothing more is written, and Close tells of it; a model call
// never fails for it.
func (r *Recorder) write(e *exchange) {
	line, err := plainJSON(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil || r.err != nil {
		return
	}
	if err == nil && r.bytes+int64(len(line)) > r.all {
		err = fmt.Errorf("the recording is full: it holds at most %d MiB", r.all>>20)
	}
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if r.bytes += int64(len(line)) + 1; err != nil {
		r.err = fmt.Errorf("write the recording: %w", err)
	}
}

// Count is how many requests passed.
func (r *Recorder) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// Path is the file's name.
func (r *Recorder) Path() string { return r.path }

func (r *Recorder) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return r.n
}

type tap struct {
	recorder *Recorder
	next     http.RoundTripper
}

// CloseIdleConnections closes those of the transport beneath.
func (t *tap) CloseIdleConnections() { closeIdle(t.next) }

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	r := t.recorder
	began := r.clock.Now()
	since := func() int64 { return r.clock.Now().Sub(began).Milliseconds() }
	e := &exchange{N: r.number(), At: began.UTC(), Request: readRequest(req, r.secrets)}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		e.Failed = failureOf(req, err, r.secrets)
		e.Failed.MS = since()
		r.write(e)
		return nil, err
	}
	e.Response = &response{Status: resp.StatusCode, MS: since(), Header: keepFields(resp.Header, responseFields, r.secrets)}
	resp.Body = &body{ctx: req.Context(), next: resp.Body, e: e, since: since, recorder: r}
	return resp, nil
}

// readRequest takes a request down, without what nobody else may see.
func readRequest(req *http.Request, secrets Secrets) request {
	out := request{Method: req.Method, URL: shownURL(req.URL, secrets), Header: keepFields(req.Header, requestFields, secrets)}
	if req.GetBody == nil {
		return out // without a body, or one that cannot be read twice, which none of ours is
	}
	src, err := req.GetBody()
	if err != nil {
		return out
	}
	defer func() { _ = src.Close() }() // it is in memory
	data, err := io.ReadAll(io.LimitReader(src, maxRequest))
	if err != nil {
		return out
	}
	if data = secrets.hide(data); json.Valid(data) {
		out.Body = data
	} else {
		out.Text = strings.ToValidUTF8(string(data), "\uFFFD")
	}
	return out
}

func keepFields(h http.Header, fields []string, secrets Secrets) map[string]string {
	kept := map[string]string{}
	for name := range h {
		limit := strings.HasPrefix(name, "X-Ratelimit-")
		for _, f := range fields {
			limit = limit || name == f
		}
		if limit {
			kept[name] = string(secrets.hide([]byte(h.Get(name))))
		}
	}
	return kept
}

func shownURL(u *url.URL, secrets Secrets) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.RawQuery != "" {
		q := u.Query()
		for name := range q {
			q.Set(name, "***")
		}
		shown.RawQuery = q.Encode()
	}
	return string(secrets.hide([]byte(shown.String())))
}

func failureOf(req *http.Request, err error, secrets Secrets) *failure {
	f := &failure{Kind: failOther}
	var dns *net.DNSError
	var timeout net.Error
	var op *net.OpError
	switch {
	case req.Context().Err() != nil:
		f.Kind = failLeft
	case errors.As(err, &dns):
		f.Kind = failDNS
	case errors.As(err, &timeout) && timeout.Timeout():
		f.Kind = failTimeout
	case errors.As(err, &op) && op.Op == "dial" && op.Err != nil:
		f.Kind, err = failDial, op.Err
		var call *os.SyscallError
		if errors.As(err, &call) {
			err = call.Err
		}
	case errors.Is(err, io.EOF):
		f.Kind = failEOF
	}
	f.Text = string(secrets.hide([]byte(strings.ToValidUTF8(err.Error(), "\uFFFD"))))
	return f
}

// body takes down what is read of it. It is read by one goroutine and closed by another at most.
type body struct {
	ctx      context.Context
	next     io.ReadCloser
	e        *exchange
	since    func() int64
	recorder *Recorder

	mu    sync.Mutex
	raw   []byte
	ends  []int // where each chunk ends in raw
	at    []int64
	full  bool
	ended bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.next.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && !b.full && !b.ended {
		if b.full = len(b.raw)+n > b.recorder.most; !b.full {
			b.raw = append(b.raw, p[:n]...)
			b.ends, b.at = append(b.ends, len(b.raw)), append(b.at, b.since())
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		b.end(endWhole, nil)
	case b.ctx.Err() != nil:
		b.end(endLeft, nil)
	default:
		b.end(endCut, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.mu.Lock()
	b.end(endLeft, nil)
	b.mu.Unlock()
	return b.next.Close()
}

// end writes the line, once. Secrets are looked for in the whole, since they may be cut over two chunks; what hides them has
// the same length.
func (b *body) end(how ending, why error) {
	if b.ended {
		return
	}
	b.ended = true
	secrets := b.recorder.secrets
	r := b.e.Response
	if r.End = how; b.full {
		r.End = endFull
	}
	if why != nil {
		r.Error = string(secrets.hide([]byte(strings.ToValidUTF8(why.Error(), "\uFFFD"))))
	}
	raw := secrets.hide(b.raw)
	from := 0
	for i, to := range b.ends {
		c := chunk{MS: b.at[i]}
		if piece := raw[from:to]; utf8.Valid(piece) {
			c.Text = string(piece)
		} else {
			c.Bytes = piece
		}
		r.Chunks, from = append(r.Chunks, c), to
	}
	b.raw = nil
	b.recorder.write(b.e)
}

// plainJSON encodes v; a < stays one character.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the exchange: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
