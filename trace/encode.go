package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// timeLayout is RFC 3339 with microseconds, always six digits, so that lines sort by time as text.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

var newline = []byte("\n")

// wire is an event in JSON, in the order of its keys.
type wire struct {
	TS        string          `json:"ts"`
	Seq       *int64          `json:"seq"`
	SessionID string          `json:"session_id"`
	RunID     *string         `json:"run_id"`
	Turn      int             `json:"turn"`
	Event     Name            `json:"event"`
	Step      int             `json:"step"`
	Data      json.RawMessage `json:"data"`
}

// MarshalJSON encodes e on one line. It never fails: whatever comes in, what goes out is valid JSON in valid UTF-8, without
// lone surrogates and with control and direction characters escaped, so that a terminal can show it.
func (e Event) MarshalJSON() ([]byte, error) { return encode(e, EncodeData(e.Data)), nil }

func encode(e Event, data json.RawMessage) []byte {
	w := wire{
		TS: e.TS.UTC().Format(timeLayout), SessionID: e.SessionID, Turn: e.Turn, Event: e.Name, Step: e.Step, Data: data,
	}
	if y := e.TS.UTC().Year(); y < 0 || y > 9999 {
		w.TS = time.Time{}.Format(timeLayout)
	}
	if e.Seq > 0 {
		w.Seq = &e.Seq
	}
	if e.RunID != "" {
		w.RunID = &e.RunID
	}
	out, err := marshal(w)
	if err != nil {
		// The data was made valid before, and nothing else can fail.
		panic(fmt.Sprintf("encode event: %v", err))
	}
	return tidy(out)
}

// EncodeData encodes an event's data as MarshalJSON does.
func EncodeData(d Data) json.RawMessage {
	switch x := d.(type) {
	case nil:
		return json.RawMessage("null")
	case *Unknown:
		return raw(x.Raw)
	case Unknown:
		return raw(x.Raw)
	}
	out, err := marshal(d)
	if err != nil { // arguments or a result that are no JSON
		switch x := d.(type) {
		case ToolCallData:
			x.Arguments = raw(x.Arguments)
			d = x
		case ToolResultData:
			x.Result = raw(x.Result)
			d = x
		}
		out, err = marshal(d)
	}
	if err != nil {
		out, _ = marshal(map[string]string{"unencodable": err.Error()})
	}
	return tidy(out)
}

// raw is m on one line, or m as a string if it is no JSON.
func raw(m json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(m)) == 0 {
		return json.RawMessage("null")
	}
	var b bytes.Buffer
	if json.Compact(&b, m) == nil {
		return tidy(b.Bytes())
	}
	out, _ := marshal(string(m))
	return tidy(out)
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(512) // most events fit in
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), newline), nil
}

// tidy makes valid JSON safe for strict readers and for terminals: invalid UTF-8 and escapes of lone surrogates become
// U+FFFD, control and direction characters become escapes. All of these can only stand in strings.
func tidy(in []byte) []byte {
	if clean(in) {
		return in
	}
	out := make([]byte, 0, len(in)+len(in)/8)
	for i := 0; i < len(in); {
		if c := in[i]; c == '\\' && i+1 < len(in) {
			n := escapeLen(in[i:])
			if n == 0 {
				out, n = append(out, `\ufffd`...), 6
			} else {
				out = append(out, in[i:i+n]...)
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRune(in[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case steers(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, in[i:i+n]...)
		}
		i += n
	}
	return out
}

// clean reports whether tidy has nothing to look at.
func clean(in []byte) bool {
	for _, c := range in {
		if c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// escapeLen is the length of the escape that b begins with, a pair of surrogates taken as one; 0 is a lone surrogate.
func escapeLen(b []byte) int {
	if b[1] != 'u' || len(b) < 6 {
		return 2
	}
	switch r := hex4(b[2:6]); {
	case r >= 0xdc00 && r <= 0xdfff:
		return 0
	case r >= 0xd800 && r <= 0xdbff:
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if low := hex4(b[8:12]); low >= 0xdc00 && low <= 0xdfff {
				return 12
			}
		}
		return 0
	}
	return 6
}

func hex4(b []byte) (r rune) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// steers reports whether a terminal might take r for an order instead of showing it.
func steers(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
