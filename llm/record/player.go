package record

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

// Player answers requests from a recording. It is safe for concurrent use.
type Player struct {
	clock   clock.Clock
	secrets Secrets
	pace    float64

	mu   sync.Mutex
	left []exchange
}

// forever is longer than anybody waits.
const forever = 365 * 24 * time.Hour

// Open reads a recording. pace is how much of each pause is kept: 0 none, 1 all. secrets hides in requests what it hid in the
// recording.
func Open(path string, clk clock.Clock, pace float64, secrets Secrets) (*Player, error) {
	list, err := load(path)
	if err != nil {
		return nil, err
	}
	return &Player{clock: clk, secrets: secrets, pace: pace, left: list}, nil
}

func load(path string) ([]exchange, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	var list []exchange
	lines := bufio.NewScanner(io.LimitReader(f, maxFile+1))
	lines.Buffer(make([]byte, 64<<10), maxFile)
	for n := 1; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Response == nil && e.Failed == nil {
			return nil, fmt.Errorf("line %d of %s is no line of a recording", n, path)
		}
		list = append(list, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no request", path)
	}
	slices.SortStableFunc(list, func(a, b exchange) int { return a.N - b.N })
	return list, nil
}

// Source says what a recording was made with: the endpoint's base URL, without what is secret in it, and the model of the
// first request that names one.
func Source(path string) (base, model string, err error) {
	list, err := load(path)
	if err != nil {
		return "", "", err
	}
	for _, e := range list {
		u, bad := url.Parse(e.Request.URL)
		before, ok := strings.CutSuffix(e.Request.URL, "/chat/completions")
		if bad == nil {
			u.RawQuery = ""
			before, ok = strings.CutSuffix(u.String(), "/chat/completions")
		}
		var body struct{ Model string }
		if ok && json.Unmarshal(e.Request.Body, &body) == nil {
			return before, body.Model, nil
		}
	}
	return "", "", fmt.Errorf("%s holds no request for a completion", path)
}

// Left is how many recorded requests were not asked for.
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.left)
}

// RoundTrip implements http.RoundTripper. The answer is that of the first recorded request that is the same and was not
// played; without one the error is an *llm.Error that names the difference to the first of them. Nothing leaves the machine.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }() // it is in memory
	}
	e, err := p.find(readRequest(req, p.secrets))
	if err != nil {
		return nil, err
	}
	if e.Failed != nil {
		return nil, p.fail(req.Context(), e.Failed)
	}
	r := e.Response
	if err := p.wait(req.Context(), r.MS); err != nil {
		return nil, err
	}
	h := http.Header{}
	for name, value := range r.Header {
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode: r.Status, Status: fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, ContentLength: -1, Request: req, Body: &playback{player: p, ctx: req.Context(), r: r, last: r.MS},
	}, nil
}

func (p *Player) find(now request) (exchange, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return exchange{}, &llm.Error{Kind: llm.ErrExhausted, Message: "the recording has no more requests"}
	}
	first := ""
	for i, e := range p.left {
		d := difference(e.Request, now)
		if d == "" {
			p.left = slices.Delete(p.left, i, i+1)
			return e, nil
		}
		if i == 0 {
			first = fmt.Sprintf("the request is not that of the recording (number %d): %s", e.N, d)
		}
	}
	return exchange{}, &llm.Error{Kind: llm.ErrProtocol, Message: llm.CleanText(first)}
}

// wait keeps a pause, as far as pauses are kept.
func (p *Player) wait(ctx context.Context, ms int64) error {
	if p.pace <= 0 || ms <= 0 {
		return ctx.Err()
	}
	return p.clock.Sleep(ctx, time.Duration(float64(ms)*p.pace*float64(time.Millisecond)))
}

// hold waits until the program leaves.
func (p *Player) hold(ctx context.Context) error {
	if err := p.clock.Sleep(ctx, forever); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// timeoutError is a connection that was not made in time.
type timeoutError struct{ text string }

func (e timeoutError) Error() string { return e.text }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func (p *Player) fail(ctx context.Context, f *failure) error {
	if f.Kind == failLeft {
		return p.hold(ctx)
	}
	if err := p.wait(ctx, f.MS); err != nil {
		return err
	}
	switch f.Kind {
	case failDial:
		return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(f.Text)}
	case failDNS:
		return &net.DNSError{Err: f.Text, IsNotFound: true}
	case failTimeout:
		return timeoutError{f.Text}
	case failEOF:
		return io.EOF
	}
	return errors.New(f.Text)
}

// playback is a body as it was.
type playback struct {
	player *Player
	ctx    context.Context
	r      *response
	next   int
	rest   []byte
	last   int64 // when what was read last came
}

// Read gives one chunk at a time, and ends as the recorded body did.
func (b *playback) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if b.next == len(b.r.Chunks) {
			return 0, b.end()
		}
		c := b.r.Chunks[b.next]
		if err := b.player.wait(b.ctx, c.MS-b.last); err != nil {
			return 0, err
		}
		b.rest, b.last = c.data(), c.MS
		b.next++
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// errFull ends a response of which only the beginning is in the recording.
var errFull = errors.New("the recording does not hold the rest")

func (b *playback) end() error {
	switch b.r.End {
	case endLeft:
		return b.player.hold(b.ctx)
	case endCut:
		return errors.New(b.r.Error)
	case endFull:
		return errFull
	}
	return io.EOF
}

// Close implements io.Closer.
func (b *playback) Close() error { return nil }
