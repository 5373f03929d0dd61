package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/trace/rotate"
	"vitrine/ui"
	"vitrine/ui/words"
)

const longDoctor words.Text = `Print what holds and where it came from: configuration with keys masked, paths, what the store holds, the terminal and the
model endpoint. Nothing is changed, and nothing leaves the machine unless --check asks the endpoint for a sign of life.`

func (c *command) doctorCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: c.T("Print what holds and where it came from"),
		Long:  c.T(longDoctor),
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.doctor(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.sample, "sample-config", false, c.T("print a commented configuration file"))
	cmd.Flags().BoolVar(&o.check, "check", false, c.T("ask the model endpoint for a sign of life"))
	return cmd
}

func (c *command) doctor(ctx context.Context, o *options) error {
	if o.sample {
		c.out.raw(config.SampleTOML() + ui.SampleKeys())
		return nil
	}
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	c.section("PROGRAM", [][]string{{c.T("version"), c.proc.Version}, {c.T("user##whose sessions"), cfg.User}, {c.T("folder"), c.proc.Folder}, {c.T("language"), c.spoken(cfg)}})
	store := c.prog.Inspect(ctx, cfg)
	c.section("PATHS", c.paths(cfg, store))
	c.section("STORE", c.holds(cfg, store))
	reach := c.endpoint(ctx, o, cfg)
	c.section("TERMINAL", c.terminal())
	rows := [][]string{}
	for _, v := range cfg.Values() {
		rows = append(rows, []string{v.Name, c.lang.Tell(v.Text), c.lang.Tell(v.Source.String())})
	}
	c.section("CONFIGURATION", rows)
	if rows := c.keyRows(cfg); len(rows) > 0 {
		c.section("KEYS", rows)
	}
	for _, line := range misspelt(c.proc.Environ, cfg) {
		c.out.line("  %s", c.lang.Tell(line))
	}
	return errors.Join(store.Err, reach)
}

// spoken names the language and how to choose another.
func (c *command) spoken(cfg config.Config) string {
	name := c.T("English")
	if c.lang == words.Chinese {
		name = c.T("Simplified Chinese")
	}
	if cfg.Lang != config.LangAuto {
		return c.T("%s, by AGENT_LANG", name)
	}
	return c.T("%s, by the locale; AGENT_LANG=en or zh chooses one", name)
}

func (c *command) section(title words.Text, rows [][]string) {
	if title != "PROGRAM" {
		c.out.raw("\n")
	}
	c.out.line(title)
	for _, r := range rows {
		r[0] = "  " + r[0]
	}
	c.out.table(rows)
}

func (c *command) paths(cfg config.Config, store StoreState) [][]string {
	conf := config.FilePath(c.proc.ConfigDir)
	if err := c.proc.ConfigDirErr; err != nil {
		conf = c.T("none: %s", c.lang.Tell(cause(err)))
	} else {
		switch data, err := config.ReadFile(conf); {
		case err != nil:
			conf += "   " + c.T("cannot be read: %s", c.lang.Tell(cause(err)))
		case data == nil:
			conf += "   " + c.T("not there")
		}
	}
	db := store.Path
	if store.Exists {
		db += fmt.Sprintf("   %d KB", (store.Bytes+1023)/1024)
	} else {
		db += "   " + c.T("not there yet")
	}
	return [][]string{{c.T("configuration"), conf}, {c.T("data"), db}, {c.T("trace"), c.absolute(cfg.TracePath)}, {c.T("log"), c.absolute(LogPath(cfg))}}
}

// holds tells what the store and the files beside it hold.
func (c *command) holds(cfg config.Config, store StoreState) [][]string {
	rows := [][]string{{c.T("state"), c.lang.Tell(store.Text)}}
	switch h := store.Holds; {
	case h != nil:
		database := bytesWord(store.Bytes)
		if h.FreeBytes > 0 {
			database += "   " + c.T("%s of it free", bytesWord(h.FreeBytes))
		}
		if h.LogBytes > 0 {
			database += "   " + c.T("%s of log beside it", bytesWord(h.LogBytes))
		}
		if h.Partial {
			database += c.T(", which is counted when the store is opened next")
		}
		rows = append(rows, []string{c.T("sessions"), strconv.FormatInt(h.Sessions, 10)}, []string{c.T("messages"), strconv.FormatInt(h.Messages, 10)},
			[]string{c.T("events"), strconv.FormatInt(h.Events, 10)},
			[]string{c.T("artifacts"), strconv.FormatInt(h.Artifacts, 10) + "   " + bytesWord(h.ArtifactBytes)},
			[]string{c.T("database"), database})
	case store.Uncounted != "":
		rows = append(rows, []string{c.T("sessions"), c.T("not counted: %s", c.lang.Tell(store.Uncounted))})
	}
	size := func(files int, bytes int64, err error) string {
		switch {
		case err != nil:
			return c.T("unknown: %s", c.lang.Tell(cause(err)))
		case files == 0:
			return c.T("none")
		}
		return c.lang.N(files, "%s in %d file", "%s in %d files", bytesWord(bytes), files)
	}
	most := func(files int, bytes int64) string { return c.T(", at most %d of %s", files, bytesWord(bytes)) }
	return append(rows,
		[]string{c.T("trace"), size(trace.FileSize(c.absolute(cfg.TracePath))) + most(trace.DefaultFiles, trace.DefaultMaxBytes)},
		[]string{c.T("log"), size(rotate.LogSize(c.absolute(LogPath(cfg)))) + most(rotate.LogFiles, rotate.LogMaxBytes)})
}

// keyRows are the keys that the configuration file changes.
func (c *command) keyRows(cfg config.Config) (rows [][]string) {
	for _, b := range cfg.Keys {
		keys := make([]string, 0, len(b.Keys))
		for _, k := range b.Keys {
			keys = append(keys, k.Key)
		}
		text := c.T("none")
		if len(keys) > 0 {
			text = strings.Join(keys, ", ")
		}
		rows = append(rows, []string{b.Action, text, c.lang.Tell("file " + b.Place)})
	}
	return rows
}

func (c *command) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.proc.Folder, path)
}

// LogPath is the file that gets the stack of a panic: beside the database.
func LogPath(cfg config.Config) string { return filepath.Join(filepath.Dir(cfg.DBPath), "vitrine.log") }

// endpoint tells where model calls go and, if asked to, whether something answers there.
func (c *command) endpoint(ctx context.Context, o *options, cfg config.Config) error {
	end := cfg.Endpoint()
	rows := [][]string{{c.T("model"), end.Model}}
	if end.Kind == config.Offline {
		rows = append(rows, []string{c.T("endpoint"), c.T("none: the built-in offline model; OPENAI_BASE_URL or OPENAI_API_KEY connects one")})
	} else {
		rows = append(rows, []string{c.T("endpoint"), config.ShownURL(end.BaseURL)}, []string{c.T("key"), c.lang.Tell(end.Key.String())})
		for _, r := range c.prog.Describe(cfg) {
			for i := range r {
				r[i] = c.lang.Tell(r[i])
			}
			rows = append(rows, r)
		}
	}
	if end.Warning != "" {
		rows = append(rows, []string{c.T("note"), c.lang.Tell(end.Warning)})
	}
	var err error
	if o.check {
		text := c.T("nothing to check: the offline model is part of the program")
		if end.Kind != config.Offline {
			if text, err = c.prog.Reach(ctx, cfg); err != nil {
				text = c.T("no: %s", c.lang.Tell(err.Error()))
				err = fmt.Errorf("the endpoint did not answer as it should: %w", err)
			}
		}
		rows = append(rows, []string{c.T("check"), c.lang.Tell(text)})
	}
	c.section("MODEL", rows)
	return err
}

func (c *command) terminal() [][]string {
	kind := func(s Stream) string {
		switch s {
		case Terminal:
			return c.T("terminal")
		case Data:
			return c.T("pipe or file")
		}
		return c.T("nothing")
	}
	size := c.T("unknown")
	if c.proc.Columns > 0 {
		size = fmt.Sprintf("%d x %d", c.proc.Columns, c.proc.Rows)
	}
	rows := [][]string{
		{c.T("input"), kind(c.proc.In)}, {c.T("output"), kind(c.proc.Out)}, {c.T("errors"), kind(c.proc.Err)}, {c.T("size"), size},
	}
	for _, name := range []string{"TERM", "COLORTERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG", "TERM_PROGRAM", "TMUX"} {
		if v := variable(c.proc.Environ, name); v != "" {
			rows = append(rows, []string{name, v})
		}
	}
	return rows
}

// misspelt finds variables that look like ours and are none.
func misspelt(environ []string, cfg config.Config) []string {
	var names, lines []string
	for _, v := range cfg.Values() {
		names = append(names, v.Name)
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "AGENT_") && !strings.HasPrefix(name, "LLM_") || slices.Contains(names, name) {
			continue
		}
		if s := config.Suggest(name, names); s != "" {
			lines = append(lines, fmt.Sprintf("%s is set and is none of ours; did you mean %s?", name, s))
		}
	}
	slices.Sort(lines)
	return lines
}
