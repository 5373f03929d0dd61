package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vitrine/runtime"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/words"
)

// traceRuns bounds how many runs of a session are searched.
const traceRuns = 100_000

const longTrace words.Text = `Print what a run did, from the store: as a tree of steps, model calls and tools, or with --json as the stored events, one
JSON object a line.

The argument is a session (all its runs), or a run or the beginning of its id. Without one it is the last run of the session
that changed last. With --prefix each request of it is compared with the one before: a provider has cached what it repeats.`

func (c *command) traceCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace [SESSION | RUN]",
		Short: c.T("Print what a run did"),
		Long:  c.T(longTrace),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &UsageError{What: "trace takes one session or one run", Do: "vitrine sessions lists the sessions"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.trace(cmd.Context(), o, args) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, c.T("print the stored events as JSON lines"))
	cmd.Flags().BoolVar(&o.prefix, "prefix", false, c.T("print for each request how much of the one before it repeats, and what broke that"))
	cmd.Flags().StringVar(&o.run, "run", "", c.T("only this run, by its id or the beginning of it"))
	return cmd
}

// target is what is to be printed.
type target struct {
	session string
	run     string // empty: the whole session
}

func (c *command) trace(ctx context.Context, o *options, args []string) (err error) {
	cfg, app, err := c.openLibrary(ctx, o)
	if err != nil {
		return err
	}
	if app == nil {
		return &UsageError{What: "there is nothing to show: " + cfg.DBPath + " does not exist yet", Do: `vitrine run "..." makes a first run`}
	}
	defer func() { err = c.closeApp(app, err) }()
	t, err := c.target(ctx, cfg, app, o, args)
	if err != nil {
		return err
	}
	if o.prefix {
		return c.printPrefix(ctx, app, t, o.json)
	}
	if o.json {
		return c.eachEvent(ctx, app, t, func(ev trace.Event) error { return c.jsonLine(ev) })
	}
	return c.printTree(ctx, app, t)
}

// target finds the session and the run that are meant.
func (c *command) target(ctx context.Context, cfg config.Config, app *App, o *options, args []string) (target, error) {
	list, err := app.Library.Sessions(ctx, cfg.User)
	if err != nil {
		return target{}, fmt.Errorf("list the sessions: %w", err)
	}
	if len(args) == 0 && o.run == "" {
		return c.newest(ctx, app, cfg, list)
	}
	run := o.run
	if len(args) == 1 {
		for _, s := range list {
			if s.ID == args[0] {
				list = []runtime.SessionInfo{s}
				if run == "" {
					return target{session: s.ID}, nil
				}
				return findRun(ctx, app, list, run)
			}
		}
		if run != "" {
			_, err := c.find(ctx, cfg, app, args[0])
			return target{}, err
		}
		run = args[0]
	}
	return findRun(ctx, app, list, run)
}

func (c *command) newest(ctx context.Context, app *App, cfg config.Config, list []runtime.SessionInfo) (target, error) {
	for _, s := range list {
		runs, err := app.Library.Runs(ctx, s.ID, 1)
		if err != nil {
			return target{}, fmt.Errorf("list the runs of session %s: %w", s.ID, err)
		}
		if len(runs) > 0 {
			return target{session: s.ID, run: runs[0].ID}, nil
		}
	}
	return target{}, &UsageError{What: fmt.Sprintf("%s has no runs in %s", cfg.User, cfg.DBPath), Do: `vitrine run "..." makes a first one`}
}

// findRun finds the one run whose id is or starts with prefix.
func findRun(ctx context.Context, app *App, list []runtime.SessionInfo, prefix string) (target, error) {
	var found []target
	for _, s := range list {
		runs, err := app.Library.Runs(ctx, s.ID, traceRuns)
		if err != nil {
			return target{}, fmt.Errorf("list the runs of session %s: %w", s.ID, err)
		}
		for _, r := range runs {
			if r.ID == prefix {
				return target{session: s.ID, run: r.ID}, nil
			}
			if len(prefix) >= 4 && strings.HasPrefix(r.ID, prefix) {
				found = append(found, target{session: s.ID, run: r.ID})
			}
		}
	}
	switch len(found) {
	case 0:
		return target{}, &UsageError{What: fmt.Sprintf("%s is neither a session nor a run", prefix), Do: "vitrine sessions lists the sessions"}
	case 1:
		return found[0], nil
	}
	return target{}, &UsageError{What: fmt.Sprintf("%d runs start with %s", len(found), prefix), Do: "give more of the id"}
}

// eachEvent goes over the stored events in order.
func (c *command) eachEvent(ctx context.Context, app *App, t target, f func(trace.Event) error) error {
	after := int64(0)
	for {
		page, err := app.Library.Events(ctx, t.session, t.run, after, pageSize)
		if err != nil {
			return fmt.Errorf("read the events of session %s: %w", t.session, err)
		}
		for _, ev := range page {
			after = ev.Seq
			if err := f(ev); err != nil {
				return err
			}
			if c.out.err != nil {
				return nil // told at the end
			}
		}
		if len(page) < pageSize {
			return nil
		}
	}
}

// printTree prints the runs as trees, and says which session they are of.
func (c *command) printTree(ctx context.Context, app *App, t target) error {
	tree := &trace.Tree{}
	if err := c.eachEvent(ctx, app, t, func(ev trace.Event) error {
		tree.Apply(ev)
		return nil
	}); err != nil {
		return err
	}
	if t.run != "" {
		c.out.line("session %s   run %s", t.session, t.run)
	} else {
		c.out.line("session %s", t.session)
	}
	if err := trace.PrintTold(writerOf(c.out), tree, c.lang.Tell); err != nil && c.out.err == nil {
		return err
	}
	return nil
}
