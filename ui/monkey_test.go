package ui

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/trace"
)

// Whatever keys, clicks, sizes, pastes and events come in whatever order: nothing fails, every row is straight, the cursor is on
// the screen, what is painted bit by bit is what would be painted whole, and it can still be left.
func TestMonkey(t *testing.T) {
	keys := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace",
		"delete", "space", "ctrl+x", "ctrl+p", "ctrl+r", "ctrl+j", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+y", "alt+1", "alt+2", "alt+,", "alt+.",
		"alt+up", "alt+down", "?", "/", "a", "n", "N", "y", "Y", "z", "i", "t", "o", "g", "G", "j", "k", "u", "d", "[", "]", "s", "r", "h", "m",
		"l", "<", ">", ",", ".", "w", "c", "q", "p", "x", "e", "v", "b", "/break", "中", "\u0301", "😀", "1", "9", "/help", "/sessions", "/model x", "/todo", "/todo 1", "/clear", "/new", "/retry"}
	seeds, steps := uint64(4), 800
	if testing.Short() {
		seeds, steps = 1, 300
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			d := newDriver(t, 120, 36, func(o *Options, f *fake) {
				o.Models = []string{"mock", "other"}
				f.session("held").held = 4711
			})
			d.frames = func(content string) {
				d.straight(content)
				d.paint()
				if c := d.m.view.Cursor; c != nil && d.w >= leastWidth && d.h >= leastHeight && (c.X < 0 || c.X >= d.w || c.Y < 0 || c.Y >= d.h) {
					t.Fatalf("the cursor is at %d,%d of %dx%d", c.X, c.Y, d.w, d.h)
				}
			}
			for range steps {
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
				t.Error("it does not leave")
			}
		})
	}
}

func (d *driver) anything(rng *rand.Rand, keys []string) {
	id := d.id()
	s := d.f.sessions[id]
	running := s != nil && s.running
	switch rng.IntN(24) {
	case 0:
		d.resize(rng.IntN(180), rng.IntN(60))
	case 1:
		d.send(tea.PasteMsg{Content: clusters[rng.IntN(len(clusters))] + "\n" + payload})
	case 2:
		d.send(tea.MouseClickMsg{X: rng.IntN(120), Y: rng.IntN(36), Button: tea.MouseLeft})
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
