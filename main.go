// Vitrine is an agent runtime you can see through, in a terminal.
//
// This file only wires the parts together: ui/cli gets a factory that makes store, model client, tools and engine of a
// configuration, and everything it takes from the process. What the parts do is told in their own packages.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"vitrine/assets"
	"vitrine/llm"
	"vitrine/llm/endpoint"
	"vitrine/llm/offline"
	"vitrine/llm/openai"
	"vitrine/llm/profile"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/runtime/prompt"
	"vitrine/store"
	"vitrine/tools"
	"vitrine/tools/builtin"
	"vitrine/trace"
	"vitrine/trace/rotate"
	"vitrine/ui"
	"vitrine/ui/cli"
	"vitrine/ui/theme"
)

const (
	// resultChars is how much of a tool result stands in the prompt; the rest is an artifact.
	resultChars = 2000
	// parkLimit is how long a run without a screen waits for a store that does not take a commit.
	parkLimit = 30 * time.Second
	// offlinePace is how long the offline model takes for a word on the screen, so that it can be read along.
	offlinePace = 20 * time.Millisecond
	// keptBuffer is how many events may wait for the trace file; those that do not fit it reads from the store.
	keptBuffer = 1024
	// noticeBound is how many notices may wait for the screen.
	noticeBound = 64
)

func main() {
	cobra.MousetrapHelpText = "" // a double click on Windows opens the screen like any other start
	cli.TendHeap(os.Getenv)
	os.Exit(wiring{}.program().Execute(context.Background(), cli.FromOS()))
}

// wiring is what tests may put in the place of real parts. The zero value is the program.
type wiring struct {
	client   func(llm.Client) llm.Client
	tools    []tools.Tool
	park     time.Duration
	lockWait time.Duration
	ids      func() string
	show     func(context.Context, ui.Options) error
	dir      string
	called   string
	slow     func(tool string) time.Duration
	// learned is what endpoints refused and listed, one memory for each data folder; nil keeps none together.
	learned *openai.Memories
}

func (w wiring) program() cli.Program {
	crash := &cli.Crash{Exit: os.Exit}
	if w.learned == nil {
		w.learned = &openai.Memories{}
	}
	return cli.Program{
		Clock: clock.NewReal(crash.Caught), Open: cli.Suspendable(w.open), Inspect: inspect, Reach: w.reach, Describe: w.describe, Models: w.models, Signals: cli.OSSignals, Crash: crash,
		RuleNames: func() []string {
			return runtime.RuleNames(slices.Concat(builtin.All(builtin.Deps{}), builtin.Files(builtin.Deps{}), w.tools)...)
		},
	}
}

// newID gives a UUIDv7: ids sort by the time of their making.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// open makes the parts of the configuration.
func (w wiring) open(ctx context.Context, cfg config.Config, clk clock.Clock, o cli.OpenOptions) (*cli.App, error) {
	if o.StoreOnly {
		if _, err := os.Stat(cfg.DBPath); errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	faults, err := runtime.ParseFaults(os.Getenv(runtime.FaultEnv))
	if err != nil {
		return nil, err
	}
	w = w.staged(o.Staged)
	newID := newID
	if w.ids != nil {
		newID = w.ids
	}
	bus := trace.NewBus(clk)
	notes := newNotices(clk)
	st, err := store.Open(ctx, store.Config{
		Path: cfg.DBPath, Clock: clk, NewID: newID, Publish: bus.Publish, OnNotice: notes.store, Faults: faults, LockWait: w.lockWait,
	})
	if err != nil {
		return nil, storeError(err)
	}
	app := &cli.App{Library: st, Branch: st, Finder: st, Drafts: st, Prune: st.Prune, Shrink: shrink(st), Notices: notes.lines, Quiet: st.Quiet, Close: st.Close}
	if o.StoreOnly {
		return app, nil
	}
	traffic, err := openTraffic(cfg, clk, o.Traffic) // before its paths are resolved
	if err != nil {
		return nil, errors.Join(err, st.Close(ctx))
	}
	root, err := os.OpenRoot(w.folder())
	if err != nil {
		notes.files(err)
	}
	closeRoot := func() error {
		if root == nil {
			return nil
		}
		return root.Close()
	}
	private := cli.OwnPaths(cfg, o.Traffic, learnedPath(cfg))
	if root != nil {
		app.Files = builtin.NewWorkFiles(root, private)
	}
	registry := tools.NewRegistry(append(builtin.All(builtin.Deps{
		Corpus: assets.Corpus(), Todos: st, Artifacts: st, NewID: newID, Root: root, Called: w.called, Private: private, Results: st, Fault: faults.Hit,
	}), w.tools...)...)
	if o.Checks != nil && o.Checks.Tool != "" {
		if _, unknown := registry.Get(o.Checks.Tool); unknown != nil {
			return nil, errors.Join(&cli.UsageError{What: "--expect-tool: " + unknown.Message}, st.Close(ctx), traffic.Close(), closeRoot())
		}
	}
	file := clock.NewGroup(clk)
	writer := trace.NewWriter(trace.WriterConfig{
		Path: cfg.TracePath, MaxChars: cfg.TraceMaxPayload, Clock: clk, OnState: notes.trace, Fault: faults.Hit,
		Read: func(ctx context.Context, session string, after int64, limit int) ([]trace.Event, error) {
			return st.Events(ctx, session, "", after, limit)
		},
	})
	kept := bus.SubscribeKept(keptBuffer)
	file.Go(func() { writer.Run(context.Background(), kept) })
	executor := tools.NewExecutor(clk, registry, tools.Config{Slow: w.slow, OnPanic: func(tool string, value any, stack []byte) {
		logPanic(cfg, clk, "tool "+tool, value, stack)
	}})
	client, closeClient := w.model(cfg, clk, o, traffic)
	engine := runtime.NewEngine(runtime.EngineConfig{
		Store: st, Model: client, DefaultModel: cfg.Endpoint().Model, Registry: registry, Executor: executor, Bus: bus, Clock: clk,
		NewID: newID, Limits: w.limits(cfg, o), System: prompt.WithNotes(assets.SystemPrompt(), w.folder()), User: cfg.User, Faults: faults, Checks: o.Checks, Policy: policy(cfg),
		Memory: st, Owns: st.Owns, Summarize: assets.SummarizePrompt(), Serves: serves(cfg),
		OnPanic: func(p *runtime.PanicError) { logPanic(cfg, clk, "a turn", p.Value, []byte(p.Stack)) },
	})
	app.Agent, app.Feed = engine, bus
	app.View = func(s cli.ScreenOptions) ui.Options { return w.screenOptions(cfg, clk, app, notes, s) }
	app.Screen = func(ctx context.Context, s cli.ScreenOptions) error {
		show := ui.Run
		if w.show != nil {
			show = w.show
		}
		return show(ctx, app.View(s))
	}
	app.Close = func(ctx context.Context) error {
		// Who makes events ends before who writes them.
		err := engine.Shutdown(ctx, false)
		err = errors.Join(err, st.Close(ctx))
		bus.Close()
		closeClient()
		notes.traffic(traffic.Tell())
		return errors.Join(err, traffic.Close(), file.Wait(ctx), closeRoot())
	}
	return app, nil
}

// limits are the bounds of runs and prompts.
func (w wiring) limits(cfg config.Config, o cli.OpenOptions) runtime.Limits {
	l := runtime.Limits{
		Budget: runtime.Budget{
			Steps: cfg.MaxToolIters, Calls: cfg.MaxToolCalls, Tokens: cfg.MaxRunTokens, Cost: cfg.MaxRunCost, Deadline: cfg.RunDeadline,
		},
		ContextTokens: cfg.MaxCtxTokens, RawTurns: cfg.MaxRawTurns, ResultChars: resultChars, Temperature: &cfg.LLMTemperature, ReplyTokens: cfg.LLMMaxTokens,
	}
	switch {
	case cfg.Compact == config.CompactOff:
		l.Fold = runtime.FoldOff
	case cfg.Compact == config.CompactAsk && !o.Headless:
		l.Fold = runtime.FoldAsk // a run without the screen has nobody to ask
	}
	if o.Headless {
		l.Headless = true
		l.ParkLimit = cmp.Or(w.park, parkLimit)
	}
	return l
}

// policy says what may run unasked: the default, with the configuration's rules over it.
func policy(cfg config.Config) *runtime.Policy {
	p := runtime.DefaultPolicy()
	p.Tools = map[string]runtime.Rule{}
	for name, rule := range cfg.ToolPolicy {
		if _, effect := p.Effects[tools.Effect(name)]; effect {
			p.Effects[tools.Effect(name)] = runtime.Rule(rule)
		} else {
			p.Tools[name] = runtime.Rule(rule)
		}
	}
	return p
}

// staged puts what a demo has in the place of the machine's.
func (w wiring) staged(d *cli.Staged) wiring {
	if d == nil {
		return w
	}
	w.dir, w.called, w.ids, w.slow = d.Folder, d.Called, d.NewID, d.Slow
	if d.Client != nil {
		w.client = d.Client
	}
	return w
}

// folder is where the file tools work and the project's notes lie: where the program was started.
func (w wiring) folder() string {
	if w.dir != "" {
		return w.dir
	}
	dir, _ := os.Getwd() // without one there are no file tools, which is told
	return dir
}

// notServed says why a model is not reached.
func notServed(model string) string {
	s := "this session uses the model " + model + ", and no endpoint is set: OPENAI_BASE_URL or OPENAI_API_KEY connects one, --model offline does without"
	if _, _, local := llm.LocalModel(llm.LocalMark + model); local {
		s += "; " + llm.LocalMark + model + " is the one on this machine"
	}
	return s
}

// serves says which models runs can go on with.
func serves(cfg config.Config) func(string) error {
	return func(model string) error {
		if _, _, local := llm.LocalModel(model); local || model == config.OfflineModel || cfg.Remote().Kind != config.Offline {
			return nil
		}
		return errors.New(notServed(model))
	}
}

// learnedPath is the file that remembers what endpoints refused: beside the database.
func learnedPath(cfg config.Config) string {
	return filepath.Join(filepath.Dir(cfg.DBPath), "vitrine-endpoints.json")
}

// wire says how endpoints are spoken to: which profiles there are and what was learned.
func (w wiring) wire(cfg config.Config) openai.Config {
	return openai.Config{Profiles: cfg.Profiles, Memory: w.learned.At(learnedPath(cfg))}
}

// at is where an endpoint is, over how it is spoken to. LLM_PROFILE is for servers on this machine only when there is no other.
func at(w openai.Config, cfg config.Config, end config.Endpoint) openai.Config {
	w.BaseURL, w.Key = end.BaseURL, end.Key.Reveal()
	if end.Kind != config.Local || cfg.Remote().Kind == config.Offline {
		w.Profile = cfg.Profile
	}
	return w
}

// openTraffic opens what is recorded or replayed.
func openTraffic(cfg config.Config, clk clock.Clock, t cli.Traffic) (*endpoint.Traffic, error) {
	traffic, err := endpoint.OpenTraffic(endpoint.TrafficConfig{
		Record: t.Record, Replay: t.Replay, Pace: t.Pace, Clock: clk, Addresses: []string{cfg.OpenAIBaseURL},
		Secrets: cfg.Secrets(),
	})
	if err != nil {
		return nil, &cli.UsageError{What: err.Error(), Do: "name another file"}
	}
	return traffic, nil
}

// model makes the client: the offline model, and the endpoint when there is one.
func (w wiring) model(cfg config.Config, clk clock.Clock, o cli.OpenOptions, t *endpoint.Traffic) (client llm.Client, closeIt func()) {
	pace := offlinePace
	if o.Headless {
		pace = 0
	}
	e := endpoint.Config{Wire: t.Through(w.wire(cfg)), Silence: cfg.LLMTimeout, Retries: cfg.LLMRetries, RetryBase: cfg.LLMRetryBaseDelay, Clock: clk, Rand: rand.Float64,
		Prices: cfg.Prices, Protocol: profile.Protocol(cfg.Protocol)}
	local := e
	local.Wire = at(e.Wire, cfg, config.Endpoint{Kind: config.Local})
	locals := endpoint.NewLocals(local)
	r := endpoint.Routes{Builtin: offline.New(offline.Config{Clock: clk, Pace: pace}), BuiltinName: config.OfflineModel, Local: locals, Missing: notServed}
	closeIt = locals.Close
	if end := cfg.Remote(); end.Kind != config.Offline {
		var closeRemote func()
		e.Wire = at(e.Wire, cfg, end)
		r.Remote, closeRemote = endpoint.New(e)
		closeIt = func() { closeRemote(); locals.Close() }
	}
	client = r
	if w.client != nil {
		client = w.client(client)
	}
	return client, closeIt
}

// screenOptions are those of the terminal's screen on the app.
func (w wiring) screenOptions(cfg config.Config, clk clock.Clock, app *cli.App, notes *notices, s cli.ScreenOptions) ui.Options {
	end := cfg.Endpoint()
	models := []string{end.Model}
	if end.Kind != config.Offline {
		models = append(models, config.OfflineModel)
	}
	folder, _ := os.Getwd() // both are only shown
	home, _ := os.UserHomeDir()
	return ui.Options{
		Agent: app.Agent, Library: app.Library, Finder: app.Finder, Drafts: app.Drafts, Files: app.Files, Branch: app.Branch, Feed: app.Feed, Clock: clk, User: cfg.User, Session: s.Session, Continue: s.Continue,
		Model: end.Model, Models: models, Banner: end.Banner, Folder: ui.ShortFolder(folder, home), LogPath: cli.LogPath(cfg), Notices: notes.next, Faults: faultsOf(s.Faults), Hold: s.Hold, Stock: s.Stock, Notify: cfg.Notify, Look: lookOf(cfg.Look), Still: cfg.Still, Lang: s.Lang, Keys: cfg.Keys, Records: ".", Secrets: cfg.Secrets(),
		Offer:  func(ctx context.Context) ([]ui.ModelOffer, error) { return w.offers(ctx, cfg) },
		Limits: ui.Limits{Steps: cfg.MaxToolIters, Calls: cfg.MaxToolCalls, Tokens: cfg.MaxRunTokens, Deadline: cfg.RunDeadline, Cost: cfg.MaxRunCost},
	}
}

// faultsOf hands panics of the background on to the screen.
func faultsOf(next func(context.Context) (cli.Fault, error)) func(context.Context) (any, []byte, error) {
	if next == nil {
		return nil
	}
	return func(ctx context.Context) (any, []byte, error) {
		f, err := next(ctx)
		return f.Value, f.Stack, err
	}
}

// notices are the standing conditions of the program, kept for a run without a screen and queued for one with it.
type notices struct {
	queue *clock.Queue[ui.Notice]
}

func newNotices(clk clock.Clock) *notices {
	return &notices{queue: clock.NewQueue[ui.Notice](clk, noticeBound)}
}

// files tells that there are no file tools.
func (n *notices) files(err error) {
	n.queue.TryPut(ui.Notice{ID: "files", Text: fmt.Sprintf("the tools cannot read or write files: %v", err)})
}

func (n *notices) traffic(text string) { n.queue.TryPut(ui.Notice{ID: "traffic", Text: text}) }
func (n *notices) store(text string)   { n.queue.TryPut(ui.Notice{ID: "store", Text: text}) }
func (n *notices) trace(stopped bool, err error) {
	text := ""
	if stopped {
		text = fmt.Sprintf("the trace file is not written: %v (AGENT_TRACE_PATH); the store has everything", err)
	}
	n.queue.TryPut(ui.Notice{ID: "trace", Text: text})
}

// next waits for a notice.
func (n *notices) next(ctx context.Context) (ui.Notice, error) { return n.queue.Get(ctx) }

// lines takes what is there.
func (n *notices) lines() []string {
	var lines []string
	for {
		note, ok := n.queue.TryGet()
		if !ok {
			return lines
		}
		if note.Text != "" {
			lines = append(lines, note.Text)
		}
	}
}

func logPanic(cfg config.Config, clk clock.Clock, where string, value any, stack []byte) {
	text := fmt.Sprintf("%s panic in %s: %v\n%s\n", clk.Now().UTC().Format(time.RFC3339), where, value, stack)
	_ = rotate.AppendLog(clk, cli.LogPath(cfg), text) // the run goes on and says that the call failed
}

// storeError marks what another path or other permissions would help.
func storeError(err error) error {
	var (
		refused *store.OpenError
		newer   *store.NewerError
	)
	return &cli.StoreError{Err: err, Configuration: errors.As(err, &refused) || errors.As(err, &newer)}
}

// shrink gives space of the store back.
func shrink(st *store.Store) func(context.Context) (cli.Space, error) {
	return func(ctx context.Context) (cli.Space, error) {
		s, err := st.Shrink(ctx)
		return cli.Space(s), err
	}
}

// inspect looks at the store for doctor.
func inspect(ctx context.Context, cfg config.Config) cli.StoreState {
	info, err := store.Inspect(ctx, cfg.DBPath)
	s := cli.StoreState{Path: info.Path, Exists: info.Exists, Bytes: info.Bytes}
	switch {
	case err != nil:
		s.Err = storeError(err)
		s.Text = s.Err.Error()
	case !info.Exists:
		s.Text = "not there yet; the first run makes it"
	default:
		s.Text = fmt.Sprintf("version %d, newest known %d", info.Version, info.Newest)
		if info.Version < info.Newest {
			s.Text += "; it is brought up to date when it is opened next"
		}
		if size, err := store.Measure(ctx, info.Path); err != nil {
			s.Uncounted = err.Error()
		} else {
			s.Holds = &cli.StoreSize{Sessions: size.Sessions, Messages: size.Messages, Events: size.Events, Artifacts: size.Artifacts,
				ArtifactBytes: size.ArtifactBytes, LogBytes: size.Log, FreeBytes: size.Free, Partial: size.Partial}
		}
	}
	if s.Path == "" {
		s.Path, _ = filepath.Abs(cfg.DBPath)
	}
	return s
}

// models asks the endpoint and this machine for their models.
func (w wiring) models(ctx context.Context, cfg config.Config) cli.Offer {
	end := cfg.Remote()
	list := endpoint.List(ctx, clock.Real(), at(w.wire(cfg), cfg, end), end.Kind != config.Offline)
	offer := cli.Offer{Models: list.Models, Err: list.Err}
	for _, f := range list.Local {
		offer.Local = append(offer.Local, cli.LocalOffer{Server: f.LocalServer, Models: f.Models})
	}
	return offer
}

// offers are the models for the screen's list.
func (w wiring) offers(ctx context.Context, cfg config.Config) (list []ui.ModelOffer, err error) {
	offer := w.models(ctx, cfg)
	for _, l := range cli.ModelLines(cfg, offer) {
		o := ui.ModelOffer{Name: l.Model, At: l.At}
		if l.Context != nil {
			o.Context = *l.Context
		}
		list = append(list, o)
	}
	return list, offer.Err
}

// describe tells how the endpoint is spoken to, for doctor.
func (w wiring) describe(cfg config.Config) [][]string {
	end := cfg.Endpoint()
	return endpoint.Describe(at(w.wire(cfg), cfg, end), end.ModelID()).Facts(cfg.Prices)
}

// reach asks the endpoint for its list of models, and tells how it is spoken to.
func (w wiring) reach(ctx context.Context, cfg config.Config) (string, error) {
	end := cfg.Endpoint()
	ctx, cancel := context.WithTimeout(ctx, endpoint.ReachLimit)
	defer cancel()
	return endpoint.Reach(ctx, at(w.wire(cfg), cfg, end), end.ModelID())
}

// lookOf is the theme of a look; none: by the terminal's background.
func lookOf(l config.Look) theme.Name {
	return map[config.Look]theme.Name{config.LookDark: theme.Dark, config.LookLight: theme.Light, config.LookContrast: theme.Contrast, config.LookSixteen: theme.Sixteen}[l]
}
