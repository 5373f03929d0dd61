package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"vitrine/trace"
)

// clean makes text valid UTF-8. Whatever a model or a tool sent, what is stored can be read back and sent on.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cleanJSON makes raw JSON a column value: NULL for none. What is no JSON is refused; escapes of half characters, which strict
// readers refuse, are replaced.
func cleanJSON(raw json.RawMessage) (sql.NullString, error) {
	if len(raw) == 0 {
		return sql.NullString{}, nil
	}
	if !utf8.Valid(raw) {
		raw = json.RawMessage(clean(string(raw)))
	}
	if !json.Valid(raw) {
		return sql.NullString{}, constraint("not valid JSON: %.80q", raw)
	}
	text := string(raw)
	if strings.Contains(text, `\ud`) || strings.Contains(text, `\uD`) {
		var err error
		if text, err = wholeCharacters(text); err != nil {
			return sql.NullString{}, err
		}
	}
	return sql.NullString{String: text, Valid: true}, nil
}

// wholeCharacters has the trace's encoder replace the escapes of half characters.
func wholeCharacters(text string) (string, error) {
	line, err := json.Marshal(trace.Event{Data: trace.Unknown{Raw: json.RawMessage(text)}})
	if err != nil {
		return "", constraint("encode JSON: %w", err)
	}
	var event struct{ Data json.RawMessage }
	if err := json.Unmarshal(line, &event); err != nil {
		return "", constraint("decode JSON: %w", err)
	}
	return string(event.Data), nil
}

// toJSON is v as JSON text without HTML escapes.
func toJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", constraint("encode %T: %w", v, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// rawJSON is a column as JSON, nil for NULL.
func rawJSON(s sql.NullString) json.RawMessage {
	if !s.Valid {
		return nil
	}
	return json.RawMessage(s.String)
}

// Times are stored as microseconds since 1970; the zero time is 0.

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func microsOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return micros(*t)
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func fromMicrosOrNull(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	t := fromMicros(us.Int64)
	return &t
}

// either is the first time that is set.
func either(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}
