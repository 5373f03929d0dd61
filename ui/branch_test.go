package ui

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
)

// e on an input opens a session of its own, which has what came before it, and the input to be edited; the session itself stays as it
// is. It works for folded turns too, and the new session goes on, also after a restart.
func TestEditAnEarlierInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	p := newFolding(t, path, start, 120, 36, runtime.FoldAuto, false)
	p.m.env.opts.Branch, p.m.env.opts.Drafts = p.st, p.st
	texts := []string{"remember that the deploy is on Friday", "remember that the code word is falcon", "什么是上下文窗口？", "what is (17+5)*3?", "what is the code word?"}
	for _, text := range texts {
		p.enter(text)
		p.pass(20 * time.Second)
	}
	old := p.id()
	messages := len(p.stored(old))
	p.press("tab", "k", "e")
	p.sees("j and k choose one of your inputs to edit") // the answer is selected
	for p.selectedTurn() != 2 || !p.selectedInput() {
		p.press("k")
	}
	p.press("e")
	p.pass(time.Second)
	fresh := p.id()
	if fresh == old || len(p.m.pages) != 2 {
		t.Fatalf("it is still %s in one of %d tabs", fresh, len(p.m.pages))
	}
	p.sees("remember that the deploy i", "from turn 2", "a session of its own, from turn 2; the one before stays as it is")
	p.sees("what it cost until then counts there", "120 ms   1 step   923 tokens", "▾ step 1       ⠶⠶⠶⠶ 120 ms    923", "tokens in         -")
	if u := p.spent(old); u.Prompt == 0 || p.spent(fresh).Prompt != 0 {
		t.Errorf("used by the session %+v, by the branch %+v", u, p.spent(fresh))
	}
	if got := p.m.page().edit.Text(); got != texts[1] {
		t.Errorf("the input holds %q", got)
	}
	if p.m.page().title != "remember that the deploy is on Friday, from turn 2" {
		t.Errorf("title %q", p.m.page().title)
	}
	p.press("ctrl+w")
	p.typed("heron")
	p.press("enter")
	p.pass(20 * time.Second)
	p.enter("when is the deploy, and what is the code word?")
	p.pass(20 * time.Second)
	p.sees("Friday", "heron", "turn 3")
	p.seesNot("falcon")
	if n := len(p.stored(old)); n != messages {
		t.Errorf("the old session has %d messages, it had %d", n, messages)
	}
	p.press("alt+1")
	p.sees("falcon")
	p.press("ctrl+x", "w", "enter")
	p.pass(time.Second)
	p.leave()
	again := newFolding(t, path, start.Add(time.Hour), 120, 36, runtime.FoldAuto, false)
	again.enter("what is the code word?")
	again.pass(20 * time.Second)
	again.sees("heron")
	again.leave()
}

// spent is what the runs of a session used.
func (p *folding) spent(id string) (sum runtime.RunUsage) {
	p.t.Helper()
	p.sim.Run(func() {
		runs, err := p.st.Runs(p.t.Context(), id, 1000)
		if err != nil {
			p.t.Error(err)
		}
		for _, r := range runs {
			sum.Add(r.Usage)
		}
	})
	return sum
}

// stored are the messages of a session in the store.
func (p *folding) stored(id string) (out []runtime.MessageRow) {
	p.t.Helper()
	p.sim.Run(func() {
		var err error
		if out, err = p.st.Messages(p.t.Context(), id, 0, 1000); err != nil {
			p.t.Error(err)
		}
	})
	return out
}

func (p *folding) selectedTurn() int {
	at, _ := p.m.page().columns.chat.Selected()
	return at.Turn
}

func (p *folding) selectedInput() bool {
	_, ok := p.m.page().columns.chat.UserMessage(false)
	return ok
}

// A branch that cannot be made is told, and nothing is opened.
func TestABranchThatCannotBeMade(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("hello")
	d.f.answer(d.id())
	d.short()
	d.press("tab", "k", "k", "e")
	d.sees("sessions cannot be branched here")
	d.press("i", "ctrl+p")
	d.typed("edit an earlier")
	if !strings.Contains(d.screen(), "Edit an earlier input in a new session") {
		t.Error("the palette has no such command")
	}
}
