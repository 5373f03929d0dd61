//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/ui/cli"
)

// The program with a tool of each effect class and a model that knows its script, for the tests that kill it. The process is
// this test binary, started anew; what its tools did is written down outside of it, in the folder that the variable names.
func init() {
	if dir := os.Getenv(crewEnv); dir != "" {
		os.Exit(crewWiring(world{dir}).program().Execute(context.Background(), cli.FromOS()))
	}
}

const crewEnv = "VITRINE_TEST_CREW"

// crewWiring is the program with the tools and the model of these tests.
func crewWiring(l world) wiring {
	clk := clock.Real()
	model := scripted.New(clk, scripted.Func(func(req llm.Request) scripted.Step { return crewStep(req).ChunkSize(8).Pace(time.Millisecond) }).Times(-1))
	return wiring{tools: crewTools(l, clk), client: func(llm.Client) llm.Client { return model.Strict() }}
}

// crewEnviron lets the model work without being asked about anything but what is to be signed.
func crewEnviron(dir string) []string {
	return []string{crewEnv + "=" + dir, "AGENT_TOOL_POLICY=idempotent=auto,probeable=auto,side_effect=auto,sign=ask",
		"AGENT_MAX_TOOL_ITERS=40", "AGENT_MAX_TOOL_CALLS=100", "AGENT_MAX_CTX_TOKENS=100000", "AGENT_MAX_RUN_TOKENS=1000000"}
}

// world is what happened in the world outside: a line for each start of a tool in attempts, and one for each effect in
// effects. A line is the key of the call, the tool and its text.
type world struct{ dir string }

func (l world) add(file string, call tools.Call, tool, text string) error {
	f, err := os.OpenFile(filepath.Join(l.dir, file), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s %s\n", call.Key, tool, text)
	return errors.Join(err, f.Close())
}

// deed is a line of the ledger.
type deed struct{ key, tool, text string }

func (l world) read(file string) ([]deed, error) {
	data, err := os.ReadFile(filepath.Join(l.dir, file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		return nil, fmt.Errorf("%s ends in half a line", file)
	}
	var all []deed
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		all = append(all, deed{f[0], f[1], f[2]})
	}
	return all, nil
}

// has says whether the effect of a key is in.
func (l world) has(key string) (bool, error) {
	all, err := l.read("effects")
	return slices.ContainsFunc(all, func(d deed) bool { return d.key == key }), err
}

// work is the argument of every tool here.
type work struct {
	Text string `json:"text"`
}

// unsure is the beginning of texts of which the probe cannot tell whether they are saved.
const unsure = "unsure"

// crewTools are a tool of each effect class. Each takes a moment before and after its effect, so that it can be killed there.
func crewTools(l world, clk clock.Clock) []tools.Tool {
	moment := func(ctx context.Context) error { return clk.Sleep(ctx, time.Millisecond) }
	do := func(tool string, effect func(tools.Call, work) (tools.Output, error)) func(context.Context, tools.Call, work) (tools.Output, error) {
		return func(ctx context.Context, call tools.Call, in work) (tools.Output, error) {
			if err := errors.Join(l.add("attempts", call, tool, in.Text), moment(ctx)); err != nil {
				return tools.Output{}, err
			}
			out, err := effect(call, in)
			return out, errors.Join(err, moment(ctx))
		}
	}
	done := func(in work) tools.Output { return tools.Output{Data: map[string]string{"done": in.Text}} }
	once := func(tool string) func(tools.Call, work) (tools.Output, error) {
		return func(call tools.Call, in work) (tools.Output, error) {
			had, err := l.has(call.Key)
			if err == nil && !had {
				err = l.add("effects", call, tool, in.Text)
			}
			return done(in), err
		}
	}
	always := func(tool string) func(tools.Call, work) (tools.Output, error) {
		return func(call tools.Call, in work) (tools.Output, error) {
			return done(in), l.add("effects", call, tool, in.Text)
		}
	}
	probe := func(_ context.Context, call tools.Call, in work) (tools.Output, bool, error) {
		if strings.HasPrefix(in.Text, unsure) {
			return tools.Output{}, false, errors.New("the place cannot be looked at")
		}
		had, err := l.has(call.Key)
		return done(in), had, err
	}
	return []tools.Tool{
		tools.New("peek", "looks", tools.ReadOnly, do("peek", func(_ tools.Call, in work) (tools.Output, error) { return done(in), nil })),
		tools.New("note", "adds a todo", tools.OwnData, do("note", func(call tools.Call, in work) (tools.Output, error) {
			out := done(in)
			out.Changes = []tools.Change{tools.TodoAdd{ID: "todo-" + call.Key, Text: in.Text}}
			return out, nil
		})),
		tools.New("put", "puts something, once for each key", tools.Idempotent, do("put", once("put"))),
		tools.New("save", "saves something and can be asked", tools.Probeable, do("save", always("save")), tools.WithProbe(probe)),
		tools.New("fire", "does something that nobody can take back", tools.SideEffect, do("fire", always("fire"))),
		tools.New("sign", "signs something", tools.SideEffect, do("sign", always("sign"))),
		tools.New("hold", "does something that cannot be taken back, and then takes long", tools.SideEffect,
			func(ctx context.Context, call tools.Call, in work) (tools.Output, error) {
				err := errors.Join(l.add("attempts", call, "hold", in.Text), l.add("effects", call, "hold", in.Text))
				return done(in), errors.Join(err, clk.Sleep(ctx, time.Minute))
			}),
	}
}

// plan is what the model wants to have done in a turn, reply by reply.
type plan [][]deed

// crewPlans are the turns that the model knows, by what it is asked.
func crewPlans() map[string]plan {
	return map[string]plan{
		askAll: {
			{{tool: "peek", text: "a"}, {tool: "peek", text: "b"}},
			{{tool: "note", text: "c"}, {tool: "put", text: "d"}},
			{{tool: "save", text: "e"}},
			{{tool: "fire", text: "f"}},
			{{tool: "peek", text: "g"}, {tool: "fire", text: "h"}, {tool: "note", text: "i"}, {tool: "put", text: "j"}, {tool: "save", text: unsure + " k"}, {tool: "fire", text: "l"}},
		},
		askSign: {
			{{tool: "fire", text: "m"}, {tool: "sign", text: "n"}, {tool: "note", text: "o"}},
			{{tool: "sign", text: "p"}, {tool: "sign", text: "q"}},
		},
		askThree: {{{tool: "peek", text: "r"}, {tool: "hold", text: "s"}, {tool: "peek", text: "t"}}},
	}
}

const (
	askAll   = "do it all"
	askSign  = "do what has to be signed"
	askThree = "do three things"
)

// answer is what the model says when all is done.
func (p plan) answer() string {
	var texts []string
	for _, step := range p {
		for _, d := range step {
			texts = append(texts, d.tool+" "+d.text)
		}
	}
	return "All done: " + strings.Join(texts, ", ") + "."
}

// crewStep looks at what came of the turn so far and asks for what is missing in the first reply of the plan that is not done. A
// question that is not in the plans gets a plain answer.
func crewStep(req llm.Request) scripted.Step {
	asked, did := "", map[string]bool{}
	args := map[string]string{}
	for _, m := range req.Messages {
		switch {
		case m.Kind == llm.KindUser:
			asked, did = m.Content, map[string]bool{}
		case m.Role == llm.RoleTool && strings.HasPrefix(m.Content, `{"ok":true`):
			did[args[m.ToolCallID]] = true
		}
		for _, c := range m.ToolCalls {
			args[c.ID] = c.Name + c.Arguments
		}
	}
	p, ok := crewPlans()[asked]
	if !ok {
		return scripted.Text("You said: " + asked)
	}
	for i, step := range p {
		var calls []scripted.Call
		for _, d := range step {
			if a := scripted.Args(work{d.text}); !did[d.tool+a] {
				calls = append(calls, scripted.Call{Name: d.tool, Args: a})
			}
		}
		if len(calls) > 0 {
			return scripted.TextAndCalls(fmt.Sprintf("Part %d of %d.", i+1, len(p)), calls...)
		}
	}
	return scripted.Text(p.answer())
}
