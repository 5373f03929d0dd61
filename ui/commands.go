package ui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/input"
	"vitrine/ui/words"
)

// Here stands all that waits or touches the outside. Commands run beside Update and bring a message back.

const (
	// frameTime is the least time between two batches of events: text is taken once a frame.
	frameTime = 33 * time.Millisecond
	// saidFor is how long a line of the status stays, stopAgain how soon a second Ctrl+C leaves.
	saidFor   = 6 * time.Second
	stopAgain = 2 * time.Second
	// calmAfter is how long the input must rest before a question takes keys.
	calmAfter = 500 * time.Millisecond
	// followEvery is how often a session that another process holds is read.
	followEvery = time.Second
	// newestEvents is how many events a page reads when it opens, olderMessages how many messages it pages in.
	newestEvents  = 2000
	olderMessages = 100
	// countedRuns bounds the runs whose use is summed up.
	countedRuns = 10000
	// saveWithin bounds what is still done after the screen is gone.
	saveWithin = 5 * time.Second
)

// loadTabs reads which sessions were open.
func (e *env) loadTabs() tea.Cmd {
	return func() tea.Msg {
		tabs, err := e.opts.Library.Tabs(e.ctx, e.opts.User)
		if err != nil {
			return tabsMsg{err: fmt.Errorf("read which tabs were open: %w", err)}
		}
		return tabsMsg{tabs: tabs}
	}
}

func (e *env) saveTabs(t runtime.Tabs) tea.Cmd {
	return func() tea.Msg {
		if err := e.opts.Library.SaveTabs(e.ctx, e.opts.User, t); err != nil {
			return savedMsg{fmt.Errorf("keep which tabs are open: %w", err)}
		}
		return savedMsg{}
	}
}

// mostIDs bounds the search for a session id that nobody has.
const mostIDs = 1000

// newTab makes a session under an id that is free, once that is known.
func (e *env) newTab(open []string, replace string) tea.Cmd {
	return func() tea.Msg {
		rows, err := e.opts.Library.Sessions(e.ctx, e.opts.User)
		if err != nil {
			return newTabMsg{err: fmt.Errorf("list sessions: %w", err)}
		}
		taken := append([]string(nil), open...)
		for _, r := range rows {
			taken = append(taken, r.ID)
		}
		return newIDMsg{e.opts.NewSessionID(taken), replace, taken}
	}
}

// makeTab makes the session, under another id when somebody else was faster.
func (e *env) makeTab(msg newIDMsg) tea.Cmd {
	return func() tea.Msg {
		id, taken := msg.id, slices.Clone(msg.taken)
		var err error
		for range mostIDs {
			_, err = e.opts.Agent.Open(e.ctx, id, true)
			if !errors.Is(err, runtime.ErrOtherUser) && !errors.Is(err, runtime.ErrHeld) {
				break
			}
			taken = append(taken, id) // somebody else's
			id = e.opts.NewSessionID(taken)
		}
		if err != nil {
			err = fmt.Errorf("make a session: %w", err)
		}
		return newTabMsg{id, msg.replace, err}
	}
}

// open reads a session for its page.
func (e *env) open(id string, create bool) tea.Cmd {
	return func() tea.Msg {
		snap, err := e.opts.Agent.Open(e.ctx, id, create)
		if err != nil && !errors.Is(err, runtime.ErrHeld) {
			return openedMsg{id: id, err: err}
		}
		events, err := e.opts.Library.Events(e.ctx, id, "", max(snap.Seq-newestEvents, 0), newestEvents)
		if err != nil {
			return openedMsg{id: id, err: fmt.Errorf("read events: %w", err)}
		}
		runs, err := e.opts.Library.Runs(e.ctx, id, countedRuns)
		if err != nil {
			return openedMsg{id: id, err: fmt.Errorf("read runs: %w", err)}
		}
		if snap.Messages, err = e.withOlder(id, snap); err != nil {
			return openedMsg{id: id, err: fmt.Errorf("read folded messages: %w", err)}
		}
		msg := openedMsg{id: id, snap: snap, events: events}
		for _, r := range runs {
			if r.State.Terminal() {
				msg.used.Add(r.Usage)
			}
		}
		if e.opts.Drafts == nil {
			return msg
		}
		if d, err := e.opts.Drafts.Draft(e.ctx, id); err == nil { // else it is left as it is
			msg.draft = &d
		}
		return msg
	}
}

// withOlder adds what was folded last to a snapshot's messages where these are few, or where folded steps lie between them, so
// that the boundary of the window is on the screen with something above it.
func (e *env) withOlder(id string, s runtime.Snapshot) ([]runtime.MessageRow, error) {
	rows := s.Messages
	first := s.Session.WindowFrom
	gap := len(rows) > 1 && rows[0].N < first && rows[1].N > rows[0].N+1
	if len(rows) == 0 || first <= 1 || len(rows) > olderMessages/2 && !gap || !gap && rows[0].N <= 1 {
		return rows, nil
	}
	if gap {
		rows = rows[1:]
	}
	older, err := e.opts.Library.Messages(e.ctx, id, rows[0].N, olderMessages)
	return append(older, rows...), err
}

// openSoon reads a session in a moment, when what is under way has come to rest.
func (e *env) openSoon(id string) tea.Cmd {
	return func() tea.Msg {
		if err := e.clk.Sleep(e.ctx, calmAfter); err != nil {
			return nil
		}
		return e.open(id, false)()
	}
}

// lookSoon reads a session whose run could not be stored, when another process has taken it over meanwhile.
func (e *env) lookSoon(id string) tea.Cmd {
	return func() tea.Msg {
		if err := e.clk.Sleep(e.ctx, calmAfter); err != nil { // the run comes to its end
			return nil
		}
		rows, err := e.opts.Library.Sessions(e.ctx, e.opts.User)
		for _, r := range rows {
			if err == nil && r.ID == id && r.HeldBy != 0 && !r.Own {
				return e.open(id, false)()
			}
		}
		return nil // the next thing that is asked of the store says why
	}
}

// older pages in messages before n.
func (e *env) older(id string, n int64) tea.Cmd {
	return func() tea.Msg {
		rows, err := e.opts.Library.Messages(e.ctx, id, n, olderMessages)
		return olderMsg{id, rows, err}
	}
}

// submit sends a text, with the files that it names; known says which names were files while it was typed.
func (e *env) submit(id, text string, known map[string]bool) tea.Cmd {
	return func() tea.Msg {
		return submittedMsg{id, text, e.opts.Agent.Submit(e.ctx, id, attach.Compose(input.Plain(text), e.attached(text, known)))}
	}
}

func (e *env) withdraw(id, inboxID string) tea.Cmd {
	return func() tea.Msg {
		text, err := e.opts.Agent.Withdraw(e.ctx, id, inboxID)
		return withdrawnMsg{id, text, err}
	}
}

// cancel stops a run.
func (e *env) cancel(id string) tea.Cmd {
	return func() tea.Msg {
		e.opts.Agent.Cancel(id)
		return nil
	}
}

func (e *env) set(id string, what words.Text, s runtime.Setting) tea.Cmd {
	return func() tea.Msg { return setMsg{id: id, what: what, err: e.opts.Agent.Set(e.ctx, id, s)} }
}

// renameStored renames a session that may be open in no tab.
func (e *env) renameStored(page, id, title string) tea.Cmd {
	return func() tea.Msg {
		const what words.Text = "rename the session"
		if _, err := e.opts.Agent.Open(e.ctx, id, false); err != nil {
			return setMsg{id: page, what: what, err: err}
		}
		err := e.opts.Agent.Set(e.ctx, id, runtime.Setting{Title: &title})
		return setMsg{id: page, what: what, err: errors.Join(err, e.opts.Agent.Close(e.ctx, id))}
	}
}

var errRunning = errors.New("a turn is running: its trace shows what was sent")

// context reads what the next request holds.
func (e *env) context(id string) tea.Cmd {
	return func() tea.Msg {
		v, err := e.opts.Agent.Context(e.ctx, id)
		if err == nil && v.Running {
			err = errRunning
		}
		return contextMsg{id, v, err}
	}
}

func (e *env) listSessions(page string) tea.Cmd {
	return func() tea.Msg {
		rows, err := e.opts.Library.Sessions(e.ctx, e.opts.User)
		return sessionsMsg{page, rows, err}
	}
}

func (e *env) deleteSession(page, id string) tea.Cmd {
	return func() tea.Msg { return deletedMsg{page, id, e.opts.Library.DeleteSession(e.ctx, id, e.opts.User)} }
}

// closeSession gives a session up, and keeps what was typed in it when that is not nil. How says what becomes of a run: it goes on
// to its end, is cancelled, or is left.
func (e *env) closeSession(id string, how ending, typed *runtime.Draft) tea.Cmd {
	return func() tea.Msg {
		var err error
		switch how {
		case endCancel:
			e.opts.Agent.Cancel(id)
		case endLeave:
			err = e.opts.Agent.Set(e.ctx, id, runtime.Setting{Leave: true})
		}
		if typed != nil {
			err = errors.Join(err, e.keepLast(e.ctx, id, *typed))
		}
		return closedMsg{id, errors.Join(err, e.opts.Agent.Close(e.ctx, id))}
	}
}

// shutdown keeps the tabs and what was typed in sessions, and ends the engine.
func (e *env) shutdown(t runtime.Tabs, typed map[string]runtime.Draft, leave bool) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := e.clk.WithTimeout(context.WithoutCancel(e.ctx), saveWithin)
		defer cancel()
		err := e.opts.Library.SaveTabs(ctx, e.opts.User, t)
		for id, d := range typed {
			err = errors.Join(err, e.keepLast(ctx, id, d))
		}
		return shutdownMsg{errors.Join(err, e.opts.Agent.Shutdown(e.ctx, leave))}
	}
}

// pump waits for the next batch of events, at the earliest a frame after the last one.
func (e *env) pump(sub *trace.Subscription, last time.Time) tea.Cmd {
	return func() tea.Msg {
		if d := frameTime - e.clk.Now().Sub(last); d > 0 {
			if err := e.clk.Sleep(e.ctx, d); err != nil {
				return nil
			}
		}
		batch, err := sub.Next(e.ctx)
		if e.ctx.Err() != nil {
			return nil
		}
		return eventsMsg{events: batch.Events, missed: slices.Sorted(maps.Keys(batch.Missed)), err: err}
	}
}

// tick waits for the next phase of what moves.
func (e *env) tick(length time.Duration) tea.Cmd {
	return func() tea.Msg {
		now := e.clk.Now()
		if err := e.clk.Sleep(e.ctx, now.Truncate(length).Add(length).Sub(now)); err != nil {
			return nil
		}
		return tickMsg{}
	}
}

// after brings a message in a while.
func (e *env) after(d time.Duration, msg tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if err := e.clk.Sleep(e.ctx, d); err != nil {
			return nil
		}
		return msg
	}
}

// watchNotices waits for the next condition of the program.
func (e *env) watchNotices() tea.Cmd {
	if e.opts.Notices == nil {
		return nil
	}
	return func() tea.Msg {
		n, err := e.opts.Notices(e.ctx)
		if e.ctx.Err() != nil {
			return nil
		}
		return noticeMsg{n, err}
	}
}

// watchFaults waits for a panic in the background; the guard takes it.
func (e *env) watchFaults() tea.Cmd {
	if e.opts.Faults == nil {
		return nil
	}
	return func() tea.Msg {
		value, stack, err := e.opts.Faults(e.ctx)
		if err != nil {
			return nil
		}
		return faultMsg{&PanicError{Where: inBackground, Value: value, Stack: stack}}
	}
}
