package ui

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Ctrl+X L goes through the four looks and the terminal's own; a look that the configuration names stays whatever the terminal says
// of its background.
func TestLooks(t *testing.T) {
	d := newDriver(t, 100, 30)
	for _, want := range []string{"dark", "light", "contrast", "the terminal's 16 colours", "as the terminal says"} {
		d.press("ctrl+x", "l")
		d.sees("look: " + want)
		if want == "the terminal's 16 colours" && strings.Contains(d.m.View().Content, "8;2;") {
			t.Error("16 colours are more")
		}
	}
	d = newDriver(t, 100, 30, func(o *Options, _ *fake) { o.Look = theme.Contrast })
	before := d.m.View().Content
	d.send(tea.BackgroundColorMsg{Color: paintWhite{}})
	if d.m.View().Content != before || !strings.Contains(before, "48;2;0;0;0") {
		t.Error("the look that was chosen does not hold")
	}
}

// Where motion is to be little, nothing turns and nothing slides: while a step works and a fold leaves rows only clocks and text change.
func TestLittleMotion(t *testing.T) {
	d := newDriver(t, 120, 36, func(o *Options, _ *fake) { o.Still = true })
	d.enter("go")
	d.f.stream(d.id(), "I look.")
	d.pass(time.Second)
	d.sees("⠿", "⣏⣹")
	clocks := regexp.MustCompile(`~?[0-9][0-9.,k]*|⠒|⠐|⠂`) // times, tokens, and the bars that grow with them
	before := clocks.ReplaceAllString(d.screen(), "#")
	d.frames = func(string) {
		if got := clocks.ReplaceAllString(d.screen(), "#"); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(before), " ") {
			t.Fatalf("something moves:\n%s\nand\n%s", before, got)
		}
	}
	d.pass(300 * time.Millisecond)
	d.frames = nil
	d.f.mu.Lock()
	meter := trace.Meter{System: 900, Window: 4000, Limit: 6000, MaxTurns: 20}
	d.f.emit(d.id(), false, trace.StateData{State: string(runtime.StateWaitingModel), Meter: &meter})
	small := meter
	small.Window = 100
	d.f.emit(d.id(), false, trace.StateData{State: string(runtime.StateWaitingModel), Meter: &small})
	d.f.mu.Unlock()
	d.short()
	d.sees("1k of 6k") // at once
}

// Nothing is told by colour alone: without colours all states, marks of tabs and weights of what is said differ in their text.
func TestStatesWithoutColour(t *testing.T) {
	s := line.Style{Theme: theme.New(theme.Options{Profile: colorprofile.ASCII}), Metrics: paint.Metrics{Grapheme: true}}
	seen := map[string]string{}
	differ := func(what, text string) {
		t.Helper()
		text = strings.TrimSpace(text)
		if other, twice := seen[text]; twice {
			t.Errorf("%s looks like %s: %q", what, other, text)
		}
		seen[text] = what
	}
	roles := map[string]theme.Role{}
	for _, state := range runtime.States() { // two that have one word have one colour too
		span := stateSpan(s, statusFacts{run: runState{active: !state.Terminal(), state: state}})
		if role, twice := roles[span.Text]; twice && role != span.Role {
			t.Errorf("state %s differs from another by its colour alone: %q", state, span.Text)
		}
		roles[span.Text] = span.Role
	}
	if len(roles) < 10 {
		t.Errorf("only %d states are told apart: %v", len(roles), roles)
	}
	for mark := markNone; mark <= markFailed; mark++ {
		var b strings.Builder
		for _, span := range tabSpans(s, 0, "title", mark, false) {
			b.WriteString(span.Text)
		}
		differ("mark "+strconv.Itoa(int(mark)), b.String())
	}
	clear(seen)
	for _, role := range []theme.Role{theme.Text, theme.Warn, theme.Error} {
		differ("role "+strconv.Itoa(int(role)), statusRow(s, 80, say{text: "words", role: role}, statusFacts{}, nil))
	}
	clear(seen)
	for _, used := range []int{1000, 5500, 6100} { // how full the context is
		differ(strconv.Itoa(used), meterRow(s, 80, trace.Meter{System: 900, Window: used - 900, Limit: 6000}, 0, ""))
	}
}

// Styles have one place: no package of the screen but theme makes colours or attributes, and those that draw recordings.
func TestStylesHaveOnePlace(t *testing.T) {
	sgr := regexp.MustCompile(`\\x1b\[[0-9;]+m`)
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(path, string(filepath.Separator))
		if e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || top == "theme" || top == "record" || top == "demo" || top == "bench" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			if strings.Contains(i.Path.Value, "lipgloss") || i.Path.Value == `"image/color"` {
				t.Errorf("%s imports %s", path, i.Path.Value)
			}
		}
		if top == "paint" { // it clears with them, and reads them
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if m := sgr.Find(source); m != nil {
			t.Errorf("%s writes %s itself", path, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
