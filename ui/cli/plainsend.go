package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/ui"
)

// Here the lines of `vitrine --plain` go to the engine. One that the store does not take at once is kept aside meanwhile, as on the
// screen, so that a kill does not take it.

// slowStore is how long a line may wait to be stored until that is told.
const slowStore = time.Second

// sent is what became of a line: it still waits, or err says how it ended.
type sent struct {
	waits bool
	err   error
}

// submit gives a message to the engine, typed is what the user wrote of it. It waits until that is stored, or the user wants no more.
func (p *plainChat) submit(ctx context.Context, text, typed string) error {
	clk := p.c.prog.Clock
	q := clock.NewQueue[sent](clk, 2)
	timer := clk.AfterFunc(slowStore, func() { q.TryPut(sent{waits: true}) })
	defer timer.Stop()
	ctx, stop := clk.WithCancel(ctx)
	defer stop()
	clk.Go(func() { q.TryPut(sent{err: p.app.Agent.Submit(ctx, p.id, text)}) })
	before := p.unsent
	for {
		got, err := q.Get(p.reading)
		switch {
		case err != nil:
			p.unsent = append(slices.Clone(before), typed)
			if p.keepAside(ctx) {
				p.c.out.line("The message may not be stored; if so it is in the input when the screen opens the session.")
			}
			return errInterrupted
		case got.waits:
			p.unsent = append(slices.Clone(before), typed)
			if p.keepAside(ctx) {
				p.c.out.line("Not stored yet: the message waits, and is kept if the program ends. Ctrl+C leaves.")
			} else {
				p.c.out.line("Not stored yet: the message waits, and is lost if the program ends. Ctrl+C leaves.")
			}
			continue
		case got.err == nil && len(p.unsent) > len(before):
			p.unsent = before
			p.keepAside(ctx)
		}
		return got.err
	}
}

// keepAside keeps what is not sent beside the store; it says whether that went well.
func (p *plainChat) keepAside(ctx context.Context) bool {
	if p.app.Drafts == nil || p.c.proc.In != Terminal { // what a program wrote it can write again
		return false
	}
	return p.app.Drafts.KeepAside(context.WithoutCancel(ctx), p.id, runtime.Aside{Texts: p.unsent, At: p.c.prog.Clock.Now()}) == nil
}

// tellUnsent tells once what an earlier process could not store, and puts it into the input of the screen.
func (p *plainChat) tellUnsent(ctx context.Context) {
	if p.app.Drafts == nil || p.c.proc.In != Terminal {
		return
	}
	d, err := p.app.Drafts.Draft(ctx, p.id)
	if err != nil {
		return // it is left as it is
	}
	all := []string{d.Text}
	for _, a := range d.Aside {
		for _, text := range a.Texts {
			if ui.WasSent(runtime.Draft{Text: text, At: a.At}, p.snap) {
				continue
			}
			p.c.out.line("Not sent before: %s", text)
			all = append(all, text)
		}
	}
	if len(d.Aside) > 0 {
		text := strings.TrimLeft(strings.Join(all, "\n"), "\n")
		_ = p.app.Drafts.SaveDraft(ctx, p.id, runtime.Draft{Text: text, At: p.c.prog.Clock.Now()}) // else it is told once more
	}
}
