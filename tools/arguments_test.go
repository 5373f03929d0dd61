package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseArgumentsAccepts(t *testing.T) {
	for _, tt := range []struct{ name, raw, want string }{
		{"empty", "", "{}"}, // B046
		{"blank", "   ", "{}"},
		{"blank lines", "\r\n\t", "{}"},
		{"object", `{"a": 1, "b" : [1, {"c":null}]}`, `{"a":1,"b":[1,{"c":null}]}`},
		{"order kept", `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{"encoded twice", `"{\"path\":\"a\"}"`, `{"path":"a"}`}, // B052
		{"encoded twice with space", ` " {\"path\":\"a\"} " `, `{"path":"a"}`},
		{"fence", "```json\n{\"a\":1}\n```", `{"a":1}`},
		{"fence, no language", "```\n{\"a\":1}\n```\n", `{"a":1}`},
		{"fence on one line", "```{\"a\":1}```", `{"a":1}`},
		{"fence around nothing", "```json\n```", `{}`},
		{"fence around encoded twice", "```\n\"{\\\"a\\\":1}\"\n```", `{"a":1}`},
		{"big numbers are kept", `{"a":12345678901234567890.5e3}`, `{"a":12345678901234567890.5e3}`},
		{"pair of surrogates", `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d\ude00"}`},
		{"escapes", `{"a":"\"\\\/\b\f\n\r\tA"}`, `{"a":"\"\\\/\b\f\n\r\tA"}`},
		{"html is not escaped", `{"a":"<b>&"}`, `{"a":"<b>&"}`},
		{"numbers", `{"a":[-0,0.5,1E+2,1e-2]}`, `{"a":[-0,0.5,1E+2,1e-2]}`},
		{"literals", `{"a":[true,false,null,{},[]]}`, `{"a":[true,false,null,{},[]]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseArguments(tt.raw)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestParseArgumentsRefuses(t *testing.T) {
	const bad, cut = CodeMalformedArguments, CodeTruncatedArguments
	for _, tt := range []struct {
		raw  string
		code Code
		want []string // parts of the message
	}{
		// B047: not executed, the byte offset of the failure.
		{`{"{"tagIds":[1]}`, bad, []string{"invalid JSON at byte 4", "':' after a key", `found 't'`, `»tagIds`}},
		{`{"a":1}}`, bad, []string{"at byte 7", "unexpected '}' after the object"}},
		{`{"a":1}{"b":2}`, bad, []string{"at byte 7", "unexpected '{'"}},
		{`{a:1}`, bad, []string{"at byte 1", "a key in double quotes", "found 'a'"}},
		{`{"a":1,}`, bad, []string{"at byte 7", "a key in double quotes", "found '}'"}},
		{`{"a":Infinity}`, bad, []string{"at byte 5", "expected a value, found 'I'"}},
		// B049: incomplete, not repaired.
		{`{"path":"app/page.tsx"`, cut, []string{"invalid JSON", "incomplete", "at byte 22", "',' or '}'"}},
		{`{"path":"app/page.tsx","content":"abc`, cut, []string{"incomplete", "the end of a string"}},
		{`{`, cut, []string{"incomplete"}},
		{`{"a"`, cut, []string{"':'"}},
		{`{"a":`, cut, []string{"a value"}},
		{`{"a":tru`, cut, []string{"true"}},
		{`{"a":fal`, cut, nil},
		{`{"a":nul`, cut, nil},
		{`{"a":-`, cut, []string{"a digit"}},
		{`{"a":1.`, cut, nil},
		{`{"a":1e`, cut, nil},
		{`{"a":1e+`, cut, nil},
		{`{"a":[1,`, cut, nil},
		{`{"a":[1`, cut, nil},
		{`{"a":"\`, cut, []string{"escape"}},
		{`{"a":"\u12`, cut, nil},
		{`{"a":"\ud83d`, cut, nil},
		{`{"a":"\ud83d\`, cut, nil},
		{`{"a":"\ud83d\ud`, cut, nil},
		{"```json\n{\"a\":1}\n", cut, []string{"fence"}},
		{"```json\n{\"a\":\n```", cut, nil},
		{`"{\"a\":1"`, cut, []string{"inside the JSON string"}},
		{`"{\"a\":1`, cut, nil},
		// B050
		{`{"cmd": "rm -rf build", `, cut, []string{"invalid JSON"}},
		{`not json`, bad, []string{"invalid JSON at byte 1"}},
		{`rm`, bad, []string{"invalid JSON at byte 0"}},
		// B052: expected and received type.
		{`[1,2]`, bad, []string{"must be a JSON object", "received an array"}},
		{`null`, bad, []string{"must be a JSON object", "received null"}},
		{`true`, bad, []string{"received a boolean"}},
		{`12`, bad, []string{"received a number"}},
		{`"x"`, bad, []string{"received a string"}},
		{`"[1,2]"`, bad, []string{"received a string"}},
		{`"\"{}\""`, bad, []string{"received a string"}}, // unwrapped once only
		// Values that decoding would silently change.
		{`{"a":1,"a":2}`, bad, []string{`the key "a" occurs twice`, "at byte 7"}},
		{`{"x":{"a":1,"\u0061":2}}`, bad, []string{`"a" occurs twice`}},
		{`{"a":"\ud83d"}`, bad, []string{"lone surrogate \\ud83d"}}, // B182
		{`{"a":"\ude00x"}`, bad, []string{"lone surrogate"}},
		{`{"a":"\ud83d\u0041"}`, bad, []string{"lone surrogate"}},
		{`{"a":"\ud83dA"}`, bad, []string{"lone surrogate"}},
		{"{\"a\":\"\xff\"}", bad, []string{"invalid UTF-8", "0xFF"}},
		{"{\"a\":\"\xed\xa0\x80\"}", bad, []string{"invalid UTF-8"}},
		{"\xff{}", bad, []string{"the byte 0xFF"}},
		{"{\"a\":\"x\ny\"}", bad, []string{"control character 0x0A"}},
		{`{"a":"\x"}`, bad, []string{`escape \x does not exist`}},
		{`{"a":"\u00zz"}`, bad, []string{"hexadecimal"}},
		{`{"a":01}`, bad, nil},
		{`{"a":+1}`, bad, nil},
		{`{"a":.5}`, bad, nil},
		{`{"a":1.x}`, bad, nil},
		{`{"a":truth}`, bad, nil},
		{`{"a":[1 2]}`, bad, []string{"',' or ']'"}},
		{`{"a":1 "b"}`, bad, []string{"',' or '}'"}},
		{`{'a':1}`, bad, nil},
		{"\ufeff{}", bad, []string{"at byte 0"}},
		{"{\"a\":1} // note", bad, nil},
		{"```json\n{a:1}\n```", bad, []string{"at byte 9"}},
		{strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), bad, []string{"nested deeper"}},
		{strings.Repeat(`[`, 100_000), bad, []string{"nested deeper"}},
		{strings.Repeat(" ", MaxArguments) + "{}", bad, []string{"at most 1048576"}},
		{"{\"a\x1b[31m\u202e", bad, []string{"control character 0x1B"}},
	} {
		name := tt.raw
		if len(name) > 40 {
			name = name[:40]
		}
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			got, err := ParseArguments(tt.raw)
			if err == nil {
				t.Fatalf("accepted as %s", got)
			}
			if err.Code != tt.code || got != nil {
				t.Errorf("code %s, result %s, want %s and none: %s", err.Code, got, tt.code, err.Message)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Message, w) {
					t.Errorf("message %q lacks %q", err.Message, w)
				}
			}
			if !utf8.ValidString(err.Message) || strings.ContainsAny(err.Message, "\x1b\u202e\n") {
				t.Errorf("unsafe message %q", err.Message)
			}
			if len(err.Message) > 700 {
				t.Errorf("message of %d bytes", len(err.Message))
			}
		})
	}
}

// A text that this package accepts is JSON for everybody, and a prefix of an object is always told as truncated.
func TestParseArgumentsProperties(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(3) })
	rapid.Check(t, func(rt *rapid.T) {
		obj := rapid.MapOfN(rapid.String(), value, 0, 4).Draw(rt, "object")
		text, err := encodeJSON(obj)
		if err != nil {
			rt.Fatal(err)
		}
		got, e := ParseArguments(string(text))
		if e != nil {
			rt.Fatalf("%s refused: %s", text, e.Message)
		}
		if diff := cmp.Diff(string(text), string(Canonical(got))); diff != "" {
			rt.Fatal(diff)
		}
		if twice, _ := json.Marshal(string(text)); len(text) > 0 {
			got, e := ParseArguments(string(twice))
			if e != nil || string(got) != string(text) {
				rt.Fatalf("encoded twice: %s, %v", got, e)
			}
		}
		at := rapid.IntRange(1, len(text)-1).Draw(rt, "cut")
		for !utf8.RuneStart(text[at]) {
			at--
		}
		if _, e := ParseArguments(string(text[:at])); e == nil || e.Code != CodeTruncatedArguments {
			rt.Fatalf("%q: %v", text[:at], e)
		}
	})
}

func jsonValue(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil), rapid.Float64().AsAny())
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, rapid.SliceOfN(jsonValue(depth-1), 0, 3).AsAny(), rapid.MapOfN(rapid.String(), jsonValue(depth-1), 0, 3).AsAny())
}

func FuzzParseArguments(f *testing.F) {
	for _, s := range []string{"", "{}", `{"a":[1,2.5e3,"\ud83d\ude00",null]}`, `"{\"a\":1}"`, "```json\n{}\n```", `{"a":`, `{"a":1,"a":2}`, "\xff", `{"{"a":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := ParseArguments(raw)
		if err != nil {
			if got != nil || !utf8.ValidString(err.Message) || err.Message == "" {
				t.Fatalf("%q: %s %q", raw, got, err.Message)
			}
			if json.Valid([]byte(raw)) && err.Code == CodeTruncatedArguments && raw != "" && strings.TrimSpace(raw)[0] == '{' {
				t.Fatalf("%q is whole", raw)
			}
			return
		}
		var v map[string]any
		if e := json.Unmarshal(got, &v); e != nil || v == nil {
			t.Fatalf("%q gave %q: %v", raw, got, e)
		}
		again, err := ParseArguments(string(got))
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q is not stable: %q %v", got, again, err)
		}
	})
}

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"b":1,"a":{"d":"<","c":[2, 1]}}`, `{"a":{"c":[2,1],"d":"<"},"b":1}`},
		{`{"a":10000000000000000001}`, `{"a":10000000000000000001}`},
		{`not json`, `not json`},
		{`{"a":1} x`, `{"a":1} x`},
		{``, ``},
	} {
		if got := string(Canonical(json.RawMessage(tt.in))); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

// What is taken as canonical without a look inside is what decoding and encoding gives.
func TestCanonicalOfPlainArguments(t *testing.T) {
	value := rapid.SampledFrom([]string{`1`, `-0`, `1e5`, `"x"`, `""`, `"a,b:{}"`, `"<&>"`, `true`, `null`, `{}`, `[]`, `{"b":1,"a":2}`, `[1, 2]`, `"é"`, `"\u00e9"`, `"\n"`, `"\ud800"`, ` 1`, `1 `, `"\u007f"`, "\"\x7f\""})
	key := rapid.SampledFrom([]string{`"a"`, `"b"`, `"aa"`, `""`, `"a\"b"`, `"B"`, ` "c"`, `"汉"`})
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		var fields []string
		for range rapid.IntRange(0, 4).Draw(t, "fields") {
			fields = append(fields, key.Draw(t, "key")+":"+value.Draw(t, "value"))
		}
		text := json.RawMessage(rapid.SampledFrom([]string{"", " "}).Draw(t, "space") + "{" + strings.Join(fields, ",") + "}")
		if !json.Valid(text) || !plain(text) {
			return
		}
		taken++
		v, err := decodeJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := encodeJSON(v)
		if err != nil || string(want) != string(text) {
			t.Fatalf("%s is taken as it is, and is %s (%v)", text, want, err)
		}
	})
	if taken == 0 || !plain(json.RawMessage(`{"a":"x y","b":2}`)) {
		t.Error("nothing is plain")
	}
}
