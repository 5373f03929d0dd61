package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/tools"
	"vitrine/trace"
)

// fake is an App whose agent plays a script of events.
type fake struct {
	clk   clock.Clock
	bus   *trace.Bus
	rows  []runtime.SessionInfo
	msgs  []runtime.MessageRow
	evs   []trace.Event
	runs  []runtime.RunRow
	offer Offer

	// onSubmit makes what follows a submit; onCancel what follows a cancel.
	onSubmit  func(f *fake, session, text string) error
	onCancel  func(f *fake, session string)
	openErr   map[string]error
	snaps     map[string]runtime.Snapshot
	submitted []string
	opened    []string
	closed    int
	deleted   []string
	tabs      runtime.Tabs
	pruned    []runtime.SessionInfo
	pruneErr  error
	space     Space
	shrinkErr error
	set       []runtime.Setting
	notices   []string
	screen    func(ctx context.Context, o ScreenOptions) error
	loadErr   error
	options   []OpenOptions
}

func (f *fake) Open(_ context.Context, id string, _ bool) (runtime.Snapshot, error) {
	f.opened = append(f.opened, id)
	snap := f.snaps[id]
	snap.Session.ID = id
	return snap, f.openErr[id]
}
func (f *fake) Close(context.Context, string) error { return nil }
func (f *fake) Submit(_ context.Context, id, text string) error {
	f.submitted = append(f.submitted, text)
	if f.onSubmit == nil {
		return nil
	}
	return f.onSubmit(f, id, text)
}
func (f *fake) Cancel(id string) {
	if f.onCancel != nil {
		f.onCancel(f, id)
	}
}
func (f *fake) Withdraw(context.Context, string, string) (string, error) { return "", nil }
func (f *fake) Set(_ context.Context, _ string, s runtime.Setting) error {
	f.set = append(f.set, s)
	return nil
}
func (f *fake) Shutdown(context.Context, bool) error { return nil }

func (f *fake) Sessions(context.Context, string) ([]runtime.SessionInfo, error) {
	return f.rows, f.loadErr
}
func (f *fake) Messages(_ context.Context, _ string, before int64, limit int) ([]runtime.MessageRow, error) {
	end := len(f.msgs)
	for before > 0 && end > 0 && f.msgs[end-1].N >= before {
		end--
	}
	return f.msgs[max(0, end-limit):end], nil
}
func (f *fake) Events(_ context.Context, session, run string, after int64, limit int) ([]trace.Event, error) {
	var out []trace.Event
	for _, e := range f.evs {
		if e.SessionID == session && e.Seq > after && (run == "" || e.RunID == run) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}
func (f *fake) Runs(_ context.Context, session string, limit int) ([]runtime.RunRow, error) {
	var out []runtime.RunRow
	for _, r := range f.runs {
		if r.SessionID == session && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, nil
}
func (f *fake) Todos(context.Context, string) ([]tools.Todo, error) { return nil, nil }
func (f *fake) DeleteSession(_ context.Context, id, _ string) error {
	f.deleted = append(f.deleted, id)
	return nil
}
func (f *fake) Tabs(context.Context, string) (runtime.Tabs, error)   { return f.tabs, nil }
func (f *fake) SaveTabs(context.Context, string, runtime.Tabs) error { return nil }
func (f *fake) Subscribe(buffer int) *trace.Subscription             { return f.bus.Subscribe(buffer) }

// prune deletes all but sessions of the id "busy".
func (f *fake) prune(_ context.Context, _ string, list []runtime.SessionInfo) (sessions int, messages int64, err error) {
	for _, s := range list {
		if s.ID != "busy" {
			f.pruned = append(f.pruned, s)
			sessions, messages = sessions+1, messages+s.Messages
		}
	}
	return sessions, messages, f.pruneErr
}
func (f *fake) shrink(context.Context) (Space, error) { return f.space, f.shrinkErr }

// store gives an event its seq and keeps it.
func (f *fake) store(session, run string, d trace.Data) trace.Event {
	seq := int64(1)
	for _, e := range f.evs {
		if e.SessionID == session {
			seq = e.Seq + 1
		}
	}
	e := trace.Event{TS: f.clk.Now(), Seq: seq, SessionID: session, RunID: run, Turn: 1, Name: d.EventName(), Data: d}
	f.evs = append(f.evs, e)
	return e
}

func (f *fake) publish(session, run string, data ...trace.Data) {
	for _, d := range data {
		switch d.(type) {
		case trace.StateData, trace.DeltaData, trace.RetryData, trace.ProgressData:
			f.bus.Publish(trace.Event{TS: f.clk.Now(), SessionID: session, RunID: run, Turn: 1, Name: d.EventName(), Data: d})
		default:
			f.bus.Publish(f.store(session, run, d))
		}
	}
}

// answers is a whole run that answers with text.
func answers(text string) func(*fake, string, string) error {
	return func(f *fake, session, input string) error {
		f.publish(session, "run-1", trace.RunStartData{Input: input}, trace.DeltaData{Kind: "text", Text: text},
			trace.LLMCallData{Text: text}, trace.AnswerData{Text: text}, trace.RunEndData{State: "succeeded"})
		return nil
	}
}

// outcome is what a call of the program left.
type outcome struct {
	code     int
	out, err string
}

// bench is a program around a fake.
type bench struct {
	t    *testing.T
	sim  *clock.Sim
	f    *fake
	prog Program
	proc Process
	out  strings.Builder
	err  strings.Builder
	sig  func(Signal)
}

func newBench(t *testing.T) *bench {
	sim := clock.NewSim(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	b := &bench{t: t, sim: sim, f: &fake{clk: sim, bus: trace.NewBus(sim), openErr: map[string]error{}, snaps: map[string]runtime.Snapshot{}}}
	b.prog = Program{
		Clock: sim,
		Open: func(_ context.Context, _ config.Config, _ clock.Clock, o OpenOptions) (*App, error) {
			b.f.options = append(b.f.options, o)
			return &App{Agent: b.f, Library: b.f, Feed: b.f, Screen: b.f.screen, Prune: b.f.prune, Shrink: b.f.shrink,
				Notices: func() []string { n := b.f.notices; b.f.notices = nil; return n },
				Close:   func(context.Context) error { b.f.closed++; return nil }}, nil
		},
		Inspect: func(context.Context, config.Config) StoreState {
			return StoreState{Path: "/w/data/sessions.db", Exists: true, Bytes: 4097, Text: "version 1"}
		},
		Describe: func(config.Config) [][]string {
			return [][]string{{"profile", "generic (nothing fits better)"}, {"price", "unknown"}}
		},
		Models:  func(context.Context, config.Config) Offer { return b.f.offer },
		Reach:   func(context.Context, config.Config) (string, error) { return "it answers", nil },
		Signals: func(f func(Signal)) func() { b.sig = f; return func() {} },
	}
	b.proc = Process{
		Login: func() string { return "ada" }, ConfigDirErr: errors.New("no home"), Folder: "/w", Stdin: strings.NewReader(""),
		Stdout: &b.out, Stderr: &b.err, Version: "v1", Environ: []string{"TERM=xterm"},
	}
	return b
}

func (b *bench) run(args ...string) outcome {
	b.out.Reset()
	b.err.Reset()
	b.proc.Args = args
	code := -1
	b.sim.Run(func() { code = b.prog.Execute(context.Background(), b.proc) })
	return outcome{code, b.out.String(), b.err.String()}
}

func (b *bench) want(got outcome, code int, out, err string) {
	b.t.Helper()
	if got.code != code || !strings.Contains(got.out, out) || !strings.Contains(got.err, err) {
		b.t.Errorf("%v: %+v, want code %d, out %q, err %q", b.proc.Args, got, code, out, err)
	}
	if code != 0 && err == "" && got.err != "" {
		b.t.Errorf("unexpected error text %q", got.err)
	}
}

// failing is a writer that takes some bytes and then fails.
type failing struct {
	room int
	err  error
	got  strings.Builder
}

func (w *failing) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	w.got.Write(p[:n])
	if n < len(p) {
		return n, fmt.Errorf("write stdout: %w", w.err)
	}
	return n, nil
}

// never is standard input that nobody writes to: reading it would wait for ever.
type never struct{ t *testing.T }

func (n never) Read([]byte) (int, error) {
	n.t.Error("standard input is read")
	return 0, io.EOF
}

func (f *fake) Context(context.Context, string) (runtime.ContextView, error) {
	return runtime.ContextView{}, runtime.ErrNotFound
}
