package runtime

import (
	"context"
	"fmt"
	"sync"

	"vitrine/trace"
)

// caps is how an event tells a budget.
func (b Budget) caps() *trace.Caps {
	return &trace.Caps{Steps: b.Steps, Calls: b.Calls, Tokens: b.Tokens, Cost: b.Cost, DeadlineMS: b.Deadline.Milliseconds()}
}

// account is what a run and all runs that it started use together; each of them is held to its own budget by the sum. It is safe for
// concurrent use.
type account struct {
	mu   sync.Mutex
	used map[string]RunUsage // by run, as it was told last
}

// with takes in what a run has used until now and gives the sum over all.
func (a *account) with(run string, use RunUsage) RunUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used == nil {
		a.used = map[string]RunUsage{}
	}
	a.used[run] = use
	for other, u := range a.used {
		if other != run {
			u.Active = 0 // a run lasts as long as those that it waits for: their time is in its own
			use.Add(u)
		}
	}
	return use
}

// accountOf is the account that a run of this session is counted in: that of the run that started it, or a new one.
func (s *session) accountOf(row RunRow) *account {
	if r := s.running(); r != nil && row.ParentRun != "" && row.ParentRun == r.row.ID {
		return r.shared
	}
	return &account{}
}

// use is what counts against the run's budget: its own use and that of all runs that it started.
func (r *run) use() RunUsage { return r.shared.with(r.row.ID, r.row.Usage) }

// restoreAccount takes up what runs used that this one had started in an earlier process.
func (r *run) restoreAccount(ctx context.Context) error {
	mem := r.s.eng.cfg.Memory
	if mem == nil {
		return nil
	}
	rows, err := mem.Started(ctx, r.row.ID)
	if err != nil {
		return fmt.Errorf("read what run %s started: %w", r.row.ID, err)
	}
	for _, row := range rows {
		r.shared.with(row.ID, row.Usage)
	}
	return nil
}
