// Package ui is the screen of Vitrine: tabs, chat, trace, todos, input and status over Bubble Tea.
//
// How its parts work together. Model is the root: it routes. A size becomes a layout; a key goes to the open dialog, else to
// the Ctrl+X chord, else to the keys that work everywhere, else to the page of the active tab; events go to every page, also
// to hidden ones. A page is one tab: it folds events into what it shows and owns its panes (ui/chat, ui/traceview,
// ui/sidebar), its input (ui/input) and its dialog (ui/dialog). Only Model and page have an Update; everything below is a
// plain struct with methods. Whatever the user can ask for is one entry of commandTable, which feeds the slash commands, the
// palette, the chord and the help.
//
// Update does no input or output: what does stands in commands.go and comes back as a message. Time comes from clock.Clock
// only, so that tests and demos play the same model under simulated time. View joins rows that the parts have styled and
// padded before, and gives the same string while nothing changed.
package ui

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Notice is a standing condition of the program that belongs to no session, such as a trace file that cannot be written.
type Notice struct {
	// ID names the condition: a later notice with the same id replaces the earlier one.
	ID string
	// Text is one line; an empty one takes the notice away.
	Text string
}

// Limits are what the status line counts against; 0 and nil are no limit.
type Limits struct {
	Steps, Calls, Tokens int
	// Deadline is the time that a run may be worked on, Cost what it may cost, in US dollars.
	Deadline time.Duration
	Cost     *float64
}

// Options is what the screen is given.
type Options struct {
	Agent   runtime.Agent
	Library runtime.Library
	// Finder searches what was said; nil: only what is loaded is searched.
	Finder runtime.Finder
	// Drafts keeps what is typed; nil: nothing is kept.
	Drafts runtime.Drafts
	// Branch makes sessions of parts of others; nil: none.
	Branch runtime.Brancher
	// Files are those that inputs may name with @; nil: none.
	Files runtime.WorkFiles
	Feed  runtime.Feed
	// Clock is the real one when nil.
	Clock clock.Clock
	// User owns the sessions.
	User string
	// Session is opened in front; Continue reopens the tabs that were kept even when another process holds all of them.
	Session  string
	Continue bool
	// NewSessionID makes an id that is not taken; nil: USER-window-N.
	NewSessionID func(taken []string) string
	// Model is the model of new sessions, Models the ones to choose from.
	Model  string
	Models []string
	// Offer asks which models there are, the endpoint's and those of this machine; err says what is missing. Nil: only Models.
	Offer func(ctx context.Context) (offers []ModelOffer, err error)
	// Banner is shown in an empty session: which model answers, and how to connect another.
	Banner []string
	// Records is the folder of recordings; empty: the screen cannot be recorded. Secrets are texts that none shows.
	Records string
	Secrets []string
	// Folder is shown on the right of the tab bar.
	Folder string
	Limits Limits
	// Env reads the environment; nil: os.Getenv.
	Env func(string) string
	// Input and Output are the terminal; nil: standard input and output.
	Input, Output *os.File
	// Lang is the language of the screen.
	Lang words.Lang
	// Keys are keys of the configuration in the place of ours; CheckKeys has nothing against them.
	Keys []config.KeyBinding
	// Look is the set of colours; empty: by the terminal's background. Still asks for no motion.
	Look  theme.Name
	Still bool
	// Notify is how hidden tabs tell that they have ended or ask; empty: not at all.
	Notify []config.Notify
	// Stock lets Bubble Tea paint, for terminals on which our own painter fails.
	Stock bool
	// Hold makes the program's own watch for interrupts look away until release is called: while the user's editor has the
	// terminal Ctrl+C reaches both. Nil: there is no other watch.
	Hold func() (release func())
	// CopyDir is where copies go that the terminal does not take; empty: the folder for temporary files.
	CopyDir string
	// LogPath is the file that gets the stack of a panic; empty: a file in the system's temporary folder.
	LogPath string
	// Notices waits for the next notice; an error ends the watching. Nil: there are none.
	Notices func(ctx context.Context) (Notice, error)
	// Faults waits for a panic in a goroutine of the program's background, which ends the screen; an error ends the watching.
	// Nil: there are none.
	Faults func(ctx context.Context) (value any, stack []byte, err error)
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Input == nil {
		o.Input = os.Stdin
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.NewSessionID == nil {
		user := o.User
		o.NewSessionID = func(taken []string) string { return windowID(user, taken) }
	}
	return o
}

// windowID is USER-window-N with the least N that is free.
func windowID(user string, taken []string) string {
	used := make(map[string]bool, len(taken))
	for _, id := range taken {
		used[id] = true
	}
	for n := 1; ; n++ {
		if id := user + "-window-" + strconv.Itoa(n); !used[id] {
			return id
		}
	}
}

// ShortFolder writes the home folder as ~.
func ShortFolder(folder, home string) string {
	if home == "" || home == "/" {
		return folder
	}
	if rest, ok := strings.CutPrefix(folder, home); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "~" + rest
	}
	return folder
}
