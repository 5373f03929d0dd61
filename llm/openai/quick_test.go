package openai

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
)

// both plays a stream with and without the short way and compares all chunks.
func both(t interface{ Fatalf(string, ...any) }, s string) (short int) {
	var chunks [2][]string
	for i, slow := range []bool{false, true} {
		how := generic(habits{})
		d := &decoder{onEnd: func() {}, dialect: &how, slow: slow, clean: func(s string) string { return s }, tell: func(c llm.Chunk) bool {
			told := fmt.Sprintf("%q %q", c.Text, c.Reasoning)
			if c.CallDelta != nil {
				told += fmt.Sprintf(" %+v", *c.CallDelta)
			}
			chunks[i] = append(chunks[i], told)
			return true
		}}
		done, err := d.decode(strings.NewReader(s))
		b, _ := marshal(done)
		chunks[i] = append(chunks[i], fmt.Sprintf("%s %v", b, err))
		if !slow {
			short = d.short
		}
	}
	if d := cmp.Diff(chunks[1], chunks[0]); d != "" {
		t.Fatalf("the short way differs (-long +short):\n%.2000s\nin %.2000s", d, s)
	}
	return short
}

// The short way and the long one make the same of every event, and the usual events take the short one.
func TestShortWay(t *testing.T) {
	for name, s := range manyDeltas(100) {
		if n := both(t, s); n < 97 {
			t.Errorf("%s: %d of 100 events took the short way", name, n)
		}
	}
	const head = `{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}`
	for _, odd := range []string{
		`{"choices":[{"delta":{"content":"a\u0041"}}]}`, `{"choices":[{"delta":{"content":"\ud83d"}}]}`, `{"choices":[{"delta":{"content":"x","content":"y"}}]}`,
		`{"choices":[{"delta":{"Content":"x","content":"y"}}]}`, `{"choices":[{"delta":{"content":"y","CONTENT":"x"}}]}`, `{"choices":[{"delta":{"content":"x"}},{"delta":{"content":"y"}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"x"}}]}`, `{"choices":[{"index":01,"delta":{"content":"x"}}]}`, `{"choices":[{"index":0.0,"delta":{"content":"x"}}]}`,
		`{"choices":[{"delta":{"content":"x"},"finish_reason":""}]}`, `{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":3}}`, `{"model":"n","choices":[{"delta":{"content":"x"}}]}`,
		`{"choices":[{"delta":{"content":"x"}}],"error":{"message":"e"}}`, `{"object":"error","message":"e","choices":[{"delta":{"content":"x"}}]}`, `{"choices":[{"delta":{"content":"x"}}],"x_groq":{"error":"e"}}`,
		`{"choices":[{"delta":{"reasoning":"r","reasoning_content":"r"}}]}`, `{"choices":[{"delta":{"reasoning":"r","reasoning_content":null}}]}`, `{"choices":[{"delta":{"reasoning":"","reasoning_content":"r"}}]}`,
		`{"choices":[{"delta":{"content":"x"}}]} `, `{"choices":[{"delta":{"content":"x"}}]}x`, `{"choices":[{"delta":{"content":"x"}}],}`, `{"choices":[{"delta":{"content":"x"},}]}`, "{\"choices\":[{\"delta\":{\"content\":\"x\t\"}}]}",
		`{"choices":[{"delta":{"content":"x\q"}}]}`, `{"choices":[{"delta":{"content":"x"}}],"n":1.5e+3,"m":-0}`, `{"choices":[{"delta":{"content":"x"}}],"n":01}`, `{"choices":[{"delta":{"content":"x"}}],"n":1.}`,
		`{"choices":[{"delta":{"content":"x"}}],"b":true,"c":false}`, `{"choices":[{"delta":{"content":"x"}}],"b":tru}`, `{"choices":[{"delta":{"content":"x"},"message":{"content":"m"}}]}`, `{"choices":[{"delta":{"content":"x"},"text":"t"}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":"}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1"},"x":1}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":null,"content":"x"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":null}}]}}]}`, `{"choices":[{"delta":{"content":null}}]}`, `{"choices":[{}]}`, `{"choices":[]}`,
		`{"choices":[{"delta":{"content":"x","refusal":"r"}}]}`, `{"choices":[{"delta":{"content":"x","extra_content":{"a":1}}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}", `{"choices":[{"delta":{"content":"<think>"}}]}`,
		`{"choices":[{"delta":{"content":"世界 👩‍👩‍👧","role":null}}],"created":7}`, `{ "choices" : [ { "delta" : { "content" : "x" } } ] }`, `{"choices":[{"delta":{"content":"x"}}],"a\u0062":1}`, `{"choices":[{"delta":{"content":["x"]}}]}`,
		`{"choices":[{"delta":{"content":"x"}}],"choices":[{"delta":{}}]}`, `{"choices":[{"delta":{"content":"x"},"delta":{"role":"r"}}]}`, `{"choices":[{"index":1,"index":0,"delta":{"content":"x"}}]}`,
		`{"choices":[{"delta":{"content":"x","content":null}}]}`, `{"choices":[{"finish_reason":"stop","finish_reason":null,"delta":{"content":"x"}}]}`, `{"usage":null,"usage":null,"choices":[{"delta":{"content":"x"}}]}`,
	} {
		for _, before := range []string{head, odd} {
			both(t, data(head, before, odd, odd, strings.Replace(odd, "x", "longer x", 1), strings.Replace(odd, "x", "\xff\xfex", 1), head, end, "[DONE]"))
		}
	}
	const call = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`
	for _, args := range []string{"\xff\xfe", "x", "", `\"`, `\ud83d`, "\xf0\x9f", "世"} {
		event := `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + args + `"}}]}}]}`
		plain := `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"y"}}]}}]}`
		twice := `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"a"},"function":{"arguments":"b"}}]}}]}`
		both(t, data(head, call, plain, plain, event, event, plain, twice, plain, end, "[DONE]"))
	}
	rapid.Check(t, func(t *rapid.T) { both(t, drawStream(t)) })
}

// drawStream makes a stream of events that are more or less usual.
func drawStream(t *rapid.T) string {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "\\", "\n", "😀", "<think>", "</think>", "<tool_call>"}))
	quoted := func(name string) string {
		s := text.Draw(t, name)
		if rapid.Bool().Draw(t, "ascii") {
			return fmt.Sprintf("%q", strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return 'x'
				}
				return r
			}, s))
		}
		b, _ := marshal(s)
		return string(b)
	}
	lines := []string{`{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}`}
	for range rapid.IntRange(1, 8).Draw(t, "events") {
		fields := []string{}
		for _, f := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"content", "reasoning", "reasoning_content", "role", "tool_calls", "odd"}), 0, 3, rapid.ID[string]).Draw(t, "fields") {
			value := quoted(f)
			if f == "tool_calls" {
				value = fmt.Sprintf(`[{"index":%d,"function":{"arguments":%s}}]`, rapid.IntRange(0, 2).Draw(t, "index"), value)
				if rapid.Bool().Draw(t, "head") {
					value = strings.Replace(value, "{", `{"id":"c`+fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "id"))+`",`, 1)
					value = strings.Replace(value, `{"arguments"`, `{"name":"f","arguments"`, 1)
				}
			}
			fields = append(fields, fmt.Sprintf("%q:%s", f, value))
		}
		lines = append(lines, fmt.Sprintf(`{"created":%d,"id":%s,"choices":[{"index":0,"delta":{%s},"finish_reason":null}]}`,
			rapid.IntRange(0, 100).Draw(t, "created"), quoted("event"), strings.Join(fields, ",")))
	}
	s := data(append(lines, end, "[DONE]")...)
	switch rapid.IntRange(0, 3).Draw(t, "lines") {
	case 0:
		return strings.ReplaceAll(s, "\n", "\r\n")
	case 1:
		return strings.ReplaceAll(s, "\n\n", "\n: comment\n\n")
	}
	return s
}

// FuzzShortWay: an event, twice, between usual ones.
func FuzzShortWay(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"delta":{"content":"x"}}]}`, `{"id":"1","created":2,"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"x\n"},"logprobs":null}],"usage":null,"obfuscation":"ab"}`,
	} {
		f.Add(s, "y")
	}
	f.Fuzz(func(t *testing.T, event, piece string) {
		const head = `{"choices":[{"delta":{"role":"assistant","content":"a","tool_calls":[{"index":0,"id":"c","function":{"name":"f"}}]}}]}`
		event = strings.NewReplacer("\n", "", "\r", "").Replace(event)
		piece = strings.NewReplacer("\n", "", "\r", "").Replace(piece)
		both(t, data(head, event, event, strings.Replace(event, "x", piece, 1), strings.Replace(event, "1", piece, 1), end, "[DONE]"))
	})
}

// Reading in small pieces makes no difference to the short way either.
func TestShortWaySplit(t *testing.T) {
	for name, s := range manyDeltas(20) {
		want := whole(t, s)
		for _, r := range []*parts{{[][]byte{[]byte(s[:len(s)/2]), []byte(s[len(s)/2:])}}, {bytes.SplitAfter([]byte(s), []byte(":"))}} {
			got, err := play(t, r)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s: %v\n%s", name, err, d)
			}
		}
		got, err := play(t, iotest.OneByteReader(strings.NewReader(s)))
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
}
