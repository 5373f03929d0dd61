package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/ui/demo"
	"vitrine/ui/words"
)

// demoFolder is what a demo calls its working folder: the real one has another name each time.
const demoFolder = "~/demo"

// demoStage opens the program for a demo: with its own data, settings, ids and folder, so that a play is the same on every machine.
type demoStage struct {
	c      *command
	script demo.Script
	folder string
	model  *scripted.Client // nil: another model than a scripted one
	in     config.Inputs    // of a live play: the user's
	ids    *demoIDs
	// secrets are what no recording may show.
	secrets []string
}

// demoIDs counts.
type demoIDs struct{ n int }

// next looks like the ids of the program. It is called by one participant of the clock at a time.
func (d *demoIDs) next() string {
	d.n++
	return fmt.Sprintf("019cbd00-0000-7000-8000-%012x", d.n)
}

func (c *command) demoStage(o *options, script demo.Script, dir string) (*demoStage, error) {
	s := &demoStage{c: c, script: script, folder: filepath.Join(dir, "work"), ids: &demoIDs{}}
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	if err := script.WriteFiles(s.folder); err != nil {
		return nil, err
	}
	switch script.Model {
	case demo.ModelScripted:
		s.model = scripted.New(nil, script.Replies...)
	case demo.ModelLive:
		cfg, err := c.load(o)
		if err != nil {
			return nil, err
		}
		if cfg.Endpoint().Kind == config.Offline {
			return nil, &UsageError{What: script.Name + " wants a live model, and no endpoint is set", Do: "OPENAI_BASE_URL or OPENAI_API_KEY connects one"}
		}
		s.secrets = cfg.Secrets()
		if s.in, err = c.inputs(o); err != nil {
			return nil, err
		}
	}
	if err := s.check(dir); err != nil {
		return nil, &UsageError{What: err.Error()}
	}
	return s, nil
}

// check refuses what only the program knows to be wrong.
func (s *demoStage) check(dir string) error {
	names := s.c.prog.RuleNames
	for _, tool := range slices.Sorted(maps.Keys(s.script.Slow)) {
		if names != nil && !slices.Contains(names(), tool) {
			return s.script.Wrong("slow", tool, fmt.Sprintf("there is no tool %q", tool))
		}
	}
	_, err := s.config(dir)
	var wrong *config.Error
	if errors.As(err, &wrong) && s.script.Config[wrong.Name] != "" {
		wrong := *wrong
		wrong.Place = "" // it is known
		return s.script.Wrong("config", wrong.Name, wrong.Error())
	}
	return err
}

// config is the demo's configuration with its data in dir.
func (s *demoStage) config(dir string) (config.Config, error) {
	in := s.in
	in.Environ = slices.Clone(in.Environ)
	for name, value := range s.script.Config {
		in.Environ = append(in.Environ, name+"="+value)
	}
	in.Environ = append(in.Environ, "AGENT_DB_PATH="+filepath.Join(dir, "sessions.db"), "AGENT_TRACE_PATH="+filepath.Join(dir, "traces.jsonl"))
	in.Flags.User, in.RuleNames = "demo", s.c.prog.RuleNames
	return config.Load(in)
}

// Open implements demo.Stage.
func (s *demoStage) Open(ctx context.Context, clk *clock.Sim, dir string, again bool) (demo.Program, error) {
	cfg, err := s.config(dir)
	if err != nil {
		return demo.Program{}, err
	}
	staged := &Staged{Folder: s.folder, Called: demoFolder, NewID: s.ids.next, Slow: func(tool string) time.Duration { return s.script.Slow[tool] }}
	switch {
	case s.model != nil:
		s.model.Move(clk)
		staged.Client = func(llm.Client) llm.Client { return s.model }
	case s.script.Model == demo.ModelLive:
		staged.Client = func(real llm.Client) llm.Client { return paced{inner: real, real: s.c.prog.Clock, play: clk} }
	}
	app, err := s.c.prog.Open(ctx, cfg, clk, OpenOptions{Staged: staged})
	if err != nil {
		return demo.Program{}, err
	}
	opts := app.View(ScreenOptions{Continue: again, Lang: words.Choose(string(cfg.Lang), func(string) string { return "" })})
	opts.Folder, opts.Records, opts.Offer = demoFolder, s.folder, nil
	return demo.Program{Options: opts, Close: app.Close}, nil
}

// paced lets as much time go by in a play as a live model takes: under the clock of a play its server takes none.
type paced struct {
	inner      llm.Client
	real, play clock.Clock
}

// Stream implements llm.Client.
func (p paced) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		last := p.real.Now()
		for chunk, err := range p.inner.Stream(ctx, req) {
			now := p.real.Now()
			if e := p.play.Sleep(ctx, now.Sub(last)); e != nil {
				yield(llm.Chunk{}, e)
				return
			}
			if !yield(chunk, err) {
				return
			}
			last = p.real.Now()
		}
	}
}
