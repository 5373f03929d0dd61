package ui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
)

// Where runs stand still is told apart also when a tool is called like a place: as it is set, and as it is read again.
func TestToolsThatAreNamedLikeBreaks(t *testing.T) {
	var list []tools.Tool
	for _, name := range []string{"model", "next", "look"} {
		list = append(list, tools.New(name, "do it", tools.ReadOnly, func(context.Context, tools.Call, shellInput) (tools.Output, error) {
			return tools.Output{Data: "ok"}, nil
		}))
	}
	sim := clock.NewSim(start)
	p := newOver(t, sim, filepath.Join(t.TempDir(), "s.db"), scripted.New(sim), list...)
	id := p.m.page().id
	for _, c := range []struct {
		at   runtime.Break
		text string
	}{
		{runtime.Break{Tool: "next"}, "break: next "},
		{runtime.Break{Next: true}, "break: next call"},
		{runtime.Break{Tool: "model"}, "break: model "},
		{runtime.Break{Model: true}, "break: model call"},
		{runtime.Break{Tool: "look"}, "break: look "},
		{runtime.Break{}, ""},
	} {
		p.sim.Run(func() {
			if err := p.engine.Set(context.Background(), id, runtime.Setting{Break: &c.at}); err != nil {
				t.Error(err)
			}
		})
		p.pass(10 * time.Second)
		for _, again := range []bool{false, true} {
			if again {
				p.run(p.m.page().reload())
				p.pass(time.Second)
			}
			if got := p.m.page().debug.at; got != c.at {
				t.Errorf("%+v, read again %v: it is %+v", c.at, again, got)
			}
			s := p.status() + " "
			if c.text == "" && strings.Contains(s, "break") || !strings.Contains(s, c.text) || c.at.Tool != "" && strings.Contains(s, c.text+"call") {
				t.Errorf("%+v, read again %v: %q", c.at, again, s)
			}
		}
	}
	p.leave()
}
