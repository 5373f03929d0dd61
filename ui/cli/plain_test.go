package cli

import (
	"strings"
	"testing"

	"vitrine/runtime"
	"vitrine/runtime/clock"
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

// A line that is too long is an error, not an end.
func TestALineTooLong(t *testing.T) {
	c := &command{prog: Program{Clock: clock.Real()}, proc: Process{In: Data, Stdin: strings.NewReader(strings.Repeat("x", inputLimit+1))}, out: newOutput(&strings.Builder{}), stop: newStopper(func() {})}
	p := &plainChat{c: c, reading: t.Context(), lines: c.readLines(t.Context())}
	if text, err := p.message(); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// Who leaves is told once that the session is kept: at the end of the input, which /quit is too.
func TestLeavingIsToldOnce(t *testing.T) {
	for _, typed := range []string{"/quit", "/exit", ""} {
		var out strings.Builder
		c := &command{prog: Program{Clock: clock.Real()}, proc: Process{In: Data}, out: newOutput(&out), stop: newStopper(func() {})}
		p := &plainChat{c: c, reading: t.Context(), lines: clock.NewQueue[inputLine](clock.Real(), 4), id: "s", o: &options{}}
		if typed != "" {
			p.lines.TryPut(inputLine{text: typed})
		} else {
			p.lines.Close()
		}
		if err := p.chat(t.Context()); err != nil || strings.Count(out.String(), "Left.") != 1 {
			t.Errorf("%q: %v, %q", typed, err, out.String())
		}
	}
}
