package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func equal(t *testing.T, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func ptr[T any](v T) *T { return &v }

func encoded(t *testing.T, e Event) string {
	t.Helper()
	b, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEventInJSON(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.FixedZone("", 3600))
	for _, c := range []struct {
		event Event
		want  string
	}{
		{
			Event{TS: at, Seq: 3, SessionID: "s", RunID: "r", Turn: 2, Name: RunStart, Step: 1, Data: RunStartData{Input: "a < b & c", Model: "m", N: 5}},
			`{"ts":"2026-03-04T04:06:07.123456Z","seq":3,"session_id":"s","run_id":"r","turn":2,"event":"run_start","step":1,"data":{"input":"a < b & c","model":"m","n":5}}`,
		},
		{
			Event{TS: start, SessionID: "s", Name: Delta, Data: DeltaData{Kind: "text", Text: "x"}},
			`{"ts":"2026-01-01T00:00:00.000000Z","seq":null,"session_id":"s","run_id":null,"turn":0,"event":"delta","step":0,"data":{"kind":"text","text":"x"}}`,
		},
		{
			Event{TS: start, Seq: 1, SessionID: "s", Name: LLMCall, Data: LLMCallData{Model: "m", StartedAt: start}},
			`{"ts":"2026-01-01T00:00:00.000000Z","seq":1,"session_id":"s","run_id":null,"turn":0,"event":"llm_call","step":0,"data":{"model":"m","latency_ms":0,"ttft_ms":null,"prompt_tokens":null,"completion_tokens":null,"cached_tokens":null,"reasoning_tokens":null,"cost":null,"estimate":0,"tool_call_count":0,"finish_reason":"","attempts":0,"started_at":"2026-01-01T00:00:00Z"}}`,
		},
		{
			Event{TS: start, Name: "later", Data: &Unknown{Name: "later", Raw: json.RawMessage("{\"a\" :\n [1, 2]}")}},
			`{"ts":"2026-01-01T00:00:00.000000Z","seq":null,"session_id":"","run_id":null,"turn":0,"event":"later","step":0,"data":{"a":[1,2]}}`,
		},
		{
			Event{TS: start, Name: "later", Data: Unknown{Raw: json.RawMessage("7")}},
			`{"ts":"2026-01-01T00:00:00.000000Z","seq":null,"session_id":"","run_id":null,"turn":0,"event":"later","step":0,"data":7}`,
		},
		{
			Event{Name: State},
			`{"ts":"0001-01-01T00:00:00.000000Z","seq":null,"session_id":"","run_id":null,"turn":0,"event":"state","step":0,"data":null}`,
		},
		{
			Event{TS: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC), Name: RunEnd, Data: RunEndData{Cost: ptr(math.NaN())}},
			`{"ts":"0001-01-01T00:00:00.000000Z","seq":null,"session_id":"","run_id":null,"turn":0,"event":"run_end","step":0,"data":{"unencodable":"json: unsupported value: NaN"}}`,
		},
		{
			Event{TS: start, Name: ToolCall, Data: ToolCallData{Arguments: json.RawMessage("{bad"), Status: "started"}},
			`{"ts":"2026-01-01T00:00:00.000000Z","seq":null,"session_id":"","run_id":null,"turn":0,"event":"tool_call","step":0,"data":{"id":"","call_id":"","tool":"","effect":"","ord":0,"arguments":"{bad","status":"started"}}`,
		},
	} {
		equal(t, encoded(t, c.event), c.want)
	}
}

// samples has one event of each name, every field set.
func samples() []Event {
	var all []Event
	for i, d := range []Data{
		RunStartData{}, LLMCallData{}, ToolCallData{}, ToolResultData{}, CompactData{}, AnswerData{}, ErrorData{}, RunEndData{}, ApprovalData{},
		HistoryRepairedData{}, PinData{}, TodoData{}, SessionData{}, InputQueuedData{}, ArtifactData{}, StateData{}, DeltaData{}, RetryData{},
		ProgressData{}, GapData{}, NoticeData{},
	} {
		v := reflect.New(reflect.TypeOf(d))
		fill(v.Elem())
		e := Event{TS: start.Add(time.Duration(i) * time.Microsecond), Seq: int64(i), SessionID: "s", RunID: "r", Turn: 1, Name: d.EventName(), Step: 2}
		e.Data = v.Elem().Interface().(Data)
		all = append(all, e)
	}
	return append(all, Event{TS: start, Seq: 99, SessionID: "s", Name: "later", Data: &Unknown{Name: "later", Raw: json.RawMessage(`{"x":1}`)}})
}

func fill(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = json.RawMessage(`{"k":"v"}`)
		return
	case *time.Time:
		*x = start
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic(v.Kind())
	}
}

func TestEveryEventComesBack(t *testing.T) {
	for _, e := range samples() {
		var got Event
		if err := json.Unmarshal([]byte(encoded(t, e)), &got); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		equal(t, got, e)
		if e.Name != "later" && e.Data.EventName() != e.Name {
			t.Errorf("%s calls itself %s", e.Name, e.Data.EventName())
		}
		equal(t, DecodeData(e.Name, EncodeData(e.Data)), e.Data)
	}
	equal(t, Unknown{Name: "x"}.EventName(), Name("x"))
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`[]`, "decode event: json: cannot unmarshal array"},
		{`{}`, "decode event: it has no name"},
		{`{"event":"state"}`, `decode event: ts: parsing time ""`},
		{`{"event":"state","ts":"yesterday"}`, "decode event: ts"},
		{`{"event":1}`, "decode event: json"},
	} {
		var e Event
		if err := json.Unmarshal([]byte(c.in), &e); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.in, err, c.want)
		}
	}
}

func TestDataOfAnotherShapeIsKept(t *testing.T) {
	var e Event
	if err := json.Unmarshal([]byte(`{"ts":"2026-01-01T00:00:00Z","event":"run_start","data":{"input":[1]},"extra":1}`), &e); err != nil {
		t.Fatal(err)
	}
	equal(t, e.Data, Data(&Unknown{Name: RunStart, Raw: json.RawMessage(`{"input":[1]}`)}))
}

// strict reports what a strict reader would not take: invalid UTF-8, invalid JSON, lone surrogates, and what a terminal
// would obey.
func strict(b []byte) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("invalid UTF-8: %q", b)
	}
	if !json.Valid(b) {
		return fmt.Errorf("invalid JSON: %q", b)
	}
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' {
			if b[i+1] == 'u' {
				if n := escapeLen(b[i:]); n == 0 {
					return fmt.Errorf("a lone surrogate: %q", b)
				} else if n == 12 {
					i += 6
				}
				i += 4
			}
			i++
		}
	}
	for _, r := range string(b) {
		if r < 0x20 || steers(r) {
			return fmt.Errorf("%U stands in the text: %q", r, b)
		}
	}
	return nil
}

// B182: whatever bytes come in, the trace is valid UTF-8 and valid JSON.
func TestWhateverComesInIsEncodedStrictly(t *testing.T) {
	inputs := []string{
		"\xed\xa0\x80", "\xff\xfe", "\xf0\x9f", "\xff", "\x80", "\xc0\xaf", `\ud83d`, `{"a":"\ud83d"}`, `{"a":"\ude00"}`, `{"a":"\ud83d\ud83d\ude00"}`,
		`{"a":"\ud83dx"}`, `{"a":"\\ud83d"}`, `{"a":"\uD83D\uDE00"}`, `{"a":"` + "\xed\xa0\x80" + `"}`, "\u009b31m", "\x1b[31m\u202e\x00\x7f", "a\nb\u2028c", "",
		`"\u`, `{"a":"\ud83d\n"}`, `{"\ud83d":1}`,
	}
	for _, in := range inputs {
		for _, e := range []Event{
			{Name: RunStart, SessionID: in, RunID: in, Data: RunStartData{Input: in}},
			{Name: Name(in), Data: &Unknown{Name: Name(in), Raw: json.RawMessage(in)}},
			{Name: ToolCall, Data: ToolCallData{Arguments: json.RawMessage(in), RawArguments: in, Status: in}},
			{Name: ToolResult, Data: ToolResultData{Result: json.RawMessage(in), Summary: in}},
		} {
			out := []byte(encoded(t, e))
			if err := strict(out); err != nil {
				t.Errorf("%q in %s: %v", in, e.Name, err)
			}
			if strings.Contains(string(out), "\n") {
				t.Errorf("%q breaks the line", in)
			}
		}
	}
	// What was good stays.
	got := encoded(t, Event{Name: ToolResult, Data: ToolResultData{Result: json.RawMessage(`{"a":"\uD83D\uDE00 \\ud83d é"}`)}})
	if !strings.Contains(got, `{"a":"\uD83D\uDE00 \\ud83d é"}`) {
		t.Error(got)
	}
}

func FuzzEventEncoding(f *testing.F) {
	f.Add("text", []byte(`{"a":"\ud83d"}`))
	f.Add("\xff\u009b", []byte("\"\xed\xa0\x80\""))
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		for _, e := range []Event{
			{Name: RunStart, SessionID: text, Data: RunStartData{Input: text}},
			{Name: ToolResult, Data: ToolResultData{Result: raw, Summary: text}},
			{Name: "x", Data: &Unknown{Name: "x", Raw: raw}},
		} {
			out := []byte(encoded(t, e))
			if err := strict(out); err != nil {
				t.Error(err)
			}
			if err := strict(cutStrings(out, 3)); err != nil {
				t.Errorf("cut: %v", err)
			}
			var back Event
			if err := json.Unmarshal(out, &back); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCutText(t *testing.T) {
	family := "👨\u200d👩\u200d👧" // five characters, one grapheme
	for _, c := range []struct {
		in    string
		limit int
		short string
		left  int
	}{
		{"abc", 3, "abc", 0},
		{"abcd", 3, "abc", 1},
		{"ab😀d", 3, "ab😀", 1},
		{"ab" + family, 3, "ab", 5}, // B182: never within a sequence
		{"ab" + family + "c", 7, "ab" + family, 1},
		{"e\u0301e\u0301", 3, "e\u0301", 2},
		{family, 2, "", 5},
		{"\xff\xff\xff\xff", 3, "\xff\xff\xff", 1},
		{"", 0, "", 0},
	} {
		short, left := cutText(c.in, c.limit)
		equal(t, short, c.short)
		equal(t, left, c.left)
	}
}

func TestCutStrings(t *testing.T) {
	equal(t, string(cutStrings([]byte(`{"a":"1234567890","b":["12345","\n\n\n\n\n\n",12345678],"c":"\\\""}`), 5)),
		`{"a":"12345… [+5 characters]","b":["12345","\n\n\n\n\n… [+1 characters]",12345678],"c":"\\\""}`)
	equal(t, string(cutStrings([]byte(`{"a":"1234567890"}`), 0)), `{"a":"1234567890"}`)
	equal(t, string(cutStrings([]byte(`{"a":"\u009b\u009b\u009b"}`), 2)), `{"a":"\u009b\u009b… [+1 characters]"}`)
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringN(0, 40, -1).Draw(t, "in")
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		var out string
		if err := json.Unmarshal(cutStrings(tidy([]byte(must(marshal(in)))), limit), &out); err != nil {
			t.Fatal(err)
		}
		kept, _, cut := strings.Cut(out, "… [+")
		if !cut && out != in || cut && (!strings.HasPrefix(in, kept) || utf8.RuneCountInString(kept) > limit) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
