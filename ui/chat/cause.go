package chat

import (
	"strings"

	"vitrine/llm"
	"vitrine/trace"
)

// Failure is why a model call is tried again.
type Failure struct {
	// Host is where the request went, if that is known.
	Host string
	// Kind is empty when the server answered with a status: Text then begins with it.
	Kind llm.ErrorKind
	// Text is what happened.
	Text string
	// All says that all requests to the server wait, not this one alone.
	All bool
}

// Cause takes the line of a retry apart, which llm.Error wrote: host, kind or status, message.
func Cause(d trace.RetryData) Failure {
	f := Failure{Text: d.Cause, All: d.Shared}
	if host, rest, ok := strings.Cut(f.Text, ": "); ok && !strings.Contains(host, " ") && kindOf(host) == "" {
		f.Host, f.Text = host, rest
	}
	kind, rest, _ := strings.Cut(f.Text, ": ")
	if f.Kind = kindOf(kind); f.Kind != "" {
		f.Text = rest
	}
	return f
}

func kindOf(s string) llm.ErrorKind {
	switch k := llm.ErrorKind(s); k {
	case llm.ErrConnect, llm.ErrTimeout, llm.ErrCut, llm.ErrRate, llm.ErrServer, llm.ErrProtocol:
		return k
	}
	return ""
}

// String is the cause without the host, the most important first.
func (f Failure) String() string {
	word := string(f.Kind)
	switch f.Kind {
	case llm.ErrConnect:
		word = "no connection"
	case llm.ErrCut:
		word = "cut off"
	case llm.ErrTimeout:
		word = "no answer"
	case llm.ErrServer:
		word = "server error"
	}
	if word == "" || f.Text == "" {
		return word + f.Text
	}
	return word + ": " + f.Text
}
