package ui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/paint"
	"vitrine/ui/record"
	"vitrine/ui/theme"
)

// recording writes what is on the screen into a cast, frame by frame with a painter of its own: what the user's terminal cannot do,
// and what is asked of it, is not recorded. The cast grows line by line, so that it can be played when the program is killed.
type recording struct {
	mu      sync.Mutex
	to      *record.Recorder // nil: nothing is recorded
	painter *paint.Painter
	path    string
	since   time.Time
	disk    record.Disk // nil, but in tests
	// broke says that the file takes no more; it is read without waiting for a write.
	broke atomic.Bool
}

// recordedMsg tells what became of a recording that was to begin or end.
type recordedMsg struct {
	path  string
	since time.Time // zero: it has ended
	took  time.Duration
	ended bool // err has ended it
	err   error
}

// start begins a new file; path is what it is called.
func (r *recording) start(path, file string, at time.Time, w, h int, secrets []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to != nil {
		return errors.New("a recording is on: " + r.path)
	}
	to, err := record.New(record.Config{Width: w, Height: h, Title: "vitrine", Start: at, Secrets: secrets, Cast: file, Live: true, Look: record.Look{Disk: r.disk}})
	if err != nil {
		return err
	}
	r.to, r.path, r.since = to, path, at
	r.painter = paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor, Bare: true})
	r.painter.SetMethod(ansi.GraphemeWidth)
	r.painter.Resize(w, h)
	return nil
}

// frame records one.
func (r *recording) frame(at time.Time, v tea.View, w, h int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		return
	}
	if pw, ph := r.painter.Size(); pw != w || ph != h {
		r.painter.Resize(w, h)
		r.to.Resize(at, w, h)
	}
	if out := r.painter.Frame(v); len(out) > 0 {
		r.to.Frame(at, string(out))
	}
	r.broke.Store(r.to.Err() != nil)
}

// stop ends the file; without a recording it does nothing.
func (r *recording) stop(ctx context.Context, at time.Time) (path string, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		return "", 0, nil
	}
	r.to.Frame(at, string(r.painter.Leave()))
	path, took, err = r.path, at.Sub(r.since), r.to.Close(ctx)
	r.to, r.painter = nil, nil
	r.broke.Store(false)
	return path, took, err
}

// Painted is told of each frame that was painted, by one goroutine at a time.
func (m *Model) Painted(at time.Time, v tea.View, w, h int) { m.env.recording.frame(at, v, w, h) }

// record starts a recording of the screen, or ends the one that is on.
func (m *Model) record(path string) tea.Cmd {
	if !m.env.recorded.IsZero() {
		if path != "" {
			return m.page().tell(theme.Error, m.T("a recording is on; Ctrl+X V ends it"))
		}
		return m.env.stopRecording()
	}
	if m.env.opts.Records == "" || m.env.opts.Stock || !paint.Own {
		return m.page().tell(theme.Error, m.T("the screen cannot be recorded here"))
	}
	at := m.env.now
	if path == "" {
		path = "vitrine-" + at.Format("20060102-150405") + ".cast"
	}
	if filepath.Ext(path) != ".cast" {
		path += ".cast"
	}
	file := path
	if !filepath.IsAbs(path) {
		file = filepath.Join(m.env.opts.Records, path)
	}
	w, h := m.w, m.h
	return func() tea.Msg {
		err := m.env.recording.start(path, file, m.env.clk.Now(), w, h, m.env.opts.Secrets)
		return recordedMsg{path: path, since: at, err: err}
	}
}

func (e *env) stopRecording() tea.Cmd {
	return func() tea.Msg {
		path, took, err := e.recording.stop(e.ctx, e.clk.Now())
		return recordedMsg{path: path, took: took, ended: true, err: err}
	}
}

// checkRecording ends a recording whose file takes no more, so that the mark does not say what is not so.
func (e *env) checkRecording() tea.Cmd {
	if !e.recording.broke.Load() {
		return nil
	}
	return e.stopRecording()
}

// endRecording ends it with the screen.
func (m *Model) endRecording() error {
	path, _, err := m.env.recording.stop(context.Background(), m.env.clk.Now())
	if err != nil {
		return fmt.Errorf("end the recording %s: %w", path, err)
	}
	return nil
}

// recordingSaid takes what became of it.
func (m *Model) recordingSaid(msg recordedMsg) tea.Cmd {
	p := m.page()
	switch {
	case msg.err != nil && msg.ended:
		m.env.recorded = time.Time{}
		return p.tell(theme.Error, m.T("the recording ended: %s; it can be played up to there", m.env.opts.Lang.Tell(msg.err.Error())))
	case msg.err != nil:
		m.env.recorded = time.Time{}
		return p.tell(theme.Error, m.T("the recording: %s", m.env.opts.Lang.Tell(msg.err.Error())))
	case !msg.since.IsZero():
		m.env.recorded = msg.since
		return p.tell(theme.Text, m.T("recording to %s; Ctrl+X V ends it", m.env.style.Text(msg.path)))
	}
	m.env.recorded = time.Time{}
	if msg.path == "" {
		return nil
	}
	return p.tell(theme.Text, m.T("recorded %s to %s; look at it before you share it", clockText(msg.took), m.env.style.Text(msg.path)))
}

// clockText is 0:42, or 1:02:03.
func clockText(d time.Duration) string {
	s := int(d / time.Second)
	if s < 3600 {
		return strconv.Itoa(s/60) + ":" + twoDigits(s%60)
	}
	return strconv.Itoa(s/3600) + ":" + twoDigits(s/60%60) + ":" + twoDigits(s%60)
}

func twoDigits(n int) string { return fmt.Sprintf("%02d", n) }

// recordingMark stands in the row of tabs while the screen is recorded; empty while it is not.
func (m *Model) recordingMark() string {
	if m.env.recorded.IsZero() {
		return ""
	}
	return m.env.style.Theme.Glyphs.Recording + " " + m.T("REC") + " " + clockText(max(m.env.now.Sub(m.env.recorded), 0))
}
