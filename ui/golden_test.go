package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// story is the session of the mock-ups: two turns with tools, a third under way, two more tabs.
func story(d *driver) {
	id := d.id()
	d.enter("Read limits.yaml. What may a worker use?")
	d.pass(1900 * time.Millisecond)
	d.f.tool(id, "read_file", `{"path":"limits.yaml"}`, `{"ok":true,"data":"..."}`, "1.2 KB")
	d.f.stream(id, "| resource | request | limit |\n|---|---|---|\n| cpu | 250m | 1 |\n| memory | 192 MiB | 256 MiB |\n| disk | 1 GiB | 2 GiB |\n\nA worker that passes its memory limit is restarted.")
	d.pass(400 * time.Millisecond)
	d.f.answer(id)
	d.f.todo(id, "list the regions")
	d.f.todo(id, "confirm the window with ops")
	d.short()
	d.press("ctrl+x", "n")
	d.enter("cost table")
	d.press("ctrl+x", "n")
	d.enter("go generics")
	d.f.stream(d.id(), "done")
	third := d.id()
	d.press("alt+1")
	d.f.answer(third)
	d.enter("What do 12 workers cost in a week, and does Friday still hold?")
	d.f.stream(id, "I look up the price first, then calculate.")
	d.pass(1900 * time.Millisecond)
	d.f.tool(id, "search_mock", `{"query":"price of a worker hour"}`, `{"ok":true,"data":[1,2,3]}`, "3 hits")
	d.f.stream(id, "Twelve workers cost **$42.34** a week:\n\n```\n12 workers * 7 days * 24 h * $0.021 = $42.336\n```\n\nFriday holds, on the condition that you set: nothing goes out after 15:00. The rollout takes about 40 minutes, so start before 14:20 and leave")
	d.pass(400 * time.Millisecond)
	d.enter("Then add the price per day.")
	d.typed("what changes if we only need 8 of them at night?")
}

func TestGoldenScreens(t *testing.T) {
	for _, s := range [][2]int{{200, 50}, {160, 44}, {100, 30}, {80, 24}, {40, 12}} {
		for _, look := range []string{"dark", "light"} {
			t.Run(fmt.Sprintf("%dx%d_%s", s[0], s[1], look), func(t *testing.T) {
				d := newDriver(t, s[0], s[1])
				if look == "light" {
					d.send(tea.BackgroundColorMsg{Color: paintWhite{}})
				}
				d.frames = d.straight
				story(d)
				if look == "dark" {
					d.golden(fmt.Sprintf("screen_%dx%d", s[0], s[1]))
				}
				// The text is the same in every look; colours are kept for one size.
				if s[0] == 100 {
					golden(t, "look_"+look, d.m.View().Content+"\n")
				}
				if got, want := d.screen(), text(t, fmt.Sprintf("screen_%dx%d", s[0], s[1])); got != want {
					t.Errorf("%s shows other text", look)
				}
			})
		}
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestGoldenDialogs(t *testing.T) {
	for name, keys := range map[string][]string{
		"palette": {"ctrl+p"}, "help": {"ctrl+x", "h"}, "close": {"ctrl+x", "w"}, "chord": {"ctrl+x"}, "event": {"tab", "tab", "k", "enter"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, 120, 36)
			story(d)
			d.frames = d.straight
			d.press(keys...)
			d.golden("dialog_" + name)
		})
	}
}
