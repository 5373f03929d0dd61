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
)

const longDoctor = `Print what holds and where it came from: configuration with keys masked, paths, what the store holds, the terminal and the
model endpoint. Nothing is changed, and nothing leaves the machine unless --check asks the endpoint for a sign of life.`

func (c *command) doctorCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Print what holds and where it came from",
		Long:  longDoctor,
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.doctor(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.sample, "sample-config", false, "print a commented configuration file")
	cmd.Flags().BoolVar(&o.check, "check", false, "ask the model endpoint for a sign of life")
	return cmd
}

func (c *command) doctor(ctx context.Context, o *options) error {
	if o.sample {
		c.out.raw(config.SampleTOML())
		return nil
	}
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	c.section("PROGRAM", [][]string{{"version", c.proc.Version}, {"user", cfg.User}, {"folder", c.proc.Folder}})
	store := c.prog.Inspect(ctx, cfg)
	c.section("PATHS", c.paths(cfg, store))
	c.section("STORE", c.holds(cfg, store))
	reach := c.endpoint(ctx, o, cfg)
	c.section("TERMINAL", c.terminal())
	rows := [][]string{}
	for _, v := range cfg.Values() {
		rows = append(rows, []string{v.Name, v.Text, v.Source.String()})
	}
	c.section("CONFIGURATION", rows)
	for _, line := range misspelt(c.proc.Environ, cfg) {
		c.out.line("  %s", line)
	}
	return errors.Join(store.Err, reach)
}

func (c *command) section(title string, rows [][]string) {
	if title != "PROGRAM" {
		c.out.raw("\n")
	}
	c.out.line("%s", title)
	for _, r := range rows {
		r[0] = "  " + r[0]
	}
	c.out.table(rows)
}

func (c *command) paths(cfg config.Config, store StoreState) [][]string {
	conf := "none: " + cause(orNil(c.proc.ConfigDirErr))
	if c.proc.ConfigDirErr == nil {
		conf = config.FilePath(c.proc.ConfigDir)
		switch data, err := config.ReadFile(conf); {
		case err != nil:
			conf += "   cannot be read: " + cause(err)
		case data == nil:
			conf += "   not there"
		}
	}
	db := store.Path
	if store.Exists {
		db += fmt.Sprintf("   %d KB", (store.Bytes+1023)/1024)
	} else {
		db += "   not there yet"
	}
	return [][]string{{"configuration", conf}, {"data", db}, {"trace", c.absolute(cfg.TracePath)}, {"log", c.absolute(LogPath(cfg))}}
}

// holds tells what the store and the files beside it hold.
func (c *command) holds(cfg config.Config, store StoreState) [][]string {
	rows := [][]string{{"state", store.Text}}
	switch h := store.Holds; {
	case h != nil:
		database := bytesWord(store.Bytes)
		if h.FreeBytes > 0 {
			database += "   " + bytesWord(h.FreeBytes) + " of it free"
		}
		if h.LogBytes > 0 {
			database += "   " + bytesWord(h.LogBytes) + " of log beside it"
		}
		if h.Partial {
			database += ", which is counted when the store is opened next"
		}
		rows = append(rows, []string{"sessions", strconv.FormatInt(h.Sessions, 10)}, []string{"messages", strconv.FormatInt(h.Messages, 10)},
			[]string{"events", strconv.FormatInt(h.Events, 10)},
			[]string{"artifacts", strconv.FormatInt(h.Artifacts, 10) + "   " + bytesWord(h.ArtifactBytes)},
			[]string{"database", database})
	case store.Uncounted != "":
		rows = append(rows, []string{"sessions", "not counted: " + store.Uncounted})
	}
	size := func(files int, bytes int64, err error) string {
		switch {
		case err != nil:
			return "unknown: " + cause(err)
		case files == 0:
			return "none"
		}
		return bytesWord(bytes) + " in " + count(int64(files), "file")
	}
	most := func(files int, bytes int64) string { return fmt.Sprintf(", at most %d of %s", files, bytesWord(bytes)) }
	return append(rows,
		[]string{"trace", size(trace.FileSize(c.absolute(cfg.TracePath))) + most(trace.DefaultFiles, trace.DefaultMaxBytes)},
		[]string{"log", size(rotate.LogSize(c.absolute(LogPath(cfg)))) + most(rotate.LogFiles, rotate.LogMaxBytes)})
}

func orNil(err error) error {
	if err == nil {
		return errors.New("")
	}
	return err
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
	rows := [][]string{{"model", end.Model}}
	if end.Kind == config.Offline {
		rows = append(rows, []string{"endpoint", "none: the built-in offline model; OPENAI_BASE_URL or OPENAI_API_KEY connects one"})
	} else {
		rows = append(rows, []string{"endpoint", config.ShownURL(end.BaseURL)}, []string{"key", end.Key.String()})
		rows = append(rows, c.prog.Describe(cfg)...)
	}
	if end.Warning != "" {
		rows = append(rows, []string{"note", end.Warning})
	}
	var err error
	if o.check {
		text := "nothing to check: the offline model is part of the program"
		if end.Kind != config.Offline {
			if text, err = c.prog.Reach(ctx, cfg); err != nil {
				text = "no: " + err.Error()
				err = fmt.Errorf("the endpoint did not answer as it should: %w", err)
			}
		}
		rows = append(rows, []string{"check", text})
	}
	c.section("MODEL", rows)
	return err
}

func (c *command) terminal() [][]string {
	kind := func(s Stream) string {
		switch s {
		case Terminal:
			return "terminal"
		case Data:
			return "pipe or file"
		}
		return "nothing"
	}
	size := "unknown"
	if c.proc.Columns > 0 {
		size = fmt.Sprintf("%d x %d", c.proc.Columns, c.proc.Rows)
	}
	rows := [][]string{
		{"input", kind(c.proc.In)}, {"output", kind(c.proc.Out)}, {"errors", kind(c.proc.Err)}, {"size", size},
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
