package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// MaxResultChars is how many characters of a result's data the model gets.
const MaxResultChars = 2000

// maxMessage bounds a tool's error text, in characters.
const maxMessage = 1000

// NewResult makes the result of what a tool returned.
func NewResult(out Output, err error) Result {
	if err != nil {
		return ErrorResult(asError(err))
	}
	if out.Data == nil {
		return Result{OK: true}
	}
	data, err := encodeJSON(out.Data)
	if err != nil {
		return ErrorResult(&Error{Code: CodeInternal, Message: "the tool's data cannot be written as JSON: " + CleanLine(err.Error(), 200)})
	}
	if !utf8.Valid(data) || bytes.Contains(data, []byte(`\u`)) { // else it is as the encoder writes it, compact
		data = safeData(data)
	}
	return Result{OK: true, Data: data}
}

// ErrorResult is the result of a failure. The error's texts are made safe and short in a copy.
func ErrorResult(e *Error) Result {
	c := *e
	c.Message = CleanLine(c.Message, maxMessage)
	c.Field = CleanLine(c.Field, 200)
	c.Expected = CleanLine(c.Expected, 400)
	return Result{Error: &c}
}

// asError gives err as data for the model.
func asError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeTimeout, Message: "the tool ran out of time"}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeInterrupted, Message: "the tool was interrupted"}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// EncodeResult writes a result as the model gets it. What comes back is always valid JSON in valid UTF-8 without lone
// surrogates, whatever the data holds: broken characters become U+FFFD, data that is no JSON becomes a string.
func EncodeResult(r Result) json.RawMessage {
	data := r.Data
	if len(data) > 0 {
		data, r.Data = safeData(data), nil
	}
	b, err := []byte(`{"ok":true}`), error(nil)
	if !r.OK || r.Error != nil || r.Truncated || r.Notice != "" {
		b, err = encodeJSON(r)
	}
	if err != nil {
		b, _ = encodeJSON(Result{Error: &Error{Code: CodeInternal, Message: "the result cannot be written as JSON"}})
		return b
	}
	if len(data) == 0 {
		return b
	}
	// The data is put in as it is, behind ok: the encoder would go through all of it once more.
	at := bytes.IndexAny(b, ",}")
	out := make([]byte, 0, len(b)+len(`,"data":`)+len(data))
	out = append(append(out, b[:at]...), `,"data":`...)
	return append(append(out, data...), b[at:]...)
}

// safeData gives data as compact JSON that survives any decoder.
func safeData(data json.RawMessage) json.RawMessage {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	var b bytes.Buffer
	b.Grow(len(data))
	if json.Compact(&b, data) != nil { // no JSON
		b, err := encodeJSON(string(data))
		if err != nil {
			return json.RawMessage(`""`)
		}
		return b
	}
	if bytes.Contains(data, []byte(`\u`)) {
		// Decoding turns a lone surrogate into U+FFFD. Data without such escapes keeps its order of keys.
		if _, f := scanJSON(string(data)); f != nil {
			return Canonical(data)
		}
	}
	return b.Bytes()
}

// cutData is what stands in the place of data that is too long for the prompt.
type cutData struct {
	Head string `json:"head"`
	Tail string `json:"tail"`
	// Bytes is the length of the whole.
	Bytes int `json:"bytes"`
	// Artifact is the handle under which the whole is kept; empty when it is not.
	Artifact string `json:"artifact,omitempty"`
	// Rest tells the model how to get at what is left out.
	Rest string `json:"rest,omitempty"`
}

// ArtifactTool is the name of the tool that reads what was left out of a result.
const ArtifactTool = "artifact"

// restNote stands beside a handle.
const restNote = "the tool " + ArtifactTool + " reads the rest by this handle"

// frameOf is what a cut result holds but for head and tail.
func frameOf(size int, artifact string) cutData {
	c := cutData{Bytes: size, Artifact: artifact}
	if artifact != "" {
		c.Rest = restNote
	}
	return c
}

// Limit shortens the data of a result to maxChars characters of JSON. When it was longer (cut), short holds
// {"head","tail","bytes","artifact","rest"} in its place, both parts cut between grapheme clusters, and full is the whole to
// keep under the handle artifact: the text itself when the data is a string, else its JSON. Below some 250 characters the
// frame alone may be longer than maxChars.
func Limit(r Result, maxChars int, artifact string) (short Result, full string, cut bool) {
	if len(r.Data) == 0 {
		return r, "", false
	}
	data := safeData(r.Data)
	if utf8.RuneCount(data) <= maxChars {
		r.Data = data
		return r, string(data), false
	}
	full = string(data)
	var text string
	if json.Unmarshal(data, &text) == nil {
		full = text
	}
	r.Data, r.Truncated = cutTo(frameOf(len(full), artifact), full, full, maxChars), true
	return r, full, true
}

// Shorten makes the data of a result that was stored already fit into maxChars characters of JSON. A result that Limit cut keeps
// its handle; another one is cut with the handle artifact, and full is the whole to keep under it. short is false when nothing
// was to be done.
func Shorten(r Result, maxChars int, artifact string) (shorter Result, full string, short bool) {
	var c cutData
	if !r.Truncated || json.Unmarshal(r.Data, &c) != nil || c.Bytes == 0 || utf8.RuneCount(r.Data) <= maxChars {
		if r, full, short = Limit(r, maxChars, artifact); !short {
			full = ""
		}
		return r, full, short
	}
	r.Data = cutTo(frameOf(c.Bytes, c.Artifact), c.Head, c.Tail, maxChars)
	return r, "", true
}

// cutTo fills a frame with the beginning of head and the end of tail, within maxChars characters of JSON.
func cutTo(c cutData, head, tail string, maxChars int) json.RawMessage {
	frame, err := encodeJSON(c)
	if err != nil {
		frame = nil
	}
	room := max(0, maxChars-utf8.RuneCount(frame))
	if head == tail {
		c.Head, c.Tail = ends(head, room-room/3, room/3)
	} else {
		c.Head, _ = ends(head, room-room/3, 0)
		_, c.Tail = ends(tail, 0, room/3)
	}
	b, err := encodeJSON(c)
	if err != nil {
		return frame
	}
	return b
}

// Fit gives how many bytes of the beginning of s cost at most maxChars characters inside a JSON string, cut between grapheme
// clusters, and what they cost.
func Fit(s string, maxChars int) (n, cost int) {
	for it := graphemes.FromString(s); it.Next(); {
		v := it.Value()
		c := jsonCost(v)
		if cost+c > maxChars {
			break
		}
		n, cost = n+len(v), cost+c
	}
	return n, cost
}

// ends gives the longest beginning and end of s that cost at most head and tail characters as JSON, cut between clusters.
func ends(s string, head, tail int) (string, string) {
	headEnd, open := 0, true
	// ring holds the clusters at the end that fit.
	type piece struct{ at, cost int }
	var ring []piece
	first, sum, at := 0, 0, 0
	for it := graphemes.FromString(s); it.Next(); {
		v := it.Value()
		cost := jsonCost(v)
		if open && head >= cost {
			head -= cost
			headEnd = at + len(v)
		} else {
			open = false
			ring = append(ring, piece{at, cost})
			for sum += cost; sum > tail; first++ {
				sum -= ring[first].cost
			}
			if first > 4096 {
				ring = append(ring[:0], ring[first:]...)
				first = 0
			}
		}
		at += len(v)
	}
	if first >= len(ring) {
		return s[:headEnd], ""
	}
	return s[:headEnd], s[ring[first].at:]
}

// jsonCost is how many characters v takes inside a JSON string.
func jsonCost(v string) int {
	n := 0
	for _, r := range v {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			n += 2
		case r < 0x20 || r == '\u2028' || r == '\u2029':
			n += 6
		default:
			n++
		}
	}
	return n
}

// bound keeps a result within what is worth keeping at all; what lies between head and tail is gone.
func bound(r Result, maxBytes int) Result {
	if len(r.Data) <= maxBytes {
		return r
	}
	size := len(r.Data)
	r, _, _ = Limit(r, maxBytes/utf8.UTFMax, "")
	r.Truncated = true
	r.Notice = fmt.Sprintf("the tool put out %d bytes; only the beginning and the end were kept", size)
	return r
}
