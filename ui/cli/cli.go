// Package cli is the command line of Vitrine: what a person types, what comes back on standard output and standard error,
// and the exit code.
//
// Main makes a Program of its parts and calls Execute. Execute parses the arguments (root.go), loads the configuration
// (package runtime/config) and hands over to one command, each in a file of its name.
// Commands reach the engine and the store only through the ports of package runtime, in an App that Program.Open makes when
// a command needs it: `vitrine --version` opens nothing. Every error, whatever its source, becomes text and exit code in
// errors.go and nowhere else. All that is printed for people goes through output.go, which takes control sequences out.
package cli

import (
	"context"
	"io"
	"runtime/debug"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/ui"
	"vitrine/ui/words"
)

// OpenOptions says what a command needs of an App.
type OpenOptions struct {
	// Headless is set for a run without a screen: the offline model answers at once, and a store that stays broken ends the
	// run instead of being waited for.
	Headless bool
	// StoreOnly is set when no session is opened and only App.Library, App.Finder, Prune and Shrink are used: no model client, no
	// engine, no trace file. A store that does not exist is not made: Open then answers fs.ErrNotExist.
	StoreOnly bool
	// Checks are what the answer of the run has to pass; nil is nothing.
	Checks *runtime.Checks
	// Traffic says what is recorded or replayed of what passes to the model.
	Traffic Traffic
	// Staged is set for a demo; nil: the program is what it is.
	Staged *Staged
}

// Staged is what a demo puts in the place of what differs from machine to machine.
type Staged struct {
	// Folder is that of the file tools and of the project's notes; Called is what is shown of its path.
	Folder, Called string
	// Client makes the model of the configuration's; nil: that one.
	Client func(llm.Client) llm.Client
	// Slow is how much longer the tools take; nil: no longer.
	Slow func(tool string) time.Duration
	// NewID makes the ids.
	NewID func() string
}

// App is the opened program.
type App struct {
	// Agent and Feed are nil with StoreOnly.
	Agent   runtime.Agent
	Feed    runtime.Feed
	Library runtime.Library
	Finder  runtime.Finder
	// Drafts keeps what is typed on the screen.
	Drafts runtime.Drafts
	// Branch makes sessions of parts of others.
	Branch runtime.Brancher
	// Files are those that inputs may name; nil when the folder cannot be read.
	Files runtime.WorkFiles
	// Screen opens the terminal's screen on this app and returns when the user left it; nil with StoreOnly.
	Screen func(ctx context.Context, o ScreenOptions) error
	// View gives what Screen would show the program with, for who draws it elsewhere; nil with StoreOnly.
	View func(o ScreenOptions) ui.Options
	// Prune deletes those of the user's sessions that still are as listed and not in use, and says how many went with how many
	// messages, also when it fails on the way. Shrink gives the space of what was deleted back to the disk.
	Prune  func(ctx context.Context, user string, list []runtime.SessionInfo) (sessions int, messages int64, err error)
	Shrink func(ctx context.Context) (Space, error)
	// Notices are lines that the user should know of, such as that the trace file cannot be written.
	Notices func() []string
	// Quiet calls f while nothing is under way in the store that another process would wait for.
	Quiet func(ctx context.Context, f func()) error
	// Close ends the engine, then the store, and waits for both. Running runs are cancelled.
	Close func(ctx context.Context) error
}

// ScreenOptions is what the command line says about the screen.
type ScreenOptions struct {
	// Session is opened in front; empty: the tabs that were kept.
	Session string
	// Continue reopens the kept tabs without asking.
	Continue bool
	// Stock lets Bubble Tea paint in place of us.
	Stock bool
	// Faults waits for a panic of a goroutine in the background; an error ends the watching. Nil: nobody tells of them.
	Faults func(ctx context.Context) (Fault, error)
	// Lang is the language of the screen.
	Lang words.Lang
	// Hold makes interrupts count for nothing until release is called: they are for another program that has the terminal.
	Hold func() (release func())
}

// Signal is a request from outside to stop.
type Signal string

// The signals.
const (
	Interrupt Signal = "interrupt"
	Terminate Signal = "terminate"
	Hangup    Signal = "hangup"
)

// Stream says what stands behind a standard stream.
type Stream int

// The kinds of streams.
const (
	// NoStream is closed, or the null device.
	NoStream Stream = iota
	// Terminal is a person.
	Terminal
	// Data is a pipe, a socket or a file.
	Data
)

// Process is all that Execute takes from the process. FromOS makes it.
type Process struct {
	Args    []string // without the program's name
	Environ []string
	// ConfigDir is the user's configuration folder, or empty with ConfigDirErr saying why there is none.
	ConfigDir    string
	ConfigDirErr error
	Home         string
	// Login gives the login name; it is asked only when a user is needed.
	Login func() string
	// Folder is the working folder, for doctor.
	Folder string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// What stands behind the streams.
	In, Out, Err Stream
	// NeedsTerm says that a terminal without TERM cannot be told from one that places no cursor.
	NeedsTerm bool
	// Columns and Rows are the terminal's size; 0 is unknown.
	Columns, Rows int
	Version       string
}

// StoreState is what doctor tells of the store, found without changing it.
type StoreState struct {
	// Path is absolute.
	Path   string
	Exists bool
	Bytes  int64
	// Holds is what is in it; nil when that is not known, of which Uncounted then tells.
	Holds     *StoreSize
	Uncounted string
	// Text is one line: the schema's version, or what is wrong.
	Text string
	Err  error
}

// StoreSize is what the store holds, of all users.
type StoreSize struct {
	Sessions, Messages, Events, Artifacts int64
	// ArtifactBytes is what the artifacts hold, LogBytes the size of the database's log, FreeBytes what within the database holds
	// nothing.
	ArtifactBytes, LogBytes, FreeBytes int64
	// Partial says that what is only in that log is not counted.
	Partial bool
}

// OpenFunc makes the App of a configuration. Its errors are *StoreError when the store refuses.
type OpenFunc func(ctx context.Context, cfg config.Config, clk clock.Clock, o OpenOptions) (*App, error)

// Program is the command line with what main wired into it. All fields but Crash are needed.
type Program struct {
	Clock clock.Clock
	Open  OpenFunc
	// Inspect looks at the store for doctor.
	Inspect func(ctx context.Context, cfg config.Config) StoreState
	// Reach asks the endpoint for a sign of life, for doctor --check. It returns one line that says what answered.
	Reach func(ctx context.Context, cfg config.Config) (string, error)
	// Describe tells how the endpoint is spoken to and what its model costs, as facts of a name and a text, without asking it.
	Describe func(cfg config.Config) [][]string
	// RuleNames gives the tools and effects that rules of the configuration may name; nil: any name.
	RuleNames func() []string
	// Models asks the endpoint, and this machine, which models there are.
	Models func(ctx context.Context, cfg config.Config) Offer
	// Signals calls f, one call at a time, for each signal that the process gets, until stop is called.
	Signals func(f func(Signal)) (stop func())
	// Crash takes the panics of the clock's goroutines. Nil: they end the process as Go does.
	Crash *Crash
}

// Execute runs one command and gives the exit code. It never panics: the stack of a panic goes to a log file that standard
// error names.
func (p Program) Execute(ctx context.Context, proc Process) (code int) {
	c := &command{prog: p, proc: proc, out: newOutput(proc.Stdout), err: newOutput(proc.Stderr)}
	c.lang = c.language()
	c.out.lang, c.err.lang = c.lang, c.lang
	ctx, cancel := p.Clock.WithCancel(ctx)
	defer cancel()
	c.stop = newStopper(cancel)
	p.Crash.start(p.Clock, proc.Stderr)
	if p.Signals != nil {
		defer p.Signals(c.stop.signal)()
	}
	defer func() {
		if v := recover(); v != nil {
			c.crashed(v, debug.Stack())
			code = ExitFailed
		}
	}()
	return c.finish(c.execute(ctx))
}

// crashed logs a panic and tells of it in one line.
func (c *command) crashed(v any, stack []byte) { tellPanic(c.prog.Clock, c.err, c.logPath, v, stack) }

// command is one call of the program.
type command struct {
	prog Program
	proc Process
	out  *output
	err  *output
	stop *stopper
	// lang is what is printed for people in.
	lang words.Lang
	// logPath is known once the configuration is.
	logPath string
}
