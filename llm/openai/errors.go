package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"vitrine/llm"
)

// fault is an error as a server told it, whatever the shape.
type fault struct {
	message string
	code    string // a code or type in words
	param   string // the parameter that it names
	status  int    // an HTTP status inside the body
	json    bool   // the body was an object or a list
	told    bool   // the body had a shape that only errors have
	large   bool   // the request was large enough to be too long
	tools   bool   // the request had tools, and nothing else that servers refuse in the same words
	after   time.Duration
	header  http.Header // that the body tells of
}

// meansError says whether the value of an error field tells of one.
func meansError(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", "{}", `""`, "[]", "0":
		return false
	}
	return true
}

// parseFault reads the body of an error: the object of OpenAI and its many relatives, a string, a list around either, or
// text that is no JSON.
func parseFault(body []byte) fault {
	body = bytes.TrimSpace(body)
	var v any
	if json.Unmarshal(body, &v) != nil {
		return fault{message: string(body)}
	}
	f := fault{json: body[0] == '{' || body[0] == '['}
	f.read(v, 0)
	if f.message == "" && f.code == "" && f.status == 0 {
		f.message = string(body)
	}
	return f
}

// read collects what v says; what was found first counts.
func (f *fault) read(v any, depth int) {
	if depth > 4 {
		return
	}
	switch v := v.(type) {
	case string:
		f.say(v)
	case []any:
		for _, entry := range v {
			f.read(entry, depth+1)
			if f.message != "" {
				return
			}
		}
	case map[string]any:
		f.object(v, depth)
	}
}

func (f *fault) object(m map[string]any, depth int) {
	for _, key := range []string{"error", "detail", "errors"} {
		if inner, ok := m[key]; ok && inner != nil {
			f.told = true
			f.read(inner, depth+1)
		}
	}
	for _, key := range []string{"message", "msg", "error_description", "title"} {
		if s, ok := m[key].(string); ok {
			if loc, ok := m["loc"].([]any); ok { // FastAPI names the field beside the message
				for _, part := range loc {
					if p, ok := part.(string); ok && p != "body" {
						f.param = p
						s = p + ": " + s
					}
				}
			}
			f.say(s)
			f.told = f.told || m["code"] != nil || m["status"] != nil || m["type"] != nil
		}
	}
	if more, ok := m["metadata"].(map[string]any); ok { // OpenRouter keeps the words of the provider there, and its own headers
		if s, ok := more["raw"].(string); ok && s != "" {
			f.message = strings.TrimSpace(f.message + ": " + parseFault([]byte(s)).message)
		}
		if headers, ok := more["headers"].(map[string]any); ok {
			f.header = http.Header{}
			for name, value := range headers {
				f.header.Set(name, fmt.Sprint(value))
			}
		}
	}
	if list, ok := m["details"].([]any); ok { // Google names a wait there
		for _, one := range list {
			if d, ok := one.(map[string]any); ok && f.after == 0 {
				s, _ := d["retryDelay"].(string)
				if wait, err := time.ParseDuration(s); err == nil {
					f.after = boundWait(wait.Seconds())
				}
			}
		}
	}
	if s, ok := m["param"].(string); ok && f.param == "" {
		f.param = s
	}
	for _, key := range []string{"code", "status", "status_code", "type"} {
		switch c := m[key].(type) {
		case float64:
			f.number(int(c))
		case string:
			if n, err := strconv.Atoi(c); err == nil {
				f.number(n)
			} else if c != "" && c != "error" {
				f.code = strings.TrimSpace(f.code + " " + strings.ToLower(c))
			}
		}
	}
}

func (f *fault) say(s string) {
	if f.message == "" {
		f.message = s
	}
}

func (f *fault) number(n int) {
	if n >= 400 && n < 600 && f.status == 0 {
		f.status = n
	}
}

// err makes the error of f. status is that of the response, 0 for an error within a stream.
func (f fault) err(status int, clean func(string) string) *llm.Error {
	if status == 0 {
		status = f.status
	}
	e := &llm.Error{Status: status, Message: clean(f.message), RetryAfter: f.after}
	e.Kind, e.Retryable = f.kind(status)
	if e.Message == "" {
		e.Message = clean(f.code)
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(status))
	}
	if e.Message == "" {
		e.Message = "the server reported an error without a text"
	}
	if e.RetryAfter == 0 && (e.Kind == llm.ErrRate || e.Kind == llm.ErrQuota || status == http.StatusServiceUnavailable) {
		e.RetryAfter = waitInText(f.message)
	}
	if e.Kind == llm.ErrRate && e.RetryAfter >= longWait {
		e.Kind, e.Retryable = llm.ErrQuota, false
	}
	return e
}

// longWait is from when on a limit means a used-up quota rather than a rate.
const longWait = time.Hour

// kind classifies by what the words say first, since many servers have one status for everything.
func (f fault) kind(status int) (llm.ErrorKind, bool) {
	words := strings.ToLower(f.message)
	switch {
	case status == http.StatusForbidden && hasAny(f.code+" "+words, "unsupported_country", "country, region", "not supported in your", "not available in your"):
		return llm.ErrRejected, false // no key changes that
	case status == http.StatusUnauthorized, status == http.StatusForbidden && !tooLong(words, f.code):
		return llm.ErrAuth, false
	case f.tools && refusesTools(words, f.code, f.param):
		return llm.ErrNoTools, false
	case status == http.StatusPaymentRequired:
		return llm.ErrQuota, false
	case status == http.StatusTooManyRequests && (tooLong(words, f.code) || hasAny(words, "request too large")):
		return llm.ErrContext, false // alone it is above what is given in a minute
	case status == http.StatusTooManyRequests, status == 0 && hasAny(f.code, "rate_limit", "too_many_requests", "throttl"):
		named := f.after > 0 || waitInText(f.message) > 0 // then it passes, whatever it is called
		if hasAny(f.code, "insufficient_quota", "quota_exceeded", "billing") || !named && (hasAny(words, quotaWords...) || hasAny(words, dayWords...)) {
			return llm.ErrQuota, false
		}
		return llm.ErrRate, true
	case hasAny(words, "too many tokens") && hasAny(words, "wait"): // of a minute or of a day, not of this request
		if hasAny(words, dayWords...) {
			return llm.ErrQuota, false
		}
		return llm.ErrRate, true
	case tooLong(words, f.code), f.message == "" && (status == http.StatusRequestEntityTooLarge || status == http.StatusBadRequest && f.large):
		return llm.ErrContext, false
	case status == 0 && hasAny(words, "unexpected endpoint"):
		return llm.ErrNotFound, false
	case status == http.StatusNotFound:
		return llm.ErrNotFound, false
	case status == http.StatusRequestTimeout:
		return llm.ErrTimeout, true
	case status == http.StatusConflict, status == http.StatusTooEarly:
		return llm.ErrRejected, true
	case status >= 500:
		return llm.ErrServer, true
	case status >= 300:
		return llm.ErrRejected, false
	}
	switch {
	case hasAny(f.code, "insufficient_quota", "billing"):
		return llm.ErrQuota, false
	case hasAny(f.code, "authentication", "permission", "invalid_api_key"):
		return llm.ErrAuth, false
	case hasAny(f.code, "model_not_found", "not_found_error"):
		return llm.ErrNotFound, false
	case hasAny(f.code, "invalid_request", "badrequest", "bad_request"):
		return llm.ErrRejected, false
	}
	return llm.ErrServer, true
}

// largeRequest is from how many bytes on a request that is refused without a word may be too long for the model.
const largeRequest = 16 << 10

// dayWords are of limits that a retry within the minute does not outlast.
var dayWords = []string{"per day", "per-day", "daily"}

var quotaWords = []string{"exceeded your current quota", "insufficient balance", "insufficient credit", "out of credits", "billing hard limit"}

// tooLong says whether an error means that the prompt does not fit the model.
func tooLong(words, code string) bool {
	return hasAny(code, "context_length_exceeded", "exceed_context_size", "context_window_exceeded") ||
		hasAny(words, "maximum context length", "prompt is too long", "input token count", "exceeds the available context size",
			"exceeds the context window", "context length exceeded", "context window exceeded", "exceed context size",
			"maximum prompt length", "prompt too long", "input is too long", "reduce the length of the messages",
			"exceeds the maximum number of tokens", "exceeded model token limit", "greater than the context length",
			"longer than the model's context length", "no user query found", "exceeds the model's context", "request too large for model")
}

// noTools are compiled when an error is looked at first.
var noTools = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?:not|n't|no) (?:support|accept|allow|have)(?:s|ed|ing)? (?:any |native )?(?:tools?|functions?)(?: use|[ -]?call(?:s|ing)?)?(?:[^\w-]|$)`),
		regexp.MustCompile(`(?:^|[^\w])(?:tools?|functions?)(?: use|[ -]?call(?:s|ing)?)?['"` + "`" + `]? (?:is|are) (?:not (?:supported|available|enabled)|unsupported)`),
		regexp.MustCompile(`no endpoints found that support tool|(?:has|have) no tool calls|tools param requires|--enable-auto-tool-choice`),
	}
})

// manyAtOnce takes the tools out of what is said of several calls at once: without those a model may well have tools.
var manyAtOnce = strings.NewReplacer("parallel tool", "parallel", "parallel function", "parallel")

// refusesTools says whether an error means that the model cannot be given tools here. It is asked for requests that have some.
func refusesTools(words, code, param string) bool {
	words = manyAtOnce.Replace(words)
	return param == "tools" && unsupported(words, code) || slices.ContainsFunc(noTools(), func(re *regexp.Regexp) bool { return re.MatchString(words) })
}

func hasAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
