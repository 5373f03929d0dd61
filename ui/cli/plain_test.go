package cli

import (
	"context"
	"strings"
	"testing"

	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/trace"
)

// Only a whole line lets a call run; a sentence that begins like a word of consent is none.
func TestWordsOnACall(t *testing.T) {
	for line, want := range map[string]*runtime.Decision{
		"y": {Call: "c", Allow: true}, " YES ": {Call: "c", Allow: true}, "a": {Call: "c", Allow: true, Always: true}, "n": {Call: "c"},
		"n too much": {Call: "c", Reason: "too much"}, "no": {Call: "c"},
		"a quick remark": nil, "yes, and then": nil, "y y": nil, "always so": nil, "": nil, "nothing": nil,
	} {
		got, ok := wordOn("c", line)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
}

// What a person typed before a question came answers nothing and is not lost; what a script says comes in order.
func TestTypedAhead(t *testing.T) {
	for _, in := range []Stream{Terminal, Data} {
		var out strings.Builder
		c := &command{prog: Program{Clock: clock.Real()}, proc: Process{In: in}, out: newOutput(&out), stop: newStopper(func() {})}
		p := &plainChat{c: c, reading: t.Context(), lines: clock.NewQueue[inputLine](clock.Real(), 4)}
		p.lines.TryPut(inputLine{text: "always"})
		p.setAside()
		p.lines.TryPut(inputLine{text: "n"})
		first, err := p.read("? ")
		if err != nil {
			t.Fatal(err)
		}
		next, err := p.message()
		if err != nil {
			t.Fatal(err)
		}
		if want := map[Stream]string{Terminal: "n", Data: "always"}[in]; first != want || next == first {
			t.Errorf("%v: the question gets %q, then %q is a message", in, first, next)
		}
	}
}

// folderOf are files by name.
type folderOf map[string]string

func (f folderOf) Names(context.Context) ([]string, bool, error) { return nil, false, nil }

func (f folderOf) Read(_ context.Context, name string, limit int) attach.File {
	text, ok := f[name]
	if !ok {
		return attach.File{Name: name, Refused: attach.Gone}
	}
	return attach.File{Name: name, Text: text[:min(limit, len(text))], Bytes: int64(len(text))}
}

// What a person names with @ goes with the message, and is told, cut or missing files too; what a program writes names nothing, and
// neither does the prompt of a run.
func TestFilesInPlain(t *testing.T) {
	files := folderOf{"notes.md": "the deploy is on Friday", "long.txt": strings.Repeat("x", 80<<10)}
	for _, in := range []Stream{Terminal, Data} {
		b := newBench(t)
		open := b.prog.Open
		b.prog.Open = func(ctx context.Context, cfg config.Config, clk clock.Clock, o OpenOptions) (*App, error) {
			app, err := open(ctx, cfg, clk, o)
			app.Files = files
			return app, err
		}
		b.f.onSubmit = answers("fine")
		b.proc.In, b.proc.Stdin = in, strings.NewReader("see @notes.md and @long.txt and @\"not there\" and a@notes.md\n")
		got := b.run("--plain")
		b.want(got, ExitOK, "fine", "")
		if len(b.f.submitted) != 1 {
			t.Fatalf("%q", b.f.submitted)
		}
		text, with := attach.Split(b.f.submitted[0])
		if in == Data {
			if len(with) != 0 || strings.Contains(got.out, "File ") {
				t.Errorf("what a program wrote attaches %d files: %q", len(with), got.out)
			}
			continue
		}
		if len(with) != 3 || with[0].Text != files["notes.md"] || !with[1].Cut() || with[2].Refused != attach.Gone || !strings.HasPrefix(text, "see @notes.md") {
			t.Errorf("%q with %d files", text, len(with))
		}
		for _, want := range []string{"File notes.md: 23 B.", "File long.txt: the first 64.0 KB of 80.0 KB.", "File not there: not attached: it is not there."} {
			if !strings.Contains(got.out, want) {
				t.Errorf("%q is not told: %q", want, got.out)
			}
		}
		b.f.submitted = nil
		b.want(b.run("run", "see @notes.md"), ExitOK, "fine", "")
		if len(b.f.submitted) != 1 || b.f.submitted[0] != "see @notes.md" {
			t.Errorf("run sends %q", b.f.submitted)
		}
	}
}

// A line that is too long is an error, not an end.
func TestALineTooLong(t *testing.T) {
	c := &command{prog: Program{Clock: clock.Real()}, proc: Process{In: Data, Stdin: strings.NewReader(strings.Repeat("x", inputLimit+1))}, out: newOutput(&strings.Builder{}), stop: newStopper(func() {})}
	p := &plainChat{c: c, reading: t.Context(), lines: c.readLines(t.Context())}
	if text, err := p.message(); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// Who leaves is told once that the session is kept: at the end of the input, and at /quit, behind which nothing is taken: neither what
// stands there in a pipe, nor what was typed ahead of a question.
func TestLeavingIsToldOnce(t *testing.T) {
	for _, typed := range [][]string{{"/quit"}, {"/exit"}, {}, {"/quit", "what came after", "/help"}} {
		for _, ahead := range []bool{false, true} {
			var out strings.Builder
			c := &command{prog: Program{Clock: clock.Real()}, proc: Process{In: Data}, out: newOutput(&out), stop: newStopper(func() {})}
			f := &fake{}
			p := &plainChat{c: c, app: &App{Agent: f, Feed: trace.NewBus(clock.Real())}, reading: t.Context(), lines: clock.NewQueue[inputLine](clock.Real(), 4), id: "s", o: &options{}}
			for _, text := range typed {
				if ahead {
					p.ahead = append(p.ahead, inputLine{text: text})
				} else {
					p.lines.TryPut(inputLine{text: text})
				}
			}
			if len(typed) == 0 {
				p.lines.Close()
			}
			f.onSubmit = func(*fake, string, string) error { p.lines.Close(); return runtime.ErrNotStored }
			err := p.chat(t.Context())
			if err != nil || strings.Count(out.String(), "Left.") != 1 || len(f.submitted) != 0 || strings.Contains(out.String(), "/model NAME") {
				t.Errorf("%q, typed ahead %v: %v, %q, sent %q", typed, ahead, err, out.String(), f.submitted)
			}
		}
	}
}
