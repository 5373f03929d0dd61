package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"vitrine/runtime"
	"vitrine/runtime/config"
	"vitrine/ui/words"
)

const longRun words.Text = `Run one turn without the screen. The answer goes to standard output, everything else to standard error.

The prompt is what stands behind the flags. Standard input is read for - and, when there is no prompt, if it is a pipe or a
file; it is never waited for otherwise. Without --session a new session is made; its name stands on standard error.
An @ in the prompt is text: no file is attached, as it is on the screen and with --plain.

With --json standard output gets one JSON object a line: the stored events of the run from run_start to run_end, and a retry
event for each attempt that failed.

The --expect flags say what the answer has to pass. One that does not goes back to the model with the reason, three times at
most; then the run fails.

--resume goes on with a run that was interrupted. A call with effects that was running then is not repeated by itself: the
command names it and exits with 3, and --outcome says what became of it.

A call that needs approval (AGENT_TOOL_POLICY) ends the command with 3, too; --approve CALL or --deny CALL with its --session
goes on.`

const (
	// closeLimit bounds the end of the program: what does not end in it is left as after a crash, which the store survives.
	closeLimit = 10 * time.Second
	// freshTries bounds the search for a session name that is free; others may take names at the same time.
	freshTries = 1000
)

func (c *command) runCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT | -",
		Short: c.T("Run one turn without the screen"),
		Long:  c.T(longRun),
		Example: `  vitrine run "what is (17+5)*3?"
  git diff | vitrine run -
  vitrine run --session notes --json "add a todo: submit the report"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.resume != "" || len(o.approve)+len(o.deny) > 0 {
				return c.resumeRun(cmd.Context(), o, args)
			}
			switch { // what would be left unheard
			case len(o.outcomes) > 0:
				return &UsageError{What: "--outcome needs the run", Do: "name it with --resume RUN; vitrine trace names the runs that have not ended"}
			case o.reason != "":
				return &UsageError{What: "--reason belongs to --deny CALL"}
			}
			return c.run(cmd.Context(), o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.session, "session", "", c.T("the session to go on with; it is made when it does not exist"))
	f.StringVar(&o.model, "model", "", c.T("the model to use; offline is the built-in one"))
	c.protocolFlag(o, f)
	c.trafficFlags(&o.traffic, f)
	f.BoolVar(&o.json, "json", false, c.T("print events as JSON lines instead of the answer"))
	c.expectFlags(&o.expect, f)
	f.StringVar(&o.resume, "resume", "", c.T("go on with this interrupted run instead of starting one"))
	f.StringArrayVar(&o.approve, "approve", nil, c.T("with --session or --resume: let this waiting call run, once"))
	f.StringArrayVar(&o.deny, "deny", nil, c.T("with --session or --resume: do not let this waiting call run"))
	f.StringVar(&o.reason, "reason", "", c.T("with --deny: what the model is told"))
	f.StringArrayVar(&o.outcomes, "outcome", nil, c.T("with --resume: what became of a call, CALL=happened, CALL=not or CALL=again"))
	return cmd
}

// run is `vitrine run`.
func (c *command) run(ctx context.Context, o *options, args []string) (err error) {
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	text, err := c.prompt(ctx, args)
	if err != nil {
		return err
	}
	checks, err := o.expect.checks()
	if err != nil {
		return err
	}
	app, err := c.prog.Open(ctx, cfg, c.prog.Clock, OpenOptions{Headless: true, Checks: checks, Traffic: o.traffic})
	if err != nil {
		return err
	}
	defer func() {
		err = c.closeApp(app, err)
		c.notices(app)
	}()
	c.say(app, cfg)
	id, snap, err := c.openSession(ctx, app, cfg, o)
	if err != nil {
		return err
	}
	if err := c.useModel(ctx, app, o, snap); err != nil {
		return err
	}
	f := newFollower(c, app, id, o.json, len(snap.Inbox))
	f.user = o.user
	defer f.close()
	if snap.Run != nil && !snap.Running {
		c.err.line("vitrine: turn %d of this session was interrupted and is given up; its messages stay (--resume %s would have gone on)", snap.Run.Turn, snap.Run.ID)
	}
	c.stop.onFirst(func() { app.Agent.Cancel(id) })
	if err := app.Agent.Submit(ctx, id, text); err != nil {
		return fmt.Errorf("the prompt was not sent: %w", err)
	}
	if c.stop.stopped() {
		app.Agent.Cancel(id)
	}
	return f.follow(ctx)
}

// notices tells of what came up on the way.
func (c *command) notices(app *App) {
	for _, n := range app.Notices() {
		c.err.line("vitrine: %s", c.lang.Tell(n))
	}
}

// say tells what a user without the screen should know before the answer.
func (c *command) say(app *App, cfg config.Config) {
	end := cfg.Endpoint()
	switch {
	case end.Warning != "":
		c.err.line("vitrine: %s; the offline model answers by fixed rules", c.lang.Tell(end.Warning))
	case end.Kind == config.Offline && !end.Chosen:
		c.err.line("vitrine: the offline model answers by fixed rules; set OPENAI_API_KEY or OPENAI_BASE_URL to connect a model")
	}
	c.notices(app)
}

// useModel makes --model hold in a session that was given another one.
func (c *command) useModel(ctx context.Context, app *App, o *options, snap runtime.Snapshot) error {
	if o.model == "" || snap.Session.Model == "" || snap.Session.Model == o.model {
		return nil
	}
	if err := app.Agent.Set(ctx, snap.Session.ID, runtime.Setting{Model: &o.model}); err != nil {
		return fmt.Errorf("change the model of session %s: %w", snap.Session.ID, err)
	}
	return nil
}

// openSession opens the session that was named, or a new one.
func (c *command) openSession(ctx context.Context, app *App, cfg config.Config, o *options) (string, runtime.Snapshot, error) {
	if o.session != "" {
		snap, err := app.Agent.Open(ctx, o.session, true)
		return o.session, snap, err
	}
	list, err := app.Library.Sessions(ctx, cfg.User)
	if err != nil {
		return "", runtime.Snapshot{}, fmt.Errorf("list the sessions: %w", err)
	}
	taken := make(map[string]bool, len(list))
	for _, s := range list {
		taken[s.ID] = true
	}
	n := 0
	for range freshTries {
		id := ""
		for id == "" || taken[id] {
			n++
			id = cfg.User + "-window-" + strconv.Itoa(n)
		}
		snap, err := app.Agent.Open(ctx, id, true)
		switch {
		case errors.Is(err, runtime.ErrHeld), errors.Is(err, runtime.ErrOtherUser):
			continue // taken since the list was read, or by another user
		case err != nil:
			return "", runtime.Snapshot{}, err
		case snap.Session.TurnCount == 0 && len(snap.Messages) == 0 && len(snap.Inbox) == 0:
			c.err.line("vitrine: session %s", id)
			return id, snap, nil
		}
		if err := app.Agent.Close(ctx, id); err != nil {
			return "", runtime.Snapshot{}, fmt.Errorf("close session %s: %w", id, err)
		}
	}
	return "", runtime.Snapshot{}, &UsageError{What: "no session name is free", Do: "choose one with --session"}
}
