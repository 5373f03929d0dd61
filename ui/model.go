package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Model is the root of the screen. It is used by one goroutine: Bubble Tea's, or a test's.
type Model struct {
	env     *env
	cancel  context.CancelFunc
	pages   []*page // never empty
	active  int
	w, h    int
	chord   bool // Ctrl+X was pressed
	stop    stopState
	bar     tabBar
	sub     *trace.Subscription
	quit    quitState
	ticking bool
	notices []Notice
	dirty   bool
	view    tea.View
}

// stopState is the Ctrl+C that waits for a second one.
type stopState struct {
	at  time.Time
	gen int
}

// quitState is how far leaving has come.
type quitState struct {
	waiting bool // for runs to end
	leaving bool // the engine shuts down
	done    bool // it has
	err     error
	// background are sessions whose tabs were closed while their run goes on to its end.
	background map[string]bool
}

// eventBuffer is how many events may wait for the screen before deltas are merged or dropped.
const eventBuffer = 4096

// New makes the screen. Init starts it; Close ends what its commands wait for.
func New(opts Options) *Model {
	opts = opts.withDefaults()
	ctx, cancel := opts.Clock.WithCancel(context.Background())
	m := &Model{env: newEnv(ctx, opts), cancel: cancel, dirty: true, quit: quitState{background: map[string]bool{}}}
	m.pages = []*page{newPage(m.env, "")}
	m.sub = opts.Feed.Subscribe(eventBuffer)
	return m
}

// Close ends every command that waits and gives the subscription back. It may be called twice.
func (m *Model) Close() {
	m.cancel()
	m.sub.Close()
}

// Init asks for what the first screen needs.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(m.env.loadTabs(), m.env.stars(""), m.env.pump(m.sub, time.Time{}), m.env.watchNotices(), m.env.watchFaults(), m.env.watchEnd(), tea.RequestBackgroundColor)
}

// page is the page of the active tab.
func (m *Model) page() *page { return m.pages[m.active] }

// find gives the page of a session, or nil.
func (m *Model) find(id string) *page {
	for _, p := range m.pages {
		if p.id == id {
			return p
		}
	}
	return nil
}

// open lists the sessions of the tabs.
func (m *Model) open() []string {
	ids := make([]string, 0, len(m.pages))
	for _, p := range m.pages {
		if p.id != "" {
			ids = append(ids, p.id)
		}
	}
	return ids
}

func (m *Model) tabs() runtime.Tabs {
	return runtime.Tabs{Sessions: m.open(), Active: m.active, Panes: m.env.panes.encode()}
}

// Update routes a message. It never waits and touches nothing outside of the model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.env.touch()
	cmds := []tea.Cmd{m.route(msg)}
	for i, p := range m.pages {
		p.stand()
		cmds = append(cmds, p.watch(i == m.active), p.keep())
	}
	return m, tea.Batch(append(cmds, m.notify(), m.keepTicking())...)
}

func (m *Model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case eventsMsg:
		return m.apply(msg)
	case tea.MouseMotionMsg:
		return m.drag(msg.Mouse())
	case tickMsg:
		m.ticking, m.dirty = false, true
		return m.env.checkRecording()
	case holdMsg:
		return m.env.after(msg.wait, releaseMsg{})
	case nil:
		return nil
	}
	if cmd, ok := m.terminal(msg); ok {
		return cmd
	}
	m.dirty = true
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(paint.Pasted(msg.Content))
	case tea.MouseWheelMsg:
		return m.wheel(msg.Mouse())
	case tea.MouseReleaseMsg:
		return m.released()
	case tea.MouseClickMsg:
		return m.click(msg.Mouse())
	case openedMsg:
		return m.opened(msg)
	case pageMsg:
		if p := m.find(msg.session()); p != nil {
			return p.Update(msg)
		}
		return nil
	}
	return m.answer(msg)
}

// resetMargins gives the whole screen back for scrolling. A frame that was under way when the size changed may have set the
// margins of the old size, and rows painted after it would land elsewhere.
const resetMargins = "\x1b[r"

// terminal takes what the terminal says of itself.
func (m *Model) terminal(msg tea.Msg) (cmd tea.Cmd, taken bool) {
	e := m.env
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		w, h := max(msg.Width, 0), max(msg.Height, 0)
		if w == m.w && h == m.h {
			return nil, true
		}
		if m.w > 0 {
			cmd = tea.Raw(resetMargins)
		}
		m.w, m.h = w, h
	case tea.RawMsg:
		if msg.Msg != resetMargins {
			return nil, true
		}
		return tea.ClearScreen, true // paint it all
	case tea.BackgroundColorMsg:
		e.light = !msg.IsDark()
		e.pickLook()
	case tea.ColorProfileMsg:
		e.themed(func(o *theme.Options) { o.Profile = msg.Profile })
	case tea.ModeReportMsg:
		if msg.Mode != ansi.ModeUnicodeCore {
			return nil, true
		}
		confirmed := msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet || msg.Value == ansi.ModePermanentlySet
		e.metrics(paint.Metrics{Grapheme: confirmed})
	case tea.KeyReleaseMsg, tea.EnvMsg, tea.FocusMsg, tea.BlurMsg, tea.KeyboardEnhancementsMsg:
		return nil, true
	default:
		return nil, false
	}
	m.restyle()
	return cmd, true
}

// restyle tells the pages that the look or the size changed.
func (m *Model) restyle() {
	m.dirty = true
	for _, p := range m.pages {
		p.restyle()
	}
}

// answer takes what commands of the root bring back.
func (m *Model) answer(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tabsMsg:
		return m.restore(msg)
	case newIDMsg:
		if p := m.find(""); p != nil && msg.replace == "" {
			p.draft.under = msg.id
		}
		return m.env.makeTab(msg)
	case newTabMsg:
		return m.madeTab(msg)
	case branchedMsg:
		return m.branched(msg)
	case offersMsg:
		m.offer(msg)
	case modelsMsg:
		return m.offeredModels(msg)
	case sessionsMsg:
		return m.listed(msg)
	case soughtMsg:
		return m.sought(msg)
	case foundMsg:
		return m.foundAll(msg)
	case starsMsg:
		return m.marked(msg)
	case deletedMsg:
		return m.deleted(msg)
	case closedMsg:
		if msg.err != nil {
			return m.page().tell(theme.Error, m.T("give the session up: %s", m.env.opts.Lang.Tell(msg.err.Error())))
		}
	case savedMsg:
		if msg.err != nil {
			return m.page().tell(theme.Error, m.env.opts.Lang.Tell(msg.err.Error()))
		}
	case noticeMsg:
		return m.notice(msg)
	case exportedMsg:
		return m.exported(msg)
	case recordedMsg:
		return m.recordingSaid(msg)
	case forgetStopMsg:
		if msg.gen == m.stop.gen {
			m.stop.at = time.Time{}
		}
	case endMsg:
		if m.quit.leaving {
			return nil
		}
		return tea.Batch(m.leave(true), m.env.after(saveWithin, forceMsg{}))
	case forceMsg:
		m.cancel()
		return tea.Quit
	case shutdownMsg:
		m.quit.done, m.quit.err = true, msg.err
		m.cancel()
		return tea.Quit
	}
	return nil
}

// apply gives a batch of events to the pages, also to hidden ones.
func (m *Model) apply(msg eventsMsg) tea.Cmd {
	if msg.err != nil {
		return nil // the bus is closed: the program ends
	}
	m.dirty = m.dirty || len(msg.events) > 0
	var cmds []tea.Cmd
	for _, ev := range msg.events {
		if p := m.find(ev.SessionID); p != nil {
			cmds = append(cmds, p.event(ev))
			p.unseen = p.unseen && p != m.page()
		}
		if ev.Name == trace.RunEnd || lost(ev) {
			delete(m.quit.background, ev.SessionID)
		}
	}
	for _, id := range msg.missed {
		if p := m.find(id); p != nil {
			cmds = append(cmds, p.reload())
		}
	}
	if m.quit.waiting && len(m.running()) == 0 {
		cmds = append(cmds, m.leave(false))
	}
	return tea.Batch(append(cmds, m.env.pump(m.sub, m.env.now))...)
}

// lost says that a run could not be stored to its end.
func lost(e trace.Event) bool {
	d, ok := e.Data.(trace.StateData)
	return ok && runtime.State(d.State).Terminal() && d.Reason == string(runtime.ReasonStore)
}

// running lists the sessions that this process works on.
func (m *Model) running() []string {
	var ids []string
	for _, p := range m.pages {
		if p.busy() && p.held == 0 {
			ids = append(ids, p.id)
		}
	}
	for id := range m.quit.background {
		ids = append(ids, id)
	}
	return ids
}

// keepTicking makes spinners and clocks move while something works, faster while something slides, and nothing when idle.
func (m *Model) keepTicking() tea.Cmd {
	if m.ticking || m.env.ctx.Err() != nil {
		return nil
	}
	moves := false
	for _, p := range m.pages {
		moves = moves || p.moves()
	}
	if !moves {
		if m.env.recorded.IsZero() {
			return nil
		}
		m.ticking = true
		return m.env.tick(time.Second) // the clock of the recording
	}
	m.ticking = true
	if m.page().slides() {
		return m.env.tick(slideLength)
	}
	return m.env.tick(phaseLength)
}

// notice keeps a standing condition of the program, or takes it away.
func (m *Model) notice(msg noticeMsg) tea.Cmd {
	if msg.err != nil {
		return nil
	}
	kept := m.notices[:0:0]
	for _, n := range m.notices {
		if n.ID != msg.notice.ID {
			kept = append(kept, n)
		}
	}
	if msg.notice.Text != "" {
		kept = append(kept, msg.notice)
	}
	m.notices = kept
	return m.env.watchNotices()
}
