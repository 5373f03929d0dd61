package ui

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vitrine/trace"
)

// Whatever keys, clicks, sizes, pastes and events come in whatever order: nothing fails, every row is straight, the cursor is on
// the screen, what is painted bit by bit is what would be painted whole, and it can still be left.
func TestMonkey(t *testing.T) {
	keys := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace",
		"delete", "space", "ctrl+x", "ctrl+p", "ctrl+r", "ctrl+j", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+y", "alt+1", "alt+2", "alt+,", "alt+.",
		"alt+up", "alt+down", "?", "/", "a", "n", "N", "y", "Y", "z", "i", "t", "o", "g", "G", "j", "k", "u", "d", "[", "]", "s", "r", "h", "m",
		"l", "<", ">", ",", ".", "w", "c", "q", "p", "x", "e", "v", "b", "/break", "中", "\u0301", "😀", "1", "9", "/help", "/sessions", "/model x", "/todo", "/todo 1", "/clear", "/new", "/retry"}
	fewChecks(t, 6)
	rapid.Check(t, func(r *rapid.T) {
		rng := rand.New(&drawn{t: r})
		d := newDriver(each{t, r}, 120, 36, func(o *Options, f *fake) {
			o.Models = []string{"mock", "other"}
			f.session("held").held = 4711
		})
		d.frames = func(content string) {
			d.straight(content)
			d.paint()
			if c := d.m.view.Cursor; c != nil && d.w >= leastWidth && d.h >= leastHeight && (c.X < 0 || c.X >= d.w || c.Y < 0 || c.Y >= d.h) {
				r.Fatalf("the cursor is at %d,%d of %dx%d", c.X, c.Y, d.w, d.h)
			}
		}
		for range rapid.IntRange(100, 600).Draw(r, "steps") {
			d.anything(rng, keys)
			if d.quit || d.m.quit.leaving {
				return
			}
		}
		d.resize(120, 36)
		for range 3 {
			d.press("esc")
		}
		d.short()
		d.send(endMsg{})
		d.short()
		if !d.quit {
			r.Error("it does not leave")
		}
	})
}

// fewChecks keeps a property that is dear to a few checks, unless more are asked for: -rapid.checks=1000.
func fewChecks(t *testing.T, n int) {
	t.Helper()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if asked {
		return
	}
	before := flag.Lookup("rapid.checks").Value.String()
	_ = flag.Set("rapid.checks", strconv.Itoa(n)) // it is a number
	t.Cleanup(func() { _ = flag.Set("rapid.checks", before) })
}

// drawn is a source of random numbers from a seed that rapid knows. It draws again now and then, so that a failure can be made shorter.
type drawn struct {
	t *rapid.T
	*rand.PCG
	left int
}

func (d *drawn) Uint64() uint64 {
	if d.left--; d.left < 0 {
		d.PCG, d.left = rand.NewPCG(rapid.Uint64().Draw(d.t, "seed"), 1), 40
	}
	return d.PCG.Uint64()
}

// each is one check of a property.
type each struct {
	testing.TB
	r *rapid.T
}

func (e each) Helper()                      { e.r.Helper() }
func (e each) Cleanup(f func())             { e.r.Cleanup(f) }
func (e each) Error(a ...any)               { e.r.Error(a...) }
func (e each) Errorf(f string, a ...any)    { e.r.Errorf(f, a...) }
func (e each) Fatal(a ...any)               { e.r.Fatal(a...) }
func (e each) Fatalf(f string, a ...any)    { e.r.Fatalf(f, a...) }
func (e each) Logf(format string, a ...any) { e.r.Logf(format, a...) }
func (e each) Failed() bool                 { return e.r.Failed() }
func (e each) FailNow()                     { e.r.FailNow() }

// fold tells of a phase of a fold.
func (f *fake) fold(id, phase string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emit(id, phase == "committed" || phase == "undone", trace.CompactData{ID: "f1", Phase: phase, FirstN: 1, LastN: 2, TokensBefore: 6300, TokensAfter: 2900, Limit: 6000, LeavingCount: 2,
		Leaving: []trace.CompactMessage{{N: 1, Kind: "user", Title: "走吧 👨‍👩‍👧", Tokens: 40}, {N: 2, Kind: "assistant", Title: "e\u0301", Tokens: 40}},
		Pinned:  []string{"不要"}, Before: json.RawMessage(`{}`), After: json.RawMessage(`{"facts":["中文 fact"]}`)})
}

func (d *driver) anything(rng *rand.Rand, keys []string) {
	id := d.id()
	s := d.f.sessions[id]
	running := s != nil && s.running
	switch rng.IntN(28) {
	case 13, 14:
		if !running && s != nil && s.held == 0 {
			d.f.mu.Lock()
			d.f.begin(id, clusters[rng.IntN(len(clusters))])
			d.f.mu.Unlock()
		}
		for range rng.IntN(30) {
			if d.f.sessions[id] != nil && d.f.sessions[id].running {
				d.f.stream(id, clusters[rng.IntN(len(clusters))])
			}
		}
		d.short()
	case 15:
		if running {
			d.f.fold(id, []string{"started", "summarised", "checked", "merged", "asked", "committed", "refused", "failed", "undone"}[rng.IntN(9)])
		}
	case 16:
		d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	case 0:
		d.resize(rng.IntN(180), rng.IntN(60))
	case 1:
		d.send(tea.PasteMsg{Content: clusters[rng.IntN(len(clusters))] + "\n" + payload})
	case 2:
		at := tea.Mouse{X: rng.IntN(120), Y: rng.IntN(36), Button: tea.MouseLeft}
		d.send(tea.MouseClickMsg(at))
		for range rng.IntN(4) {
			at.X, at.Y = rng.IntN(120), rng.IntN(36)
			d.send(tea.MouseMotionMsg(at))
		}
		if rng.IntN(4) > 0 {
			d.send(tea.MouseReleaseMsg(at))
		}
	case 3:
		d.send(tea.MouseWheelMsg{X: rng.IntN(120), Y: rng.IntN(36), Button: []tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}[rng.IntN(2)]})
	case 4, 5:
		if running {
			d.f.stream(id, clusters[rng.IntN(len(clusters))])
		}
	case 6:
		if running {
			d.f.tool(id, "search_mock", `{"query":"x"}`, `{"ok":true}`, "1 hit")
		}
	case 7:
		if running {
			d.f.answer(id)
		}
	case 8:
		if s != nil {
			d.f.todo(id, clusters[rng.IntN(len(clusters))])
		}
	case 9:
		d.pass(time.Duration(rng.IntN(3000)) * time.Millisecond)
	case 10:
		d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: []ansi.ModeSetting{ansi.ModeReset, ansi.ModeNotRecognized}[rng.IntN(2)]})
	case 11:
		if running {
			d.f.asked(id, trace.ApprovalData{ID: strconv.Itoa(rng.IntN(3)), Tool: "shell", Cause: []string{"", causeBreak}[rng.IntN(2)], Arguments: json.RawMessage(`{"x":"\u202e y"}`)})
		}
	case 12:
		if running {
			d.f.paused(id, []*trace.Pause{nil, {Step: 1, Model: "m"}}[rng.IntN(2)])
		}
	default:
		k := keys[rng.IntN(len(keys))]
		if len(k) > 1 && k[0] == '/' {
			d.typed(k)
			d.press("enter")
			return
		}
		d.press(k)
	}
}
