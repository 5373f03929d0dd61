package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"vitrine/runtime"
)

// resumeRun is `vitrine run --resume RUN`: it goes on with a run that was interrupted.
func (c *command) resumeRun(ctx context.Context, o *options, args []string) (err error) {
	words, err := outcomes(o.outcomes)
	if err != nil {
		return err
	}
	if len(args) > 0 || o.session != "" {
		return &UsageError{What: "--resume goes on with a run as it is", Do: "leave the prompt and --session out"}
	}
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	app, err := c.prog.Open(ctx, cfg, c.prog.Clock, OpenOptions{Headless: true})
	if err != nil {
		return err
	}
	defer func() {
		err = c.closeApp(app, err)
		c.notices(app)
	}()
	id, err := sessionOf(ctx, app, o.resume)
	if err != nil {
		return err
	}
	snap, err := app.Agent.Open(ctx, id, false)
	if err != nil {
		return err
	}
	if snap.Run == nil || snap.Run.ID != o.resume {
		return &UsageError{What: fmt.Sprintf("run %s of session %s is over", o.resume, id), Do: "vitrine run --session " + id + " starts another"}
	}
	f := newFollower(c, app, id, o.json, 0)
	f.runID, f.seq = o.resume, snap.Seq
	defer f.close()
	c.stop.onFirst(func() { app.Agent.Cancel(id) })
	yes := true
	if err := app.Agent.Set(ctx, id, runtime.Setting{Resume: &yes, Outcomes: words}); err != nil {
		return fmt.Errorf("resume run %s: %w", o.resume, err)
	}
	return f.follow(ctx)
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

// describeOutcomes says which calls wait for the user's word, and how to give it.
func describeOutcomes(e *runtime.OutcomeError) []string {
	lines := []string{"nobody can tell whether these calls took effect before the program stopped:"}
	for _, call := range e.Calls {
		lines = append(lines, fmt.Sprintf("  %s  %s %s", call.ID, call.Name, call.Arguments))
	}
	return append(lines, "look, then say it with --outcome CALL=happened, CALL=not or CALL=again (it runs once more)")
}
