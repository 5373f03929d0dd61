package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
)

// manyDeltas are streams of n deltas, by what they bring.
func manyDeltas(n int) map[string]string {
	var text, changing, thoughts []llmtest.Step
	call := []llmtest.Step{llmtest.CallHead(0, "c1", "write_file"), llmtest.CallArguments(0, `{"content":"`)}
	for i := range n {
		text = append(text, llmtest.Text(" token"))
		thoughts = append(thoughts, llmtest.Reasoning(" hm\n"))
		call = append(call, llmtest.CallArguments(0, "line of code\\n"))
		changing = append(changing, llmtest.Event(fmt.Sprintf(
			`{"id":"chatcmpl-Bx8y1Zw4n0","object":"chat.completion.chunk","created":%d,"model":"test-model","service_tier":"default","system_fingerprint":"fp_1a2b3c","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"%08x"}`,
			1700000000+i/50, i)))
	}
	tail := []llmtest.Step{llmtest.Finish("stop"), llmtest.Usage(1000, n, 10), llmtest.DoneMark()}
	return map[string]string{
		"text": stream(append(text, tail...)...), "reasoning": stream(append(thoughts, tail...)...), "text that changes around": stream(append(changing, tail...)...),
		"call": stream(append(append(call, llmtest.CallArguments(0, `"}`)), tail...)...),
	}
}

// decodeAll decodes a stream and drops it.
func decodeAll(t testing.TB, s string) {
	how := generic(habits{})
	d := &decoder{tell: func(llm.Chunk) bool { return true }, onEnd: func() {}, dialect: &how, clean: func(s string) string { return s }}
	if _, err := d.decode(strings.NewReader(s)); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkDecode tells the time, the CPU and the allocations of a delta.
func BenchmarkDecode(b *testing.B) {
	const deltas = 100_000
	for name, s := range manyDeltas(deltas) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			began := cpuTime()
			for b.Loop() {
				decodeAll(b, s)
			}
			n := float64(b.N) * deltas
			b.ReportMetric(float64(cpuTime()-began)/n, "cpu-ns/delta")
			b.ReportMetric(float64(b.Elapsed())/n, "ns/delta")
		})
	}
	long := stream(llmtest.CallHead(0, "c1", "write_file"), llmtest.CallArguments(0, `{"content":"`+strings.Repeat("x", 4<<20)+`"}`), llmtest.Finish("tool_calls"))
	b.Run("long line", func(b *testing.B) {
		b.SetBytes(int64(len(long)))
		b.ReportAllocs()
		for b.Loop() {
			decodeAll(b, long)
		}
	})
}

// A delta costs less than two allocations and little memory beside its own text, whatever it brings.
func TestDecodeAllocations(t *testing.T) {
	const deltas = 20_000
	for name, s := range manyDeltas(deltas) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decodeAll(t, s)
		runtime.ReadMemStats(&after)
		allocs, bytes := float64(after.Mallocs-before.Mallocs)/deltas, float64(after.TotalAlloc-before.TotalAlloc)/deltas
		if allocs >= 1.5 || bytes >= 160 {
			t.Errorf("%s: %.2f allocations and %.0f bytes a delta", name, allocs, bytes)
		}
	}
}

// BenchmarkFirstToken compares the time to the first token with that of a bare request and read.
func BenchmarkFirstToken(b *testing.B) {
	answer := stream(llmtest.Text("first"), llmtest.Finish("stop"), llmtest.DoneMark())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	c := New(Config{BaseURL: srv.URL})
	defer c.Close()
	req := llmtest.SuiteRequest()
	for range 40 {
		req.Messages = append(req.Messages, user(strings.Repeat("word ", 100)), said(strings.Repeat("word ", 100)))
	}
	req.Messages = append(req.Messages, user("go"))
	b.Run("client", func(b *testing.B) {
		var first time.Duration
		for b.Loop() {
			began := time.Now()
			seen := false
			for chunk, err := range c.Stream(b.Context(), req) {
				if err != nil {
					b.Fatal(err)
				}
				if chunk.Text != "" && !seen {
					first += time.Since(began)
					seen = true
				}
			}
		}
		b.ReportMetric(float64(first)/float64(b.N), "ns/first")
	})
	body, err := encode(req, generic(habits{}))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		var buf [4096]byte
		var first time.Duration
		for b.Loop() {
			began := time.Now()
			resp, err := http.Post(srv.URL+"/chat/completions", "application/json", strings.NewReader(string(body)))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = resp.Body.Read(buf[:])
			first += time.Since(began)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		b.ReportMetric(float64(first)/float64(b.N), "ns/first")
	})
	http.DefaultClient.CloseIdleConnections()
}

// BenchmarkPrepare is what the client does before a request leaves: profile, habits, encoding.
func BenchmarkPrepare(b *testing.B) {
	c := New(Config{BaseURL: "http://localhost:11434/v1"})
	req := llmtest.SuiteRequest()
	for range 40 {
		req.Messages = append(req.Messages, user(strings.Repeat("word ", 100)), said(strings.Repeat("word ", 100)))
	}
	b.ReportAllocs()
	began := cpuTime()
	defer func() { b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op") }()
	for b.Loop() {
		if _, err := encode(req, dialect{c.profiles.of(req.Model), c.memory.of("x", req.Model)}); err != nil {
			b.Fatal(err)
		}
	}
}

// The first request of a client costs no more than reading the profiles on top.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		c := New(Config{BaseURL: "http://localhost:11434/v1", Transport: http.DefaultTransport, FirstByteTimeout: time.Second})
		_ = c.profiles.of("m")
	}
}
