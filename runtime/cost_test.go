package runtime_test

import (
	"context"
	"strings"
	"testing"

	"vitrine/llm/scripted"
)

// A cap on the cost that cannot hold is told once a run; where the cost is known, nothing costs or no cap is set there is nothing to
// tell.
func TestACostNobodyKnows(t *testing.T) {
	call := func() scripted.Step { return scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a"}`}) }
	for name, c := range map[string]struct {
		steps []scripted.Step
		limit *float64
		model string
		want  string // in the one notice; empty: none
	}{
		"no price":   {[]scripted.Step{call().Usage(50, 2, 0), scripted.Text("done").Usage(60, 2, 0)}, dollars(0.001), "scripted", "[price.MODEL] in the configuration file sets it"},
		"no report":  {[]scripted.Step{call(), scripted.Text("done")}, dollars(0.001), "scripted", "AGENT_MAX_RUN_TOKENS holds"},
		"the second": {[]scripted.Step{call().Usage(50, 2, 0).Cost(0.0001), scripted.Text("done").Usage(60, 2, 0)}, dollars(0.001), "scripted", "[price.MODEL]"},
		"known":      {[]scripted.Step{call().Cost(0.0001), scripted.Text("done").Cost(0.0001)}, dollars(0.001), "scripted", ""},
		"no cap":     {[]scripted.Step{call(), scripted.Text("done")}, nil, "scripted", ""},
		"offline":    {[]scripted.Step{call(), scripted.Text("done")}, dollars(0.001), "offline", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c.steps...)
			b.cfg.Limits.Budget.Cost, b.cfg.DefaultModel = c.limit, c.model
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			n := b.notices("cost_unknown")
			if c.want == "" && len(n) == 0 {
				return
			}
			if c.want == "" || len(n) != 1 || n[0].Message != "the cost of scripted is unknown, so AGENT_MAX_RUN_COST (0.0010) cannot hold" || !strings.Contains(n[0].Todo, c.want) {
				t.Errorf("notices %+v, want %q", n, c.want)
			}
		})
	}
}
