package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// kept keeps drafts in memory.
type kept struct {
	draft runtime.Draft
	aside []string // what this process keeps aside
	err   error
}

func (k *kept) Draft(context.Context, string) (runtime.Draft, error) { return k.draft, nil }

func (k *kept) SaveDraft(_ context.Context, _ string, d runtime.Draft) error {
	k.draft = d
	return nil
}

func (k *kept) KeepAside(_ context.Context, _ string, a runtime.Aside) error {
	if k.err == nil {
		k.aside = slices.Clone(a.Texts)
	}
	return k.err
}

// A line that the store does not take at once is told, and kept aside until it is stored; one that is never stored stays there, and
// with it what came before.
func TestPlainKeepsWhatIsNotStored(t *testing.T) {
	sim := clock.NewSim(time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC))
	var out strings.Builder
	in := Terminal
	k := &kept{}
	f := &fake{}
	reading, stop := sim.WithCancel(context.Background())
	c := &command{prog: Program{Clock: sim}, proc: Process{In: in}, out: newOutput(&out), stop: newStopper(func() {})}
	p := &plainChat{c: c, app: &App{Agent: f, Drafts: k, Feed: trace.NewBus(sim)}, reading: reading, id: "s", o: &options{}}
	var during []string
	takes := func(d time.Duration, err error) {
		f.onSubmit = func(*fake, string, string) error {
			if serr := sim.Sleep(context.Background(), d); serr != nil {
				return serr
			}
			during = slices.Clone(k.aside)
			return err
		}
	}
	send := func(text string) (err error) {
		out.Reset()
		sim.Run(func() { err = p.submit(context.Background(), "composed "+text, text) })
		return err
	}
	full := errors.New("the disk is full")
	takes(slowStore/2, nil)
	if err := send("quick"); err != nil || len(k.aside)+len(during) > 0 || out.Len() > 0 || f.submitted[0] != "composed quick" {
		t.Errorf("%v, kept %q, then %q, told %q, sent %q", err, during, k.aside, out.String(), f.submitted)
	}
	takes(time.Minute, nil)
	if err := send("slow"); err != nil || !slices.Equal(during, []string{"slow"}) || len(k.aside) > 0 || !strings.Contains(out.String(), "is kept if the program ends") {
		t.Errorf("%v, kept %q, then %q, told %q", err, during, k.aside, out.String())
	}
	takes(time.Minute, full)
	if err := send("never"); !errors.Is(err, full) || !slices.Equal(k.aside, []string{"never"}) {
		t.Errorf("%v, kept %q", err, k.aside)
	}
	takes(time.Minute, nil)
	if err := send("late"); err != nil || !slices.Equal(during, []string{"never", "late"}) || !slices.Equal(k.aside, []string{"never"}) {
		t.Errorf("%v, kept %q, then %q", err, during, k.aside)
	}
	k.err = full
	if err := send("lost"); err != nil || !strings.Contains(out.String(), "is lost if the program ends") {
		t.Errorf("%v, told %q", err, out.String())
	}
	k.err = nil
	p.c.proc.In = Data
	k.aside = nil
	if err := send("by a program"); err != nil || len(during) > 0 {
		t.Errorf("%v, kept %q", err, during)
	}
	p.c.proc.In = Terminal
	sim.Run(func() {
		sim.AfterFunc(30*time.Second, stop)
		if err := p.submit(context.Background(), "left", "left"); !errors.Is(err, errInterrupted) {
			t.Error(err)
		}
	})
	if !slices.Equal(k.aside, []string{"never", "left"}) {
		t.Errorf("after Ctrl+C: kept %q", k.aside)
	}
	sim.Advance(time.Hour)
}

// What was not stored is told by the next process, once, unless it was stored after all, and is then in the input of the screen.
func TestPlainTellsWhatWasNotStored(t *testing.T) {
	at := time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)
	var out strings.Builder
	k := &kept{draft: runtime.Draft{Text: "half", At: at, Aside: []runtime.Aside{{Texts: []string{"stored", "not\x1b[2J"}, At: at}}}}
	c := &command{prog: Program{Clock: clock.NewSim(at)}, proc: Process{In: Terminal}, out: newOutput(&out)}
	p := &plainChat{c: c, app: &App{Drafts: k}, id: "s", snap: runtime.Snapshot{Messages: []runtime.MessageRow{{Kind: llm.KindUser, Content: "stored", CreatedAt: at.Add(time.Second)}}}}
	p.tellUnsent(t.Context())
	if got := out.String(); strings.Count(got, "Not sent before: not") != 1 || strings.Contains(got, "stored") || strings.ContainsRune(got, 0x1b) {
		t.Errorf("told %q", got)
	}
	if k.draft.Text != "half\nnot\x1b[2J" || len(k.draft.Aside) > 0 {
		t.Errorf("kept %+v", k.draft)
	}
	out.Reset()
	p.tellUnsent(t.Context())
	if out.Len() > 0 {
		t.Errorf("told again: %q", out.String())
	}
}
