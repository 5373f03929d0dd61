package ui

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
)

// Enter goes to the next rule of a tool in this session, from each that the configuration may have: auto, ask, deny, and back to the
// configuration's. What that forbids stays forbidden, and it says so.
func TestTheRulesOfTools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	tool := func(name string, e tools.Effect) tools.Tool {
		return tools.New(name, "do it", e, func(context.Context, tools.Call, shellInput) (tools.Output, error) {
			return tools.Output{Data: "ok"}, nil
		})
	}
	list := []tools.Tool{tool("forbidden", tools.ReadOnly), tool("looks", tools.ReadOnly), tool("writes", tools.SideEffect)}
	open := func(at time.Time) *whole {
		sim := clock.NewSim(at)
		p := newOver(t, sim, path, scripted.New(sim), list...)
		p.enter("/tools")
		return p
	}
	p := open(start)
	effect := regexp.MustCompile(`only reads|changes (this session|something outside)|cannot be taken back`)
	holds := func(name string) string {
		t.Helper()
		for _, row := range strings.Split(p.screen(), "\n") {
			if i := strings.Index(row, name+" "); i >= 0 && effect.MatchString(row) {
				words := slices.DeleteFunc(strings.Fields(row[i:]), func(w string) bool {
					return !slices.Contains([]string{"auto", "ask", "deny", "own", "configuration"}, w)
				})
				return strings.Join(words, " ")
			}
		}
		t.Fatalf("no %s:\n%s", name, p.screen())
		return ""
	}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"looks", []string{"auto", "auto own", "ask own", "deny own", "auto", "auto own"}},
		{"writes", []string{"ask", "auto own", "ask own", "deny own", "ask", "auto own"}},
	} {
		p.press("down")
		for i, want := range c.want {
			if i > 0 {
				p.press("enter")
				p.short()
			}
			if got := holds(c.name); got != want {
				t.Errorf("%s, %d times Enter: %q, want %q", c.name, i, got, want)
			}
		}
	}
	p.press("up", "up")
	for range 2 {
		p.press("enter")
		p.short()
		if got := holds("forbidden"); got != "deny configuration" {
			t.Errorf("forbidden: %q", got)
		}
		if s := p.status(); !strings.Contains(s, "the configuration forbids forbidden: no session allows it") {
			t.Errorf("it is not said: %q", s)
		}
	}
	// A rule of one's own from before the configuration forbade the tool is taken away.
	id := p.m.page().id
	p.sim.Run(func() {
		if err := p.engine.Set(context.Background(), id, runtime.Setting{ToolRule: &runtime.ToolRule{Tool: "forbidden", Rule: runtime.RuleAuto}}); err != nil {
			t.Error(err)
		}
	})
	p.press("esc")
	p.enter("/tools")
	if got := holds("forbidden"); got != "deny configuration" {
		t.Errorf("forbidden, with a rule of its own: %q", got)
	}
	p.press("enter")
	p.short()
	var view runtime.ContextView
	p.sim.Run(func() { view, _ = p.engine.Context(context.Background(), id) })
	if view.Tools[0].Own {
		t.Error("the rule of its own stays")
	}
	p.press("esc")
	p.leave()
	p = open(start.Add(time.Hour)) // they are kept
	if a, b := holds("looks"), holds("writes"); a != "auto own" || b != "auto own" {
		t.Errorf("after a restart: %q, %q", a, b)
	}
	p.press("esc")
	p.leave()
}

// What could not be done is said for what it is.
func TestRulesThatFail(t *testing.T) {
	for change, want := range map[bool]string{true: "the rule is not changed: disk", false: "the rules of tools cannot be read: disk"} {
		d := newDriver(t, 120, 30)
		d.send(toolsMsg{id: d.id(), change: change, err: errors.New("disk")})
		d.settle()
		if got := d.status(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
