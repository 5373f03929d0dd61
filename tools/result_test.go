package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEncodeResult(t *testing.T) {
	for _, tt := range []struct {
		name string
		give Result
		want string
	}{
		{"data", Result{OK: true, Data: json.RawMessage(`{ "b":1, "a":"<&>" }`)}, `{"ok":true,"data":{"b":1,"a":"<&>"}}`},
		{"nothing", Result{OK: true}, `{"ok":true}`},
		{"error", ErrorResult(&Error{Code: CodeNotFound, Message: "no such todo", Field: "id", Expected: "an id", Retryable: true}),
			`{"ok":false,"error":{"code":"not_found","message":"no such todo","field":"id","expected":"an id","retryable":true}}`},
		{"not retryable is said", ErrorResult(&Error{Code: CodeDenied, Message: "no"}), `{"ok":false,"error":{"code":"denied","message":"no","retryable":false}}`},
		{"truncated with notice", Result{OK: true, Truncated: true, Notice: "cut"}, `{"ok":true,"truncated":true,"notice":"cut"}`},
		{"no JSON", Result{OK: true, Data: json.RawMessage("plain \"text")}, `{"ok":true,"data":"plain \"text"}`},
		// B182
		{"invalid UTF-8", Result{OK: true, Data: json.RawMessage("\"a\xed\xa0\x80b\xff\xfe\xf0\x9f\"")}, `{"ok":true,"data":"a` + "\uFFFDb\uFFFD" + `"}`},
		{"lone surrogate", Result{OK: true, Data: json.RawMessage(`{"b":"x\ud83dy","a":"\ud83d\ude00"}`)}, `{"ok":true,"data":{"a":"😀","b":"x` + "\uFFFD" + `y"}}`},
		{"whole pair stays", Result{OK: true, Data: json.RawMessage(`{"b":"\ud83d\ude00","a":1}`)}, `{"ok":true,"data":{"b":"\ud83d\ude00","a":1}}`},
		{"invalid notice", Result{OK: true, Notice: "x\xff"}, `{"ok":true,"notice":"x\ufffd"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(EncodeResult(tt.give))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzEncodeResult(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d"}`), "notice")
	f.Add([]byte("\xed\xa0\x80"), "\xff")
	f.Add([]byte(`"\u2028"`), "")
	f.Fuzz(func(t *testing.T, data []byte, notice string) {
		b := EncodeResult(Result{OK: true, Data: data, Notice: notice})
		if !utf8.Valid(b) || !json.Valid(b) {
			t.Fatalf("%q", b)
		}
		// Nobody's decoder finds something to complain about.
		if _, flaw := scanJSON(string(b)); flaw != nil && !strings.Contains(flaw.what, "twice") && !strings.Contains(flaw.what, "nested") {
			t.Fatalf("%q: %+v", b, flaw)
		}
		short, _, cut := Limit(Result{OK: true, Data: data}, 300, "art_1")
		if b := EncodeResult(short); cut && (!json.Valid(b) || utf8.RuneCount(short.Data) > 300) {
			t.Fatalf("%q", b)
		}
	})
}

func TestNewResult(t *testing.T) {
	if r := NewResult(Output{Data: map[string]any{"s": "a\xffb"}}, nil); !r.OK || string(r.Data) != `{"s":"a\ufffdb"}` {
		t.Errorf("%s", r.Data)
	}
	if r := NewResult(Output{}, nil); !r.OK || r.Data != nil {
		t.Errorf("%+v", r)
	}
	for _, tt := range []struct {
		data any
		err  error
		code Code
	}{
		{math.NaN(), nil, CodeInternal},
		{make(chan int), nil, CodeInternal},
		{nil, errors.New("x"), CodeInternal},
		{nil, fmt.Errorf("wait: %w", context.DeadlineExceeded), CodeTimeout},
		{nil, context.Canceled, CodeInterrupted},
		{nil, &Error{Code: CodeConflict, Message: "m"}, CodeConflict},
	} {
		r := NewResult(Output{Data: tt.data}, tt.err)
		if r.OK || r.Error == nil || r.Error.Code != tt.code {
			t.Errorf("%v %v: %+v", tt.data, tt.err, r)
		}
	}
	e := &Error{Code: CodeInternal, Message: strings.Repeat("😀", 3000) + "\x1b[2J", Field: "a\nb"}
	r := ErrorResult(e)
	if n := utf8.RuneCountInString(r.Error.Message); n != 1000 || r.Error.Field != "a b" || e.Field != "a\nb" {
		t.Errorf("%d characters, field %q", n, r.Error.Field)
	}
	if (&Error{Code: CodeDenied, Message: "no"}).Error() != "denied: no" {
		t.Error("Error()")
	}
}

func TestLimit(t *testing.T) {
	small := Result{OK: true, Data: json.RawMessage(`{"a": 1}`), Notice: "n"}
	if short, full, cut := Limit(small, 100, "art_1"); cut || full != `{"a":1}` || short.Truncated || short.Notice != "n" {
		t.Errorf("small: %+v %q %v", short, full, cut)
	}
	if short, full, cut := Limit(ErrorResult(&Error{Code: CodeInternal}), 10, "x"); cut || full != "" || short.OK {
		t.Errorf("no data: %+v", short)
	}
	text := strings.Repeat("line \"one\"\n", 1000)
	data, _ := json.Marshal(text)
	short, full, cut := Limit(Result{OK: true, Data: data}, MaxResultChars, "art_7")
	var got cutData
	if err := json.Unmarshal(short.Data, &got); err != nil {
		t.Fatal(err)
	}
	if !cut || !short.Truncated || !short.OK || full != text || got.Bytes != len(text) || got.Artifact != "art_7" {
		t.Errorf("cut %v, %d bytes, %+v", cut, len(full), got)
	}
	if n := utf8.RuneCount(short.Data); n > MaxResultChars || n < MaxResultChars-20 {
		t.Errorf("%d characters", n)
	}
	if !strings.HasPrefix(text, got.Head) || !strings.HasSuffix(text, got.Tail) || len(got.Head) < len(got.Tail) || got.Tail == "" {
		t.Errorf("head %d, tail %d", len(got.Head), len(got.Tail))
	}
	obj := Result{OK: true, Data: json.RawMessage(`{"list":[` + strings.Repeat(`"x",`, 2000) + `"y"]}`)}
	if short, full, _ := Limit(obj, 500, "a"); !json.Valid([]byte(full)) || !json.Valid(short.Data) {
		t.Error("an object is kept as its JSON")
	}
	if short, _, cut := Limit(obj, 10, "a"); !cut || !json.Valid(short.Data) || len(short.Data) > 120 {
		t.Errorf("no room: %s", short.Data)
	}
}

// B182: a cut never falls inside U+1F600, a ZWJ sequence, a flag or a base with its marks.
func TestLimitGraphemes(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", "\"", "\\", "\n", "\r\n", "\t", "\x01", "\x7f", "\u2028", "é", "e\u0301", "中", "😀", "👨‍👩‍👧‍👦", "🇩🇪", "❤️", "👍🏽", "각", "<"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 250, 600).Draw(rt, "text"), "")
		limit := rapid.IntRange(150, 400).Draw(rt, "limit")
		data, err := encodeJSON(text)
		if err != nil {
			rt.Fatal(err)
		}
		short, full, cut := Limit(Result{OK: true, Data: data}, limit, "h")
		if !cut {
			if utf8.RuneCount(data) > limit {
				rt.Fatal("not cut")
			}
			return
		}
		var got cutData
		if err := json.Unmarshal(short.Data, &got); err != nil {
			rt.Fatal(err)
		}
		if n := utf8.RuneCount(short.Data); n > limit {
			rt.Fatalf("%d characters of %d", n, limit)
		}
		if full != text || !strings.HasPrefix(text, got.Head) || !strings.HasSuffix(text, got.Tail) || len(got.Head)+len(got.Tail) > len(text) {
			rt.Fatalf("head %q tail %q", got.Head, got.Tail)
		}
		bounds, at := map[int]bool{0: true}, 0
		for it := graphemes.FromString(text); it.Next(); {
			at += len(it.Value())
			bounds[at] = true
		}
		if !bounds[len(got.Head)] || !bounds[len(text)-len(got.Tail)] {
			rt.Fatalf("cut inside a cluster: head %q tail %q", got.Head, got.Tail)
		}
	})
}

func TestLimitLongTail(t *testing.T) {
	text := strings.Repeat("0123456789", 5000)
	short, _, _ := Limit(Result{OK: true, Data: json.RawMessage(`"` + text + `"`)}, 2000, "")
	var got cutData
	if err := json.Unmarshal(short.Data, &got); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(text, got.Tail) || len(got.Tail) < 600 || strings.Contains(string(short.Data), "artifact") {
		t.Errorf("tail of %d", len(got.Tail))
	}
}

func TestBound(t *testing.T) {
	r := bound(Result{OK: true, Data: json.RawMessage(`"` + strings.Repeat("x", 9000) + `"`)}, 4000)
	if !r.Truncated || len(r.Data) > 4000 || !strings.Contains(r.Notice, "9002 bytes") {
		t.Errorf("%d bytes, %q", len(r.Data), r.Notice)
	}
	if r := bound(Result{OK: true, Data: json.RawMessage(`1`)}, 4000); r.Truncated {
		t.Error("cut")
	}
}

// B016
func TestCleanLine(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"  a\tb\r\nc\n", "a b  c"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\u009b31mred", "red"},
		{"a\x1b]52;c;eA==\x07b", "ab"},
		{"a\u009d52;c;eA==\u009cb", "ab"},
		{"\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\", "safe.example"},
		{"a\x1bPq#1\x1b\\b", "ab"},
		{"a\x1b]0;open title", "a0;open title"}, // unterminated: shown, not hidden
		{"a\x1b(Bb", "aBb"},
		{"a\x1b", "a"},
		{"a\x1b\x01b", "ab"},
		{"a\x1b[3\x01b", "ab"},
		{"a\x1b[3", "a"},
		{"x\u202ey\u2066z\u200f\u061c\ufeff\u206a", "xyz"},
		{"\x00\x07\x7f\u0085", ""},
		{"a\xffb", "a\uFFFDb"},
		{"👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"},
		{"a\u2028b", "a b"},
	} {
		if got := CleanLine(tt.in, 100); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := CleanLine("ab👨‍👩‍👧‍👦cd", 5); got != "ab…" {
		t.Errorf("cut: %q", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.String().Draw(rt, "s") + "\x1b" + rapid.StringOf(rapid.RuneFrom([]rune("[]PX^_\\\x07\x1b\u009b\u009c0;m"))).Draw(rt, "esc")
		got := CleanLine(s, 20)
		if utf8.RuneCountInString(got) > 20 || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\u009b\u009c\x07\n") {
			rt.Fatalf("%q gave %q", s, got)
		}
	})
}

// A cut result names its handle and the tool that reads it, also after it was shortened again; one that was whole gets a handle.
func TestShorten(t *testing.T) {
	text := strings.Repeat("beginning ", 400) + strings.Repeat(" the end", 400)
	r, _, _ := Limit(NewResult(Output{Data: text}, nil), 2000, "a-1")
	for range 2 {
		var full string
		var short bool
		if r, full, short = Shorten(r, 400, "a-2"); full != "" {
			t.Error("a part is kept as the whole")
		}
		var c cutData
		if err := json.Unmarshal(r.Data, &c); err != nil {
			t.Fatal(err)
		}
		if c.Artifact != "a-1" || !strings.Contains(c.Rest, "tool artifact") || c.Bytes != len(text) || !strings.HasPrefix(text, c.Head) || !strings.HasSuffix(text, c.Tail) ||
			c.Head == "" || c.Tail == "" || utf8.RuneCount(r.Data) > 400 {
			t.Errorf("short %v: %s", short, r.Data)
		}
	}
	whole := NewResult(Output{Data: map[string]string{"k": strings.Repeat("v", 900)}}, nil)
	s, full, short := Shorten(whole, 400, "a-3")
	if !short || full != string(whole.Data) || !strings.Contains(string(s.Data), `"a-3"`) || !s.Truncated {
		t.Errorf("%v %s", short, s.Data)
	}
	if s, _, short := Shorten(NewResult(Output{Data: 1}, nil), 400, "a"); short || string(s.Data) != "1" {
		t.Errorf("%v %s", short, s.Data)
	}
	if s, _, _ := Limit(whole, 400, ""); strings.Contains(string(s.Data), "rest") {
		t.Errorf("it promises a rest that is not kept: %s", s.Data)
	}
}
