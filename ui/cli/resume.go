package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vitrine/runtime"
	"vitrine/ui/paint"
)

// resumeRun is `vitrine run --resume RUN`, and --session ID with --approve or --deny: it goes on with a run that was interrupted
// or that waits for the user's word.
func (c *command) resumeRun(ctx context.Context, o *options, args []string) (err error) {
	words, err := outcomes(o.outcomes)
	if err != nil {
		return err
	}
	switch {
	case o.expect != expectations{}:
		return &UsageError{What: "a run that goes on has its own checks", Do: "leave the --expect flags out"}
	case o.reason != "" && len(o.deny) == 0:
		return &UsageError{What: "--reason belongs to --deny CALL"}
	case len(args) > 0:
		return &UsageError{What: "a run that goes on takes no new prompt", Do: "leave the prompt out"}
	case o.resume != "" && o.session != "":
		return &UsageError{What: "--resume and --session name the same thing twice", Do: "leave one out"}
	case o.resume == "" && o.session == "":
		return &UsageError{What: "--approve and --deny need the session", Do: "name it with --session"}
	}
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	app, err := c.prog.Open(ctx, cfg, c.prog.Clock, OpenOptions{Headless: true, Traffic: o.traffic})
	if err != nil {
		return err
	}
	defer func() {
		err = c.closeApp(app, err)
		c.notices(app)
	}()
	id := o.session
	if id == "" {
		if id, err = sessionOf(ctx, app, o.resume); err != nil {
			return err
		}
	}
	snap, err := app.Agent.Open(ctx, id, false)
	if errors.Is(err, runtime.ErrNotFound) {
		return &UsageError{What: fmt.Sprintf("there is no session %s of %s", id, cfg.User), Do: "vitrine sessions lists them"}
	}
	if err != nil {
		return err
	}
	switch {
	case snap.Run == nil && o.resume == "":
		return &UsageError{What: fmt.Sprintf("nothing waits in session %s", id), Do: "vitrine sessions show " + id + asUser(o.user) + " shows what there is; a prompt in place of the word starts a turn"}
	case snap.Run == nil || o.resume != "" && snap.Run.ID != o.resume:
		return &UsageError{What: fmt.Sprintf("run %s of session %s is over", o.resume, id), Do: "vitrine run --session " + id + " starts another"}
	}
	decisions, err := o.decisions(snap.Calls)
	if err = errors.Join(err, known(words, snap.Calls)); err != nil {
		return err
	}
	f := newFollower(c, app, id, o.json, 0)
	f.runID, f.seq, f.user = snap.Run.ID, snap.Seq, o.user
	defer f.close()
	c.stop.onFirst(func() { app.Agent.Cancel(id) })
	yes := true
	if err := app.Agent.Set(ctx, id, runtime.Setting{Resume: &yes, Outcomes: words, Decide: decisions}); err != nil {
		return &userError{fmt.Errorf("resume run %s: %w", snap.Run.ID, err), o.user}
	}
	return f.follow(ctx)
}

// decisions are the words of --approve and --deny, on calls that wait.
func (o *options) decisions(calls []runtime.CallRow) ([]runtime.Decision, error) {
	waits := func(c runtime.CallRow) bool { return c.Status == runtime.CallWaiting }
	var out []runtime.Decision
	for _, id := range append(slices.Clone(o.approve), o.deny...) {
		if !slices.ContainsFunc(calls, func(c runtime.CallRow) bool { return c.ID == id && waits(c) }) {
			return nil, &UsageError{What: fmt.Sprintf("no call %q waits for a word", id), Do: named(calls, waits, "--approve or --deny")}
		}
		out = append(out, runtime.Decision{Call: id, Allow: slices.Contains(o.approve, id) && !slices.Contains(o.deny, id), Reason: o.reason})
	}
	return out, nil
}

// known says of which calls an outcome was given that is not asked for.
func known(words map[string]runtime.Outcome, calls []runtime.CallRow) error {
	open := func(c runtime.CallRow) bool {
		return c.Result == nil && (c.Status == runtime.CallStarted || c.Status == runtime.CallUnknown)
	}
	for _, id := range slices.Sorted(maps.Keys(words)) {
		if !slices.ContainsFunc(calls, func(c runtime.CallRow) bool { return c.ID == id && open(c) }) {
			return &UsageError{What: fmt.Sprintf("of no call %q the outcome is unknown", id), Do: named(calls, open, "--outcome")}
		}
	}
	return nil
}

// named lists the calls that such a word can be given on.
func named(calls []runtime.CallRow, can func(runtime.CallRow) bool, flag string) string {
	var names []string
	for _, c := range calls {
		if can(c) {
			names = append(names, c.ID+" ("+c.Name+")")
		}
	}
	if len(names) == 0 {
		return "no call of this run wants " + flag
	}
	return flag + " can name " + strings.Join(names, ", ")
}

// sessionOf finds the session of a run.
func sessionOf(ctx context.Context, app *App, run string) (string, error) {
	events, err := app.Library.Events(ctx, "", run, 0, 1)
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return "", fmt.Errorf("look for run %s: %w", run, err)
	}
	if len(events) == 0 {
		return "", &UsageError{What: fmt.Sprintf("there is no run %q", run), Do: "vitrine trace shows the runs of a session"}
	}
	return events[0].SessionID, nil
}

// outcomes reads CALL=happened|not|again.
func outcomes(flags []string) (map[string]runtime.Outcome, error) {
	words := map[string]runtime.Outcome{}
	for _, f := range flags {
		call, word, ok := strings.Cut(f, "=")
		switch w := runtime.Outcome(word); {
		case ok && call != "" && (w == runtime.OutcomeHappened || w == runtime.OutcomeNot || w == runtime.OutcomeAgain):
			words[call] = w
		default:
			return nil, &UsageError{What: fmt.Sprintf("--outcome %s is not CALL=happened, CALL=not or CALL=again", f)}
		}
	}
	return words, nil
}

// describeOutcomes says which calls wait for the word of a user, empty for the login name, and how to give it.
func describeOutcomes(e *runtime.OutcomeError, user string) []string {
	lines := []string{"nobody can tell whether these calls took effect before the program stopped:"}
	for _, call := range e.Calls {
		lines = append(lines, fmt.Sprintf("  %s  %s %s", call.ID, call.Name, paint.Reveal(call.Arguments)))
	}
	run := "RUN"
	if len(e.Calls) > 0 {
		run = e.Calls[0].RunID
	}
	return append(lines, "look, then say it: vitrine run"+asUser(user)+" --resume "+run+" --outcome CALL=happened, CALL=not or CALL=again (it runs once more)")
}
