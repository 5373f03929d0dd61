package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vitrine/runtime"
	"vitrine/ui/words"
)

// oldestDays bounds --older-than; it is some two hundred years.
const oldestDays = 80_000

const longPrune words.Text = `Delete sessions that nobody needs any more, and give the space back to the disk.

Those go that have not changed for the given days, those beyond the newest N, or with both flags those of which both is so.
A session that a process holds, that is open as a tab or that has a star stays. The space is given back while no other process has the
database open; else it is used for what is stored next, or given back by the next prune.`

// Space is what came of giving space back.
type Space struct {
	// Freed is how many bytes smaller the database is, Left how many in it hold nothing.
	Freed, Left int64
	// Why says why nothing was given back although there is something.
	Why string
}

// pruneOptions are the flags of sessions prune.
type pruneOptions struct {
	days, keep int
	// What was given.
	byAge, byCount bool
}

func (c *command) pruneCommand(o *options) *cobra.Command {
	p := pruneOptions{}
	cmd := &cobra.Command{
		Use: "prune", Short: c.T("Delete old sessions and give their space back"), Long: c.T(longPrune), Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.byAge, p.byCount = cmd.Flags().Changed("older-than"), cmd.Flags().Changed("keep")
			if err := p.check(); err != nil {
				return err
			}
			return c.prune(cmd.Context(), o, p)
		},
	}
	f := cmd.Flags()
	f.IntVar(&p.days, "older-than", 0, c.T("delete what has not changed for this many `DAYS`"))
	f.IntVar(&p.keep, "keep", 0, c.T("keep the newest `N`"))
	f.BoolVar(&o.yes, "yes", false, c.T("do not ask"))
	f.BoolVar(&o.json, "json", false, c.T("print what went as a JSON object"))
	return cmd
}

func (p pruneOptions) check() error {
	switch {
	case !p.byAge && !p.byCount:
		return &UsageError{What: "sessions prune needs to know what may go", Do: "give --older-than DAYS, --keep N, or both"}
	case p.byAge && (p.days < 1 || p.days > oldestDays):
		return &UsageError{What: fmt.Sprintf("--older-than %d: must be a whole number of days from 1 to %d", p.days, oldestDays)}
	case p.byCount && p.keep < 0:
		return &UsageError{What: fmt.Sprintf("--keep %d: must be a whole number from 0", p.keep)}
	}
	return nil
}

// prunable divides what the flags mean of a list, newest first: what may go, and how many stay because they are in use, or have a star.
func (p pruneOptions) prunable(list []runtime.SessionInfo, tabs []string, now time.Time) (gone []runtime.SessionInfo, used, starred int) {
	for i, s := range list {
		switch {
		case p.byCount && i < p.keep, p.byAge && now.Sub(s.UpdatedAt) < time.Duration(p.days)*24*time.Hour:
		case s.Starred:
			starred++
		case s.HeldBy != 0, s.Own, slices.Contains(tabs, s.ID):
			used++
		default:
			gone = append(gone, s)
		}
	}
	return gone, used, starred
}

// pruned is what `sessions prune --json` prints.
type pruned struct {
	Sessions int   `json:"sessions"`
	Messages int64 `json:"messages"`
	// Bytes is how much smaller the database is, FreeBytes what within it holds nothing, Why why that was not given back.
	Bytes     int64  `json:"bytes"`
	FreeBytes int64  `json:"free_bytes"`
	Why       string `json:"why,omitempty"`
	// InUse counts those that stay because a process or a tab has them, Starred those that have a star.
	InUse   int `json:"in_use"`
	Starred int `json:"starred,omitempty"`
}

func (c *command) prune(ctx context.Context, o *options, p pruneOptions) (err error) {
	cfg, app, err := c.openLibrary(ctx, o)
	if err != nil {
		return err
	}
	var r pruned
	if app == nil {
		return c.tellPruned(o, cfg.User, r)
	}
	defer func() { err = c.closeApp(app, err) }()
	list, err := app.Library.Sessions(ctx, cfg.User)
	if err != nil {
		return fmt.Errorf("list the sessions: %w", err)
	}
	tabs, err := app.Library.Tabs(ctx, cfg.User)
	if err != nil {
		return fmt.Errorf("read the tabs: %w", err)
	}
	gone, used, starred := p.prunable(list, tabs.Sessions, c.prog.Clock.Now())
	r.InUse, r.Starred = used, starred
	if len(gone) > 0 && !o.yes {
		ok, err := c.confirm(ctx, c.pruneQuestion(gone, cfg.User))
		if err != nil {
			return err
		}
		if !ok {
			c.err.line("nothing was deleted")
			return nil
		}
	}
	if r.Sessions, r.Messages, err = app.Prune(ctx, cfg.User, gone); err != nil {
		c.err.line("%s before it failed", c.were(r.Sessions, r.Messages))
		return err
	}
	space, err := app.Shrink(ctx)
	r.Bytes, r.FreeBytes, r.Why = space.Freed, space.Left, space.Why
	r.InUse += len(gone) - r.Sessions // taken into use, or changed, while it was asked
	if terr := c.tellPruned(o, cfg.User, r); err == nil {
		err = terr
	}
	return err
}

// pruneQuestion says what is about to go.
func (c *command) pruneQuestion(list []runtime.SessionInfo, user string) string {
	var messages int64
	open := 0
	for _, s := range list {
		messages += s.Messages
		if state := runtime.State(s.RunState); s.RunState != "" && !state.Terminal() {
			open++
		}
	}
	q := c.T("Delete %s (%s) of %s for good?", c.sessions(len(list)), c.messages(messages), user)
	if open > 0 {
		q += " " + c.stand(open, len(list))
	}
	return q
}

func (c *command) stand(n, of int) string {
	switch {
	case of == 1:
		return c.T("It stands in the middle of a turn that could be resumed.")
	case n == 1:
		return c.T("1 of them stands in the middle of a turn that could be resumed.")
	}
	return c.T("%d of them stand in the middle of a turn that could be resumed.", n)
}

func (c *command) tellPruned(o *options, user string, r pruned) error {
	if o.json {
		return c.jsonLine(r)
	}
	var parts []string
	if r.Sessions == 0 {
		parts = append(parts, c.T("no session of %s was to be deleted", user))
	} else {
		parts = append(parts, c.were(r.Sessions, r.Messages))
	}
	if r.InUse > 0 {
		parts = append(parts, c.lang.N(r.InUse, "%d more session stays, in use by a process or a tab", "%d more sessions stay, in use by a process or a tab", r.InUse))
	}
	if r.Starred > 0 {
		parts = append(parts, c.lang.N(r.Starred, "%d session with a star left alone", "%d sessions with a star left alone", r.Starred))
	}
	if r.Bytes > 0 {
		parts = append(parts, c.T("the database is %s smaller", bytesWord(r.Bytes)))
	}
	if r.Why != "" {
		parts = append(parts, c.T("%s in the database are free and not given back: %s", bytesWord(r.FreeBytes), c.lang.Tell(r.Why)))
	}
	if r.Sessions > 0 {
		parts = append(parts, c.T("the trace file still tells of them"))
	}
	c.out.line("%s", strings.Join(parts, c.T("; ##between sentences")))
	return nil
}

// were says how many sessions it is about.
func (c *command) were(sessions int, messages int64) string {
	return c.lang.N(sessions, "%s (%s) is deleted", "%s (%s) are deleted", c.sessions(sessions), c.messages(messages))
}

func (c *command) sessions(n int) string { return c.lang.N(n, "%d session", "%d sessions", n) }

func (c *command) messages(n int64) string {
	return c.lang.N(int(min(n, 2)), "%d message", "%d messages", n)
}

// bytesWord is a size in KB, MB or GB. What is there is never 0.
func bytesWord(n int64) string {
	const kb, mb, gb = 1 << 10, 1 << 20, 1 << 30
	switch {
	case n < mb:
		return fmt.Sprintf("%d KB", (n+kb-1)/kb)
	case n < gb:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/mb), ".0") + " MB"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/gb), ".0") + " GB"
}
