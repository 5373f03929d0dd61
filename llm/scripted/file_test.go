package scripted

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

func TestSample(t *testing.T) {
	s, err := Load(filepath.Join("testdata", "sample.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Strict || len(s.Steps) != 7 {
		t.Fatalf("strict %v, %d steps", s.Strict, len(s.Steps))
	}
	sim(func(clk *clock.Sim) {
		c := s.Client(clk)
		r := ask(t.Context(), clk, c, user("what is (17+5)*3?"))
		if r.Text != "I will calculate that." || r.Reasoning == "" || r.Took < 200*time.Millisecond {
			t.Errorf("first: %+v", r)
		}
		if got := r.Done.ToolCalls[0].Arguments; got != `{"expression":"(17+5)*3"}` {
			t.Errorf("arguments %s", got)
		}
		if *r.Done.Usage.Prompt != 120 || *r.Done.Usage.Cached != 0 || r.Done.Usage.Reasoning != nil {
			t.Errorf("usage %+v", r.Done.Usage)
		}
		if r = ask(t.Context(), clk, c, user("what is (17+5)*3?")); r.Text != "(17+5)*3 = 66" {
			t.Errorf("second: %+v", r)
		}
		r = ask(t.Context(), clk, c, user("cut me off"))
		if r.Text != "This answer never " || r.Err == nil {
			t.Errorf("cut: %+v", r)
		}
		r = ask(t.Context(), clk, c, user("fail"))
		var e *llm.Error
		want := &llm.Error{Kind: llm.ErrRate, Status: 429, Host: "example.test", Message: "slow down", RetryAfter: 3 * time.Second, Retryable: true}
		if !errors.As(r.Err, &e) || cmp.Diff(want, e) != "" {
			t.Errorf("fail: %v", r.Err)
		}
		r = ask(t.Context(), clk, c, user("bad arguments"))
		wantCalls := []llm.ToolCall{{ID: "c1", Name: "todo", Arguments: `{"action":"add","text":`}, {ID: "call_5_2", Name: "search_mock", Arguments: "{}"}}
		if d := cmp.Diff(wantCalls, r.Done.ToolCalls); d != "" || r.Done.Model != "sample-1" {
			t.Error(d, r.Done.Model)
		}
		ctx, cancel := clk.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if r = ask(ctx, clk, c, user("wait")); r.Text != "almost" || !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("hang: %+v", r)
		}
		for range 3 {
			if r = ask(t.Context(), clk, c, user("else")); r.Text == "" || r.Err != nil {
				t.Errorf("forever: %+v", r)
			}
		}
	})
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct {
		name, in     string
		line, column int
		message      string
	}{
		{"syntax", "[[step]]\ntext = \"a", 2, 0, ""},
		{"unknown key", "[[step]]\ntxt = \"a\"", 2, 1, `unknown key "txt"`},
		{"unknown table", "strict = true\n[other]\na = 1", 2, 2, `unknown key "other"`},
		{"wrong type", "[[step]]\ntext = 3", 2, 8, ""},
		{"duration", "[[step]]\ntext = \"a\"\ndelay = \"soon\"", 3, 1, `"soon" is no duration`},
		{"negative duration", "[[step]]\ndelay = \"-1s\"", 2, 1, "no duration"},
		{"error kind", "[[step]]\nfail = { kind = \"odd\" }", 2, 1, "no kind of error"},
		{"no kind", "[[step]]\n\n[step.fail]\nstatus = 400", 3, 7, `"" is no kind`},
		{"text and deltas", "[[step]]\n[[step]]\ntext = \"a\"\ndeltas = [\"b\"]", 4, 1, "either text or deltas"},
		{"times and forever", "[[step]]\ntimes = 2\n  forever = true", 3, 3, "either times or forever"},
		{"zero times", "[[step]]\ntimes = 0", 2, 1, "at least 1"},
		{"negative cut", "[[step]]\ncut_after = -1", 2, 1, "at least 0"},
		{"two ends", "# c\n\n[[step]]\ncut_after = 1\nhang_after = 1", 3, 3, "one of fail"},
		{"fail_after alone", "[[step]]\nfail_after = 1", 2, 1, "needs fail"},
		{"nameless call", "[[step]]\ncalls = [{ id = \"1\" }]", 2, 1, "needs a name"},
		{"infinite argument", "[[step]]\ncalls = [{ name = \"a\", args = { x = inf } }]", 2, 1, "args of a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("f.toml", []byte(tc.in))
			var pe *ParseError
			if !errors.As(err, &pe) {
				t.Fatalf("got %v", err)
			}
			if pe.File != "f.toml" || pe.Line != tc.line || (tc.column != 0 && pe.Column != tc.column) || !strings.Contains(pe.Message, tc.message) {
				t.Errorf("got %v", err)
			}
			if !strings.HasPrefix(err.Error(), "f.toml:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("text %q", err.Error())
			}
		})
	}
}

func TestParseOther(t *testing.T) {
	s, err := Parse("f", []byte("[[step]]\nfail = {kind = \"server\"}\nfail_after = 2\ntext = \"abc\"\nchunk_size = 1\ntimes = 2\n[[step]]\nchunk_size=0\ntext=\"abc\"\n"))
	if err != nil || s.Strict {
		t.Fatal(err)
	}
	sim(func(clk *clock.Sim) {
		c := s.Client(clk)
		for range 2 {
			if r := ask(t.Context(), clk, c, user("x")); r.Text != "ab" || r.Err == nil {
				t.Errorf("%+v", r)
			}
		}
		if r := ask(t.Context(), clk, c, user("x")); r.Text != "abc" || len(r.Chunks) != 2 {
			t.Errorf("%+v", r)
		}
	})
	if _, err := Load(filepath.Join(t.TempDir(), "none.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := DecodeError("f", errors.New("odd")); !strings.Contains(err.Error(), "f:1:1: odd") {
		t.Error(err)
	}
}

// FuzzParse: a script file is either taken, or refused with a place inside it.
func FuzzParse(f *testing.F) {
	if b, err := os.ReadFile(filepath.Join("testdata", "sample.toml")); err == nil {
		f.Add(b)
	}
	f.Add([]byte("[[step]]\ntimes = 0"))
	f.Add([]byte("step = [{text=\"a\", cut_after = -1}]"))
	f.Add([]byte("[[\"step\"]]\n'fail'.status = 3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Parse("f", data)
		if err == nil {
			return
		}
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Fatalf("no place: %v", err)
		}
		if lines := strings.Count(string(data), "\n") + 1; pe.Line < 1 || pe.Line > lines || pe.Column < 1 {
			t.Errorf("line %d of %d, column %d", pe.Line, lines, pe.Column)
		}
	})
}
