package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"strings"
	"time"
)

// clean makes text valid UTF-8. Whatever a model or a tool sent, what is stored can be read back and sent on.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cleanJSON makes raw JSON a column value: NULL for none. What is no JSON is refused.
func cleanJSON(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	text := clean(string(raw))
	if !json.Valid([]byte(text)) {
		return nil, constraint("not valid JSON: %.80q", text)
	}
	return text, nil
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
