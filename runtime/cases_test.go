package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
)

// A transaction that the store refuses takes no result with it: what it held of the step's calls is stored with the run's end.
func TestRefusedCommitLosesNoResult(t *testing.T) {
	for refused := 3; refused <= 4; refused++ { // the first of two results, then both
		b := newBed(t, scripted.Calls(
			scripted.Call{Name: "note", Args: `{"text":"a"}`}, scripted.Call{Name: "note", Args: `{"text":"b"}`}).When("go"), scripted.Text("fine"))
		n := 0
		b.store.fail = func(_ runtime.Tx, after bool) error {
			if !after {
				n++
			}
			if n == refused && !after {
				return runtime.ErrConstraint
			}
			return nil
		}
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "failed" || end.Reason != "internal" {
				t.Errorf("end = %+v", end)
			}
			b.ask(ctx, "s", "next")
		})
		for _, c := range b.store.sessions["s"].calls {
			if c.Result == nil {
				t.Errorf("commit %d refused: %s %s has no result", refused, c.Name, c.Arguments)
			}
		}
		if got := len(b.store.sessions["s"].todos); got != len(b.ran) {
			t.Errorf("commit %d refused: %d of %d todos are stored", refused, got, len(b.ran))
		}
		b.checkHistory("s")
	}
}

// A session that was lost in the middle of a turn and is opened again: the turn of before ends, and writes nothing more. It is
// told of as interrupted, and a further message works.
func TestLostInTheMiddleOfATurn(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":5000}`}).When("go"), scripted.Text("fine"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		s := b.store.sessions["s"]
		s.row.Fence.Epoch++
		if err := b.eng.Submit(ctx, "s", "queued"); !errors.Is(err, runtime.ErrFenced) {
			t.Fatalf("submit: %v", err)
		}
		commits := len(b.store.commits)
		if _, err := b.eng.Open(ctx, "s", false); !errors.Is(err, runtime.ErrFenced) {
			t.Errorf("opened while the turn of before is on: %v", err)
		}
		if err := b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if len(b.store.commits) != commits {
			t.Error("the turn that was lost wrote on")
		}
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || snap.Running || snap.Run == nil || !strings.Contains(snap.Notice, "interrupted") {
			t.Fatalf("%+v %v", snap.Run, err)
		}
		if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	closings := 0
	for _, m := range b.messages("s") {
		if m.Kind == llm.KindClosing {
			closings++
		}
	}
	if closings != 1 {
		t.Errorf("%d closing messages", closings)
	}
	b.checkHistory("s")
}
