package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/words"
)

// followBuffer is how many events may wait; a run without a screen has few besides deltas.
const followBuffer = 4096

// firstLineMost is how much of a queued input is shown.
const firstLineMost = 60

// follower watches one run from its start to its end and prints it.
type follower struct {
	c    *command
	app  *App
	id   string // the session
	json bool
	sub  *trace.Subscription
	// ahead is how many queued inputs have their turn before ours.
	ahead int
	// seq is the last stored event that was taken.
	seq int64
	// runID is our run, current the one that runs now.
	runID, current string
	// closing is the turn's last message; how it is printed depends on the end of the run, which comes after it.
	closing *trace.AnswerData
	asked   map[string]bool // questions that were told
	told    bool            // the user knows of a failure
	end     error
	done    bool
	// plain answers questions at once; nil: the run is left with them.
	plain     *plainChat
	questions []trace.ApprovalData
	// user is who was named with --user; empty is the login name.
	user string
}

func newFollower(c *command, app *App, id string, asJSON bool, ahead int) *follower {
	return &follower{c: c, app: app, id: id, json: asJSON, ahead: ahead, asked: map[string]bool{}, sub: app.Feed.Subscribe(followBuffer)}
}

func (f *follower) close() { f.sub.Close() }

// follow reads events until the run is over or waits for the user.
func (f *follower) follow(ctx context.Context) error {
	for !f.done {
		batch, err := f.sub.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			return fmt.Errorf("follow the run: %w", err)
		}
		for _, ev := range batch.Events {
			if err := f.offer(ctx, ev); err != nil {
				return err
			}
		}
		if after, ok := batch.Missed[f.id]; ok {
			f.seq = max(f.seq, after)
			if err := f.catchUp(ctx); err != nil {
				return err
			}
		}
		for ; len(f.questions) > 0 && !f.done; f.questions = f.questions[1:] {
			if err := f.plain.question(ctx, f.questions[0]); err != nil {
				return err
			}
		}
	}
	var run *RunError
	if errors.As(f.end, &run) && run.State == runtime.StateReconciling {
		return f.unknown(ctx)
	}
	return f.end
}

// unknown names the calls that a run waits for, of which nobody can tell what became of them. The run is over in this process
// first; then the session says what is open.
func (f *follower) unknown(ctx context.Context) error {
	if err := f.app.Agent.Close(ctx, f.id); err != nil {
		return errors.Join(f.end, fmt.Errorf("close session %s: %w", f.id, err))
	}
	snap, err := f.app.Agent.Open(ctx, f.id, false)
	if err != nil {
		return errors.Join(f.end, err)
	}
	if open := runtime.UnknownCalls(snap.Calls); len(open) > 0 {
		return &runtime.OutcomeError{Calls: open}
	}
	return f.end
}

// offer takes one event of the subscription. A stored one that does not follow the last is a sign that some were missed:
// they are read from the store.
func (f *follower) offer(ctx context.Context, ev trace.Event) error {
	if ev.SessionID != f.id || f.done {
		return nil
	}
	if ev.Seq == 0 {
		return f.take(ev)
	}
	switch {
	case ev.Seq <= f.seq:
		return nil
	case f.seq > 0 && ev.Seq > f.seq+1:
		return f.catchUp(ctx)
	}
	f.seq = ev.Seq
	return f.take(ev)
}

// catchUp reads what was missed.
func (f *follower) catchUp(ctx context.Context) error {
	for !f.done {
		page, err := f.app.Library.Events(ctx, f.id, "", f.seq, pageSize)
		if err != nil {
			return fmt.Errorf("read missed events of session %s: %w", f.id, err)
		}
		for _, ev := range page {
			f.seq = ev.Seq
			if err := f.take(ev); err != nil {
				return err
			}
			if f.done {
				return nil
			}
		}
		if len(page) < pageSize {
			return nil
		}
	}
	return nil
}

// take handles one event in order.
func (f *follower) take(ev trace.Event) error {
	if d, ok := ev.Data.(trace.RunStartData); ok && f.runID == "" && d.EventName() == trace.RunStart {
		f.current = ev.RunID
		if f.ahead > 0 {
			f.ahead--
			f.c.err.line("vitrine: input that was queued before runs first: %s", firstLine(attach.Text(d.Input)))
		} else {
			f.runID = ev.RunID
		}
	}
	if ev.RunID == "" || ev.RunID != f.runID {
		f.aside(ev)
		return nil
	}
	if f.json && (ev.Seq > 0 || ev.Name == trace.Retry) {
		if err := f.c.jsonLine(ev); err != nil {
			return err
		}
	}
	f.ours(ev)
	return nil
}

// aside handles what belongs to the session or to a run before ours.
func (f *follower) aside(ev trace.Event) {
	switch d := ev.Data.(type) {
	case trace.ErrorData:
		f.c.err.line("vitrine: %s", describeEvent(f.c.lang, d))
	case trace.RunEndData:
		// After a run that the model failed the queue stands still: ours would never come.
		if ev.RunID == f.current && f.runID == "" && runtime.State(d.State) == runtime.StateFailed {
			f.finish(&RunError{State: runtime.StateFailed, Reason: runtime.Reason(d.Reason), SessionID: f.id, User: f.user})
			f.c.err.line("vitrine: a turn that was queued before failed; the new prompt stays queued in session %s", f.id)
		}
	}
}

// ours handles an event of our run.
func (f *follower) ours(ev trace.Event) {
	switch d := ev.Data.(type) {
	case trace.AnswerData:
		f.closing = &d
	case trace.ToolCallData:
		if f.plain != nil && d.Status == string(runtime.CallStarted) {
			f.c.out.line("Calling %s with %s", d.Tool, paint.Reveal(string(d.Arguments)))
		}
	case trace.ToolResultData:
		if f.plain != nil {
			f.c.out.line("%s: %s", d.Tool, f.resultWord(d))
			return
		}
		f.progress("%s   %s", d.Tool, f.resultWord(d))
	case trace.ApprovalData:
		if d.Phase == "asked" && !f.asked[d.ID] {
			f.asked[d.ID] = true
			if f.plain != nil {
				f.questions = append(f.questions, d)
				return
			}
			f.question(d)
			f.c.err.line("vitrine: vitrine run%s --session %s --approve %s | --deny %s", asUser(f.user), f.id, d.ID, d.ID)
		}
	case trace.RetryData:
		what := f.c.lang.Tell(d.Text())
		if d.Tool != "" {
			what = d.Tool + ": " + what
		}
		f.c.err.line("vitrine: %s; %s", what, f.waitText(d))
	case trace.ErrorData:
		f.told = f.told || d.Code != "saved"
		f.c.err.line("vitrine: %s", describeEvent(f.c.lang, d))
	case trace.NoticeData:
		f.c.err.line("vitrine: %s", describeEvent(f.c.lang, trace.ErrorData{Message: d.Message, Why: d.Why, Todo: d.Todo}))
	case trace.StateData:
		f.state(d)
	case trace.RunEndData:
		state := runtime.State(d.State)
		f.answer(state)
		if state == runtime.StateSucceeded {
			f.finish(nil)
			return
		}
		f.finish(&RunError{State: state, Reason: runtime.Reason(d.Reason), Told: f.told, SessionID: f.id, User: f.user})
	}
}

// question shows what waits for the user's word as it would run: nothing in it may be hidden.
func (f *follower) question(d trace.ApprovalData) {
	f.c.err.line("vitrine: %s waits for your word: %s", d.Tool, paint.Reveal(string(d.Arguments)))
	if d.Preview == "" {
		return
	}
	for row := range strings.Lines(paint.RevealLines(d.Preview)) {
		f.c.err.line("  %s", strings.TrimSuffix(row, "\n"))
	}
}

// state ends the following where the run stands still without an end: it waits for the user, or it could not be stored.
func (f *follower) state(d trace.StateData) {
	state, reason := runtime.State(d.State), runtime.Reason(d.Reason)
	switch {
	case state == runtime.StateWaitingApproval && reason == runtime.ReasonPaused, // words that were given are used up
		state == runtime.StateReconciling && reason == runtime.ReasonOutcome,
		state == runtime.StateFailed && reason == runtime.ReasonStore:
		f.finish(&RunError{State: state, Reason: reason, Told: f.told, SessionID: f.id, User: f.user})
	}
}

func (f *follower) finish(err error) {
	f.done, f.end = true, err
	if f.json || f.c.out.err == nil || f.c.out.gone() {
		return
	}
	f.end = errors.Join(err, &OutputError{Err: f.c.out.err, Do: "the answer is stored: vitrine sessions show " + f.id + asUser(f.user)})
}

// answer prints the turn's closing text. Standard output gets an answer only; what a stopped run had written so far goes to
// standard error, and our own closing texts say no more than the error does.
func (f *follower) answer(state runtime.State) {
	if f.json || f.closing == nil {
		return
	}
	text := strings.TrimRight(f.closing.Text, "\r\n")
	switch {
	case state == runtime.StateSucceeded:
		f.c.out.raw(cleanKeepTabs(text) + "\n")
	case !f.closing.Fixed:
		f.c.err.raw(cleanKeepTabs(text) + "\n")
	}
}

// progress tells a person who waits what is going on.
func (f *follower) progress(format words.Text, args ...any) {
	if f.c.proc.Err == Terminal && !f.json {
		f.c.err.line(format, args...)
	}
}

func (f *follower) resultWord(d trace.ToolResultData) string {
	switch {
	case d.Summary != "":
		return f.c.lang.Tell(d.Summary)
	case d.OK:
		return f.c.T("done")
	case d.Code != "":
		return f.c.lang.Tell(d.Code)
	}
	return f.c.lang.Tell(d.Status)
}

// cleanKeepTabs is paint.Clean for text that goes to files and pipes too: a tab in it means a tab.
func cleanKeepTabs(s string) string {
	parts := strings.Split(s, "\t")
	for i, p := range parts {
		parts[i] = paint.Clean(p)
	}
	return strings.Join(parts, "\t")
}

// firstLine gives the first line of an input, at most firstLineMost characters of it, never a part of a grapheme.
func firstLine(s string) string {
	line, _, cut := strings.Cut(strings.TrimSpace(s), "\n")
	end, used := 0, 0
	for g := graphemes.FromString(line); g.Next(); end += len(g.Value()) {
		if used += utf8.RuneCountInString(g.Value()); used > firstLineMost {
			line, cut = line[:end], true
			break
		}
	}
	if cut {
		line += "..."
	}
	return line
}

// waitText says what a wait is for. A shared one has no attempt of its own that failed: that was told when it did.
func (f *follower) waitText(d trace.RetryData) string {
	after := f.c.T("%.1f s", float64(d.WaitMS)/1000)
	switch {
	case d.Shared && d.WaitMS <= 0:
		return f.c.T("others go first")
	case d.Shared && d.Attempt > 0:
		return f.c.T("attempt %d of %d in %s", d.Attempt+1, d.Max, after)
	case d.Attempt == 0: // nothing was sent yet
		return f.c.T("waiting for %s", after)
	}
	return f.c.T("attempt %d of %d failed, again in %s", d.Attempt, d.Max, after)
}
