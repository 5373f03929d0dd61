package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxArguments is how many bytes of arguments are looked at; a longer text is refused.
const MaxArguments = 1 << 20

// ParseArguments turns the text that a model wrote as arguments into one compact JSON object, or says what is wrong with it.
// Accepted beside a plain object, because they can mean one thing only, are: an empty or blank text (an object without
// fields), an object inside one code fence, and an object encoded as a JSON string, unwrapped once. Nothing is repaired: a
// text that is a beginning without its end gives CodeTruncatedArguments, everything else CodeMalformedArguments, with the
// byte offset and an excerpt. Duplicate keys, lone surrogates and invalid UTF-8 are errors too, because decoding would
// silently pick or change a value.
func ParseArguments(raw string) (json.RawMessage, *Error) {
	if len(raw) > MaxArguments {
		return nil, &Error{Code: CodeMalformedArguments, Expected: "one JSON object",
			Message: fmt.Sprintf("invalid JSON arguments: %d bytes, at most %d are taken", len(raw), MaxArguments)}
	}
	text, base, err := unfence(raw)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}"), nil
	}
	kind, f := scanJSON(text)
	if f != nil {
		return nil, flawError("invalid JSON", raw, base, f)
	}
	if kind == "string" {
		var inner string
		if err := json.Unmarshal([]byte(text), &inner); err != nil {
			return nil, notObject(kind)
		}
		if !strings.HasPrefix(strings.TrimLeft(inner, " \t\r\n"), "{") {
			return nil, notObject(kind)
		}
		if _, f := scanJSON(inner); f != nil {
			return nil, flawError("invalid JSON inside the JSON string", inner, 0, f)
		}
		text, kind = inner, "object"
	}
	if kind != "object" {
		return nil, notObject(kind)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return nil, &Error{Code: CodeMalformedArguments, Message: "invalid JSON: " + CleanLine(err.Error(), 200)}
	}
	return b.Bytes(), nil
}

// unfence gives what is inside a code fence around the whole text, or the text itself, and where it starts in raw.
func unfence(raw string) (text string, base int, _ *Error) {
	trimmed := strings.TrimSpace(raw)
	if !strings.HasPrefix(trimmed, "```") {
		return raw, 0, nil
	}
	base = strings.Index(raw, "```") + 3
	// The language stands right after the opening marks.
	for base < len(raw) && (raw[base] >= 'a' && raw[base] <= 'z' || raw[base] >= 'A' && raw[base] <= 'Z' || raw[base] >= '0' && raw[base] <= '9') {
		base++
	}
	body := strings.TrimRight(raw[base:], " \t\r\n")
	inside, ok := strings.CutSuffix(body, "```")
	if !ok {
		return "", 0, flawError("invalid JSON", raw, 0, &flaw{at: len(raw), what: "the code fence does not close", open: true})
	}
	return inside, base, nil
}

func flawError(lead, text string, base int, f *flaw) *Error {
	e := &Error{Code: CodeMalformedArguments, Expected: "one JSON object"}
	if f.open {
		e.Code = CodeTruncatedArguments
		lead += ", the arguments are incomplete"
	}
	e.Message = fmt.Sprintf("%s at byte %d: %s; near %s; nothing was executed", lead, base+f.at, f.what, excerpt(text, base+f.at))
	return e
}

// excerpt quotes the place: up to 24 bytes before and after it, marked with » where the fault is.
func excerpt(text string, at int) string {
	at = min(at, len(text))
	from, to := max(0, at-24), min(len(text), at+24)
	for from > 0 && from < at && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > at && !utf8.RuneStart(text[to]) {
		to--
	}
	return "`" + clean(text[from:at]) + "»" + clean(text[at:to]) + "`"
}

func notObject(kind string) *Error {
	article := "a "
	switch kind {
	case "array", "object":
		article = "an "
	case "null":
		article = ""
	}
	return &Error{Code: CodeMalformedArguments, Expected: "one JSON object",
		Message: "the arguments must be a JSON object, received " + article + kind + "; nothing was executed"}
}

// plain says that valid JSON is an object of one level whose keys are sorted, without space and without an escape: it is canonical as it is.
func plain(args []byte) bool {
	var key, last []byte
	inString, isKey, from := false, false, 0
	for i, c := range args {
		switch {
		case c == '\\' || c < ' ' || c >= utf8.RuneSelf || c == 0x7f:
			return false
		case c == '"' && inString:
			inString = false
			if key = args[from:i]; isKey && last != nil && bytes.Compare(last, key) >= 0 {
				return false
			}
			if isKey {
				last, isKey = key, false
			}
		case inString:
		case c == '"':
			inString, from = true, i+1
		case c == ',':
			isKey = true
		case c == '{':
			if i > 0 {
				return false
			}
			isKey = true
		case c == '[' || c == ' ':
			return false
		}
	}
	return len(args) > 0 && args[0] == '{'
}

// Canonical gives the arguments with sorted keys and without space, numbers as they are written, so that two calls that say
// the same are the same bytes. A text that is no JSON is returned as it is.
func Canonical(args json.RawMessage) json.RawMessage {
	if !json.Valid(args) || plain(args) {
		return args
	}
	v, err := decodeJSON(args)
	if err != nil {
		return args
	}
	b, err := encodeJSON(v)
	if err != nil {
		return args
	}
	return b
}
