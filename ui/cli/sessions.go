package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/chat"
	"vitrine/ui/export"
	"vitrine/ui/words"
)

// pageSize is how many rows are read of the store at once.
const pageSize = 500

func (c *command) sessionsCommand(o *options) *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error { return c.listSessions(cmd.Context(), o) }
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: c.T("List, show, search, export, delete and prune sessions"),
		Args:  subcommandArgs,
		RunE:  list,
	}
	cmd.Flags().BoolVar(&o.json, "json", false, c.T("print JSON lines"))
	sub := &cobra.Command{Use: "list", Short: c.T("List the sessions, the newest first"), Args: noArgs, RunE: list}
	sub.Flags().BoolVar(&o.json, "json", false, c.T("print JSON lines"))
	show := &cobra.Command{
		Use: "show ID", Short: c.T("Print the messages of a session"), Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error { return c.showSession(cmd.Context(), o, args[0]) },
	}
	show.Flags().BoolVar(&o.json, "json", false, c.T("print JSON lines"))
	del := &cobra.Command{
		Use: "delete ID", Short: c.T("Delete a session with all that belongs to it"), Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error { return c.deleteSession(cmd.Context(), o, args[0]) },
	}
	del.Flags().BoolVar(&o.yes, "yes", false, c.T("do not ask"))
	cmd.AddCommand(sub, show, c.searchCommand(o), c.exportCommand(o), del, c.pruneCommand(o))
	return cmd
}

func subcommandArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	e := &UsageError{What: fmt.Sprintf("%q is not a command of %s", args[0], cmd.CommandPath()), Do: "use " + strings.Join(names, ", ")}
	if s := config.Suggest(args[0], names); s != "" {
		e.Do = "did you mean " + s + "?"
	}
	return e
}

func oneID(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &UsageError{What: cmd.CommandPath() + " needs the id of one session", Do: "vitrine sessions lists them"}
	}
	return nil
}

// openLibrary opens the store for what needs no engine. A store that does not exist yet holds nothing: the App is nil then.
func (c *command) openLibrary(ctx context.Context, o *options) (config.Config, *App, error) {
	cfg, err := c.load(o)
	if err != nil {
		return cfg, nil, err
	}
	app, err := c.prog.Open(ctx, cfg, c.prog.Clock, OpenOptions{StoreOnly: true, Headless: true})
	if errors.Is(err, fs.ErrNotExist) {
		return cfg, nil, nil
	}
	return cfg, app, err
}

// sessionLine is one session as `sessions --json` prints it.
type sessionLine struct {
	ID        string    `json:"id"`
	User      string    `json:"user"`
	Title     string    `json:"title"`
	Model     string    `json:"model,omitempty"`
	Turns     int       `json:"turns"`
	Messages  int64     `json:"messages"`
	Starred   bool      `json:"starred,omitempty"`
	State     string    `json:"state,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	HeldBy    int       `json:"held_by,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// What all its runs used. What was never reported is null, what was reported for some of them is of these.
	PromptTokens     int      `json:"prompt_tokens"`
	CompletionTokens int      `json:"completion_tokens"`
	CachedTokens     *int     `json:"cached_tokens"`
	ReasoningTokens  *int     `json:"reasoning_tokens"`
	Estimated        bool     `json:"estimated,omitempty"`
	Cost             *float64 `json:"cost"`
}

func (c *command) listSessions(ctx context.Context, o *options) (err error) {
	cfg, app, err := c.openLibrary(ctx, o)
	if err != nil {
		return err
	}
	var list []runtime.SessionInfo
	if app != nil {
		defer func() { err = c.closeApp(app, err) }()
		if list, err = app.Library.Sessions(ctx, cfg.User); err != nil {
			return fmt.Errorf("list the sessions: %w", err)
		}
	}
	used := make([]runtime.RunUsage, len(list))
	for i, s := range list {
		if used[i], err = usedBy(ctx, app.Library, s.ID); err != nil {
			return err
		}
	}
	if o.json {
		for i, s := range list {
			u := used[i]
			if err := c.jsonLine(sessionLine{PromptTokens: u.Prompt, CompletionTokens: u.Completion, CachedTokens: u.Cached,
				ReasoningTokens: u.Reasoning, Estimated: u.Estimated, Cost: u.Cost,
				ID: s.ID, User: s.UserID, Title: s.Title, Model: s.Model, Turns: s.TurnCount, Messages: s.Messages, Starred: s.Starred,
				State: s.RunState, Reason: s.RunReason, HeldBy: s.HeldBy, CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC()}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		c.err.line("%s has no sessions in %s", cfg.User, cfg.DBPath)
		return nil
	}
	rows := [][]string{c.heads("SESSION", "TITLE", "TURNS", "MESSAGES", "STATE", "CHANGED", "IN", "CACHED", "OUT", "REASONING", "COST")}
	now := c.prog.Clock.Now()
	for i, s := range list {
		rows = append(rows, append([]string{s.ID, starredTitle(s), strconv.Itoa(s.TurnCount), strconv.FormatInt(s.Messages, 10), c.stateWord(s), c.ago(now.Sub(s.UpdatedAt))},
			usedWords(used[i])...))
	}
	c.out.table(rows)
	return nil
}

// starredTitle is the title, behind a star when the session has one.
func starredTitle(s runtime.SessionInfo) string {
	if !s.Starred {
		return s.Title
	}
	return strings.TrimSpace("* " + s.Title)
}

// runsBound is how many runs of a session are counted.
const runsBound = 100_000

// heads are the heads of a table's columns.
func (c *command) heads(names ...words.Text) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = c.T(n)
	}
	return out
}

// usedBy is what all runs of a session used.
func usedBy(ctx context.Context, lib runtime.Library, session string) (sum runtime.RunUsage, err error) {
	runs, err := lib.Runs(ctx, session, runsBound)
	if err != nil {
		return sum, fmt.Errorf("count what session %s used: %w", session, err)
	}
	for _, r := range runs {
		if r.ParentRun == "" { // what a run started is in its own use
			sum.Add(r.Usage)
		}
	}
	return sum, nil
}

// usedWords are the columns of what was used; a dash is unknown, ~ an estimate.
func usedWords(u runtime.RunUsage) []string {
	tokens := func(n *int) string {
		if n == nil {
			return "-"
		}
		return trace.FormatTokens(*n)
	}
	about := ""
	if u.Estimated {
		about = "~"
	}
	cost := "-"
	if u.Cost != nil {
		cost = trace.FormatMoney(*u.Cost)
	}
	return []string{about + tokens(&u.Prompt), tokens(u.Cached), about + tokens(&u.Completion), tokens(u.Reasoning), cost}
}

// stateWord says in a word or two where a session stands.
func (c *command) stateWord(s runtime.SessionInfo) string {
	state := runtime.State(s.RunState)
	switch {
	case s.HeldBy != 0 && !s.Own:
		return c.T("in process %d", s.HeldBy)
	case s.RunState == "":
		return c.T("empty")
	case s.Waits, state == runtime.StateWaitingApproval:
		return c.T("needs you")
	case state == runtime.StateSucceeded:
		return c.T("done")
	case state.Terminal() && s.RunReason != "":
		return c.lang.Tell(s.RunState + ": " + s.RunReason)
	case state.Terminal():
		return c.lang.Tell(s.RunState)
	}
	return c.T("interrupted")
}

// ago is a duration in one unit.
func (c *command) ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return c.T("now")
	case d < time.Hour:
		return c.T("%d m ago", d/time.Minute)
	case d < 48*time.Hour:
		return c.T("%d h ago", d/time.Hour)
	}
	return c.T("%d d ago", d/(24*time.Hour))
}

// find gives the session with the id; it must be the user's.
func (c *command) find(ctx context.Context, cfg config.Config, app *App, id string) (runtime.SessionInfo, error) {
	missing := &UsageError{What: fmt.Sprintf("there is no session %s of %s in %s", id, cfg.User, cfg.DBPath), Do: "vitrine sessions lists them"}
	if app == nil {
		return runtime.SessionInfo{}, missing
	}
	list, err := app.Library.Sessions(ctx, cfg.User)
	if err != nil {
		return runtime.SessionInfo{}, fmt.Errorf("list the sessions: %w", err)
	}
	ids := make([]string, 0, len(list))
	for _, s := range list {
		if s.ID == id {
			return s, nil
		}
		ids = append(ids, s.ID)
	}
	if s := config.Suggest(id, ids); s != "" {
		missing.Do = "did you mean " + s + "?"
	}
	return runtime.SessionInfo{}, missing
}

// messageLine is one message as `sessions show --json` prints it.
type messageLine struct {
	N          int64          `json:"n"`
	Kind       llm.Kind       `json:"kind"`
	Role       llm.Role       `json:"role"`
	Content    string         `json:"content"`
	ToolCalls  []llm.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Tool       string         `json:"tool,omitempty"`
	RunID      string         `json:"run_id,omitempty"`
	Step       int            `json:"step,omitempty"`
	Partial    bool           `json:"partial,omitempty"`
	Fixed      bool           `json:"fixed,omitempty"`
	CreatedAt  time.Time      `json:"created_at"`
}

func (c *command) showSession(ctx context.Context, o *options, id string) (err error) {
	cfg, app, err := c.openLibrary(ctx, o)
	if err != nil {
		return err
	}
	if app != nil {
		defer func() { err = c.closeApp(app, err) }()
	}
	info, err := c.find(ctx, cfg, app, id)
	if err != nil {
		return err
	}
	if !o.json {
		turns := c.lang.N(info.TurnCount, "%d turn", "%d turns", info.TurnCount)
		c.out.line("%s   %s   %s   %s", info.ID, info.Title, turns, c.stateWord(info))
	}
	return c.eachMessage(ctx, app, id, func(m runtime.MessageRow) error {
		if o.json {
			return c.jsonLine(messageLine{N: m.N, Kind: m.Kind, Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID,
				Tool: m.ToolName, RunID: m.RunID, Step: m.Step, Partial: m.Partial, Fixed: m.Fixed, CreatedAt: m.CreatedAt.UTC()})
		}
		c.printMessage(m)
		return nil
	})
}

// eachMessage goes over all messages in order.
func (c *command) eachMessage(ctx context.Context, app *App, id string, f func(runtime.MessageRow) error) error {
	return export.Messages(ctx, app.Library, id, f)
}

// printMessage writes one message for people: who, then the text two cells in.
func (c *command) printMessage(m runtime.MessageRow) {
	who := c.lang.Tell(string(m.Kind))
	if m.ToolName != "" {
		who += " " + m.ToolName
	}
	switch {
	case m.Partial:
		who += "   " + c.T("cut")
	case m.Fixed:
		who += "   " + c.T("by the program")
	}
	c.out.raw("\n")
	c.out.line("%d   %s   %s", m.N, who, m.CreatedAt.UTC().Format("2006-01-02 15:04:05"))
	text, files := m.Content, []attach.File(nil)
	if m.Kind == llm.KindUser {
		text, files = attach.Split(m.Content)
	}
	if text != "" {
		c.out.text(indent(text))
	}
	for _, f := range files {
		_, fact, _ := chat.FileFact(c.lang, f)
		c.out.line("  @ %s   %s", f.Name, fact)
	}
	for _, call := range m.ToolCalls {
		c.out.line("  calls %s %s", call.Name, call.Arguments)
	}
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
}

func (c *command) deleteSession(ctx context.Context, o *options, id string) (err error) {
	cfg, app, err := c.openLibrary(ctx, o)
	if err != nil {
		return err
	}
	if app != nil {
		defer func() { err = c.closeApp(app, err) }()
	}
	info, err := c.find(ctx, cfg, app, id)
	if err != nil {
		return err
	}
	if !o.yes {
		ok, err := c.confirm(ctx, c.T("Delete session %s (%s) for good?", info.ID, c.sizeWord(info)))
		if err != nil {
			return err
		}
		if !ok {
			c.err.line("nothing was deleted")
			return nil
		}
	}
	if err := app.Library.DeleteSession(ctx, id, cfg.User); err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	c.err.line("session %s is deleted; the trace file still tells of it", id)
	return nil
}

// sizeWord says what a session holds: its title, if it has one, and how many messages.
func (c *command) sizeWord(info runtime.SessionInfo) string {
	count := c.messages(info.Messages)
	if info.Title == "" {
		return count
	}
	return info.Title + c.T(", ##between facts") + count
}

// jsonLine prints one object as a line. Strings hold no control characters in JSON but for those above U+007E, which are
// escaped here, so that a terminal takes the line for what it is.
func (c *command) jsonLine(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	c.out.raw(escapeControls(b.String()))
	return nil
}

// escapeControls writes DEL, C1 controls and what changes the direction of writing as \u escapes; in JSON they stand within
// strings only, so the value stays the same.
func escapeControls(s string) string {
	i := strings.IndexFunc(s, hiddenControl)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for _, r := range s[i:] {
		if hiddenControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hiddenControl(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
