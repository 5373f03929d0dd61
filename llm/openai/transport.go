package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"vitrine/llm"
)

// parseBase reads a base URL. What people copy often ends in a slash or in the path of the endpoint itself.
func parseBase(s string) (*url.URL, error) {
	if s = strings.TrimSpace(s); s == "" {
		s = DefaultBaseURL
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &url.URL{}, &llm.Error{Kind: llm.ErrConnect, Message: "the base URL is no http or https address"}
	}
	u.Fragment = ""
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"), "/")
	u.RawPath = ""
	return u, nil
}

// secretsOf is what no message may show.
func secretsOf(key string, base *url.URL, h http.Header) []string {
	secrets := []string{key}
	if pw, ok := base.User.Password(); ok {
		secrets = append(secrets, pw, url.QueryEscape(pw), base.User.String())
	}
	for _, m := range []map[string][]string{base.Query(), h} {
		for name, values := range m {
			for _, value := range values {
				if llm.MayBeSecret(name, value) {
					secrets = append(secrets, value)
				}
			}
		}
	}
	return secrets
}

// Format prints a Config without its key, whatever the verb.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// String tells where the server is and whether there is a key.
func (c Config) String() string {
	base, err := parseBase(c.BaseURL)
	where := base.Scheme + "://" + base.Host + base.Path
	if err != nil {
		where = "invalid"
	}
	key := "none"
	if c.Key != "" {
		key = "set"
	}
	return fmt.Sprintf("openai.Config{BaseURL: %s, Key: %s}", where, key)
}

// GoString is String.
func (c Config) GoString() string { return c.String() }

// A connection of HTTP/2 serves all requests, one after a night's sleep too that nobody answers on any more. When nothing came on it for
// pingAfter it is asked for a sign of life, which has to come within pingAnswer; else its requests fail, and are sent on a new one.
const (
	pingAfter  = 30 * time.Second
	pingAnswer = 15 * time.Second
)

// newTransport makes a transport whose steps are bounded and whose stream is not.
func newTransport(connect time.Duration) *http.Transport {
	if connect <= 0 {
		connect = DefaultConnectTimeout
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}}).DialContext,
		TLSHandshakeTimeout:   connect,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAnswer},
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
			if r.StatusCode == http.StatusOK {
				return nil
			}
			return fmt.Errorf("the proxy answered HTTP %d: %s", r.StatusCode, strings.ToLower(http.StatusText(r.StatusCode)))
		},
	}
}

// proxyAnswered begins what is told of a proxy that refuses to connect to the server.
const proxyAnswered = "the proxy answered HTTP "

// What can be changed where there is no connection.
const (
	hintProxy = "HTTPS_PROXY and HTTP_PROXY name the proxy, NO_PROXY what goes past it"
	hintHTTP  = "the base URL may have to begin with http://"
	hintHTTPS = "the base URL may have to begin with https://"
	hintCert  = "its certificate has to be one that this system trusts (SSL_CERT_FILE on Linux)"
)

// checkRedirect follows a redirect only when it stays on the host, keeps the method and does not leave https: neither
// the key nor the conversation goes where the user did not point us.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	upgrade := first.Scheme == "http" && r.URL.Scheme == "https" && first.Hostname() == r.URL.Hostname()
	same := first.Scheme == r.URL.Scheme && first.Host == r.URL.Host
	if len(via) > 3 || !same && !upgrade || r.Method != via[0].Method {
		return http.ErrUseLastResponse
	}
	return nil
}

var errFirstByte = errors.New("no first byte")

// exchange is one request and its answer. Its context ends with that of the caller, or when a limit is reached.
type exchange struct {
	client  *Client
	dialect dialect
	request llm.Request
	size    int // of the body, in bytes
	ctx     context.Context
	cancel  context.CancelCauseFunc
	began   time.Time
	first   time.Time // the first byte of the answer's body
	last    time.Time // the reason for the end

	mu    sync.Mutex
	stops []func() bool
}

// begin starts the time to the first byte.
func (c *Client) begin(ctx context.Context, d dialect) *exchange {
	x := &exchange{client: c, dialect: d, began: time.Now()}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.within(c.firstByte, errFirstByte)
	return x
}

// end lets go of the connection, if the body was not read to its end.
func (x *exchange) end() {
	x.stopTimers()
	x.cancel(context.Canceled)
}

// within ends the exchange after d.
func (x *exchange) within(d time.Duration, why error) (stop func() bool) {
	stop = time.AfterFunc(d, func() { x.cancel(why) }).Stop
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stops = append(x.stops, stop)
	return stop
}

func (x *exchange) stopTimers() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, stop := range x.stops {
		stop()
	}
	x.stops = nil
}

// alive makes a reader whose first byte ends the wait for it.
func (x *exchange) alive(src io.Reader) io.Reader {
	return &firstByteReader{src: src, first: func() {
		x.first = time.Now()
		x.stopTimers()
	}}
}

type firstByteReader struct {
	src   io.Reader
	first func()
}

func (r *firstByteReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	if n > 0 && r.first != nil {
		r.first()
		r.first = nil
	}
	return n, err
}

// ended notes the end of the reply and bounds what comes after it, for servers that never close the stream.
func (x *exchange) ended() {
	x.last = time.Now()
	x.within(afterFinish, context.Canceled)
}

// drain reads the end of the body, if it is there, so that the connection can serve the next request.
func (x *exchange) drain(body io.Reader) {
	x.within(afterDone, context.Canceled)
	_, _ = io.CopyN(io.Discard, body, 4<<10) // the reply is complete, whatever follows
}

func (x *exchange) post(path string, body []byte) (*http.Request, error) {
	r, err := x.make(http.MethodPost, path, body)
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

func (x *exchange) get(path string) (*http.Request, error) { return x.make(http.MethodGet, path, nil) }

func (x *exchange) make(method, path string, body []byte) (*http.Request, error) {
	u := *x.client.base
	u.Path += "/" + path
	if len(x.dialect.Query) > 0 {
		q := u.Query()
		for name, value := range x.dialect.Query {
			if !q.Has(name) {
				q.Set(name, value)
			}
		}
		u.RawQuery = q.Encode()
	}
	r, err := http.NewRequestWithContext(x.ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	x.client.authorize(r.Header, x.dialect.Profile)
	r.Header.Set("User-Agent", "vitrine")
	return r, nil
}

// connectError tells why there was no answer at all.
func (c *Client) connectError(err error) *llm.Error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the outer one holds the whole URL
	}
	e := &llm.Error{Kind: llm.ErrConnect, Host: c.base.Host, Message: c.clean(err.Error()), Retryable: true, Err: err}
	var dns *net.DNSError
	var timeout net.Error
	var op *net.OpError
	text := err.Error() // of what a recording plays there is no more
	switch {
	case strings.HasPrefix(text, proxyAnswered):
		e.Hint, e.Retryable = hintProxy, strings.HasPrefix(text, proxyAnswered+"5")
	case strings.HasPrefix(text, "proxyconnect "):
		e.Message, e.Hint = "the proxy was not reached: "+c.clean(plain(text)), hintProxy
	case errors.As(err, &dns):
		e.Message = "the host was not found"
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Message = "no connection in time"
	case errors.As(err, &op) && op.Op == "dial" && op.Err != nil:
		e.Message = c.clean(reason(op.Err)) // the host stands before it anyway
	case addressed().MatchString(text):
		e.Message = "the server broke the connection off without an answer: " + c.clean(plain(text))
	case errors.Is(err, io.EOF):
		e.Message = "the server closed the connection without an answer"
	case strings.Contains(text, "certificate signed by unknown authority"):
		e.Message, e.Hint, e.Retryable = "nobody that this system trusts signed the server's certificate", hintCert, false
	case strings.Contains(text, "certificate"):
		e.Retryable = false
	case strings.Contains(text, "HTTP response to HTTPS client"):
		e.Message, e.Hint, e.Retryable = "what answers there speaks http, not https", hintHTTP, false
	case strings.Contains(text, `malformed HTTP response "\x15\x03`): // an alert of TLS
		e.Message, e.Hint, e.Retryable = "what answers there speaks https, not http", hintHTTPS, false
	case strings.Contains(text, "malformed HTTP"):
		e.Message, e.Retryable = "what answers there is no web server", false
	}
	return e
}

// addressed is how errors of the network begin.
var addressed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:(?:read|write|readfrom|dial|proxyconnect) tcp[46]?(?: \S+)?: )+(?:(?:read|write|connect): )?`)
})

// plain is an error of the network without the addresses, of which one is told anyway and the other says nothing.
func plain(text string) string { return addressed().ReplaceAllString(text, "") }

// reason is what the system says to a call that failed, without the name of the call.
func reason(err error) string {
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err.Error()
	}
	return err.Error()
}
