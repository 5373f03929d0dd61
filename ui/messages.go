package ui

import (
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/words"
)

// pageMsg is a message for the page of one session. Those of a page that was closed meanwhile are dropped.
type pageMsg interface{ session() string }

// What commands bring back.
type (
	// tabsMsg is what was open when the program left last.
	tabsMsg struct {
		tabs runtime.Tabs
		err  error
	}
	// newIDMsg is the id that a new session is to have, and those that it cannot have.
	newIDMsg struct {
		id      string
		replace string
		taken   []string
	}
	// newTabMsg is a session that was made, or with err could not be, for a new tab; replace is the session whose tab it takes, empty: one
	// at the end.
	newTabMsg struct {
		id      string
		replace string
		err     error
	}
	// openedMsg is a session as stored, with the newest of its events.
	openedMsg struct {
		id     string
		snap   runtime.Snapshot
		events []trace.Event
		used   runtime.RunUsage
		draft  *runtime.Draft // nil: it could not be read
		err    error
	}
	// olderMsg is a page of older messages.
	olderMsg struct {
		id       string
		messages []runtime.MessageRow
		err      error
	}
	// namesMsg is the files of the folder, as a mention is typed, and those that fit it best.
	namesMsg struct {
		id      string
		query   string
		names   []string
		matches []string
		err     error
	}
	// filesMsg is what the files that an input names hold, and how many tokens that is.
	filesMsg struct {
		id     string
		of     string // the text
		files  []attach.File
		tokens int
	}
	// readFilesMsg asks for them.
	readFilesMsg struct{ id string }
	// submittedMsg is the end of a Submit; the text is the one that was sent.
	submittedMsg struct {
		id, text string
		err      error
	}
	// withdrawnMsg is a queued input that was taken back.
	withdrawnMsg struct {
		id, text string
		err      error
	}
	// setMsg is the end of a Set; what says what was to change, for the case that it failed.
	setMsg struct {
		id    string
		what  words.Text
		err   error
		about string // what was asked for
	}
	// contextMsg is what the next request of the session holds.
	contextMsg struct {
		id   string
		view runtime.ContextView
		err  error
	}
	// toolsMsg is what holds for the tools of a session, perhaps after a change.
	toolsMsg struct {
		id     string
		change bool
		list   []runtime.ToolInfo
		err    error
	}
	// followedMsg is what another process did in a session that it holds.
	followedMsg struct {
		id     string
		gen    int
		events []trace.Event
		run    *runtime.RunRow // its last run as stored
		// looked is set when it was asked who holds the session: by is the process, 0 for none.
		looked bool
		by     int
		err    error
	}
	// expiredMsg takes a line of the status away.
	expiredMsg struct {
		id  string
		gen int
	}
	// calmMsg says that there was a rest for a while, so that a question may take keys.
	calmMsg struct {
		id  string
		gen int
	}
	// untilMsg is the tools that a run may go on until.
	untilMsg struct {
		id   string
		list []runtime.ToolInfo
		err  error
	}
	// keepMsg asks for what was typed to be kept, keptMsg is the end of that.
	keepMsg struct{ id string }
	keptMsg struct {
		id, text string
		err      error
	}
	// asideMsg asks for what cannot be stored to be kept aside, asideKeptMsg is the end of that.
	asideMsg     struct{ id string }
	asideKeptMsg struct {
		id    string
		texts []string
		err   error
	}
	// offersMsg is the sessions at the start of the program.
	offersMsg struct {
		rows []runtime.SessionInfo
		err  error
	}
	// closedMsg is a session that was given up, for a tab that was closed.
	closedMsg struct {
		id  string
		err error
	}
	// sessionsMsg is the list for the picker.
	sessionsMsg struct {
		id   string
		rows []runtime.SessionInfo
		err  error
	}
	// deletedMsg is the end of a deletion.
	deletedMsg struct {
		id, target string
		err        error
	}
	// savedMsg is the end of SaveTabs.
	savedMsg struct{ err error }
	// eventsMsg is a batch from the bus.
	eventsMsg struct {
		events []trace.Event
		missed []string // sessions whose events with a seq were lost on the way
		err    error
	}
	// tickMsg moves spinners and clocks.
	tickMsg struct{}
	// noticeMsg is a standing condition of the program.
	noticeMsg struct {
		notice Notice
		err    error
	}
	// forgetStopMsg ends the time in which a second Ctrl+C leaves.
	forgetStopMsg struct{ gen int }
	// endMsg is a signal that asks to end; forceMsg ends the waiting for the engine after it.
	endMsg   struct{}
	forceMsg struct{}
	// shutdownMsg is the end of the engine.
	shutdownMsg struct{ err error }
)

func (m namesMsg) session() string     { return m.id }
func (m filesMsg) session() string     { return m.id }
func (m readFilesMsg) session() string { return m.id }
func (m openedMsg) session() string    { return m.id }
func (m olderMsg) session() string     { return m.id }
func (m submittedMsg) session() string { return m.id }
func (m withdrawnMsg) session() string { return m.id }
func (m setMsg) session() string       { return m.id }
func (m contextMsg) session() string   { return m.id }
func (m toolsMsg) session() string     { return m.id }
func (m followedMsg) session() string  { return m.id }
func (m expiredMsg) session() string   { return m.id }
func (m calmMsg) session() string      { return m.id }
func (m untilMsg) session() string     { return m.id }
func (m keepMsg) session() string      { return m.id }
func (m keptMsg) session() string      { return m.id }
func (m asideMsg) session() string     { return m.id }
func (m asideKeptMsg) session() string { return m.id }
