package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/offline"
	"vitrine/llm/scripted"
	"vitrine/runtime"
)

// randomPlay is a demo that nobody wrote: a person who types, waits, resizes, changes tabs, answers and stops; a model that calls tools, fails
// and falls silent; a context that is folded every few turns; commits that fail; and a program that dies and is started again.
type randomPlay struct {
	*play
	t     *testing.T
	rng   *rand.Rand
	stage stage
	todos int
	log   []string
}

// Seeds that are played; VITRINE_SEEDS=FROM:COUNT plays others, by hand. A seed that fails says so, and plays the same again.
func TestRandomDemos(t *testing.T) {
	from, count := 1, 6
	if testing.Short() {
		count = 2
	}
	if a, b, ok := strings.Cut(os.Getenv("VITRINE_SEEDS"), ":"); ok {
		from, _ = strconv.Atoi(a)
		count, _ = strconv.Atoi(b)
	}
	for seed := from; seed < from+count; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { randomDemo(t, uint64(seed)) })
	}
}

func randomDemo(t *testing.T, seed uint64) {
	r := &randomPlay{t: t, rng: rand.New(rand.NewPCG(seed, 77))}
	r.stage = script(scripted.Func(r.reply).Times(-1))
	r.stage.grapheme, r.stage.w, r.stage.h = seed%2 == 0, 120, 34
	r.stage.env = []string{"AGENT_MAX_CTX_TOKENS=4000", "AGENT_MAX_RAW_TURNS=3"}
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("panic: %v", v)
		}
		if t.Failed() {
			t.Logf("VITRINE_SEEDS=%d:1 plays it again; it did %q", seed, r.log)
		}
	}()
	r.fail()
	r.play = startPlay(t, t.TempDir(), r.stage)
	for range 25 {
		r.step()
		if r.Ended() {
			t.Fatal("the screen was left")
		}
		sameAsNew(t, r.play, "after "+r.log[len(r.log)-1])
		if t.Failed() {
			return
		}
	}
	r.check()
	r.leave()
}

// leave ends the program in order. A commit that is made to fail then fails.
func (r *randomPlay) leave() {
	r.ended = true
	r.Close()
	r.clk.Run(func() {
		if err := r.app.Close(context.Background()); err != nil && !strings.Contains(err.Error(), "fault at") {
			r.t.Errorf("close: %v", err)
		}
	})
}

// fail lets some of the commits to come fail.
func (r *randomPlay) fail() {
	kinds := []string{"eio", "enospc"}
	r.t.Setenv(runtime.FaultEnv, fmt.Sprintf("commit.before:%d:%s,commit.after:%d:%s", 5+r.rng.IntN(40), kinds[r.rng.IntN(2)], 5+r.rng.IntN(40), kinds[r.rng.IntN(2)]))
}

// reply is the model's.
func (r *randomPlay) reply(req llm.Request) scripted.Step {
	if len(req.Tools) == 0 { // a summary
		text := ""
		for chunk, err := range offline.New(offline.Config{}).Stream(context.Background(), req) {
			if err == nil {
				text += chunk.Text
			}
		}
		return scripted.Text(text)
	}
	switch r.rng.IntN(12) {
	case 0:
		return scripted.Fail(&llm.Error{Kind: llm.ErrServer, Status: 500, Message: "broken " + clusters[r.rng.IntN(len(clusters))]})
	case 1:
		return scripted.Calls(scripted.Call{Name: "calculator", Args: `{"expression":"1/7"}`}, scripted.Call{Name: "nope", Args: "{"})
	case 2, 3, 4:
		r.todos++
		return scripted.TextAndCalls("看一下", scripted.Call{Name: "todo", Args: scripted.Args(map[string]string{"action": "add", "text": fmt.Sprintf("todo no %d.", r.todos)})},
			scripted.Call{Name: "search_mock", Args: `{"query":"goroutines"}`})
	case 5:
		return scripted.Text("half").Pace(50 * time.Millisecond).HangAfter(1)
	case 6:
		return scripted.Text(mixed(r.rng, 30)).Pace(10 * time.Millisecond).Cut(r.rng.IntN(20))
	}
	return scripted.Text(mixed(r.rng, 5+r.rng.IntN(60))).Pace(time.Duration(r.rng.IntN(20)) * time.Millisecond)
}

// step is one thing that happens.
func (r *randomPlay) step() {
	did := ""
	switch n := r.rng.IntN(20); {
	case n < 7:
		did = fmt.Sprintf("say %d %s", len(r.log), strings.TrimSpace(clusters[r.rng.IntN(4)]))
		r.Press("esc")
		r.Enter(did)
	case n < 12:
		d := time.Duration(r.rng.IntN(4000)) * time.Millisecond
		did = "wait " + d.String()
		r.Advance(d)
	case n == 12:
		w, h := 40+r.rng.IntN(160), 10+r.rng.IntN(50)
		did = fmt.Sprintf("resize %dx%d", w, h)
		r.Resize(w, h)
	case n == 13:
		did = "esc"
		r.Press("esc")
	case n == 14:
		did = "a new tab"
		r.Press("ctrl+x", "n")
	case n == 15:
		did = "the next tab"
		r.Press("ctrl+x", ".")
	case n == 16:
		did = "fold"
		r.Press("ctrl+x", "k")
	case n == 17:
		did = "scroll"
		r.Press([]string{"pgup", "pgdown", "alt+up"}[r.rng.IntN(3)])
	case n == 18:
		did = "start again"
		dir := r.dir
		r.Press("esc")
		r.leave()
		r.again(dir)
	default:
		did = "crash"
		r.again(r.crash())
	}
	r.log = append(r.log, did)
}

// again starts the program on a folder, and resumes what was interrupted.
func (r *randomPlay) again(dir string) {
	r.fail()
	s := r.stage
	s.at = r.clk.Now().Add(time.Second)
	r.play = startPlay(r.t, dir, s)
	r.Advance(time.Second)
	if strings.Contains(r.Screen().String(), "INTERRUPTED") {
		r.Press("tab", "y")
	}
}

// check lets all end, and wants every session whole: turns that are complete and alternate, calls that are answered, and just those
// todos whose calls are said to have succeeded.
func (r *randomPlay) check() {
	sessions := func() []runtime.SessionInfo {
		return stored(r.play, func(ctx context.Context) ([]runtime.SessionInfo, error) { return r.app.Library.Sessions(ctx, "ann") })
	}
	open := func(id string) runtime.Snapshot {
		return stored(r.play, func(ctx context.Context) (runtime.Snapshot, error) {
			snap, err := r.app.Agent.Open(ctx, id, false)
			if err != nil { // the fault that is left over from the play, and comes once
				snap, err = r.app.Agent.Open(ctx, id, false)
			}
			return snap, err
		})
	}
	for tries := 0; ; tries++ {
		running := 0
		for _, info := range sessions() {
			if open(info.ID).Running {
				running++
				r.app.Agent.Cancel(info.ID)
			}
		}
		if running == 0 {
			break
		}
		if tries == 100 {
			r.t.Fatalf("%d runs go on after they were cancelled:\n%s", running, r.Screen())
		}
		r.Advance(time.Second)
	}
	for _, info := range sessions() {
		if state := runtime.State(info.RunState); state != "" && !state.Terminal() {
			continue // interrupted, and not resumed
		}
		r.turns(info.ID)
		rows := stored(r.play, func(ctx context.Context) ([]runtime.MessageRow, error) {
			return r.app.Library.Messages(ctx, info.ID, 0, 1000)
		})
		want := map[string]bool{}
		calls := map[string]string{}
		for _, m := range rows {
			for _, c := range m.ToolCalls {
				if c.Name == "todo" {
					calls[m.RunID+strconv.Itoa(m.Step)+c.ID] = c.Arguments
				}
			}
			if args, ok := calls[m.RunID+strconv.Itoa(m.Step)+m.ToolCallID]; ok && m.Kind == llm.KindTool && strings.HasPrefix(m.Content, `{"ok":true`) {
				_, text, _ := strings.Cut(args, `"text":"`)
				text, _, _ = strings.Cut(text, `"`)
				want[text] = true
			}
		}
		snap := open(info.ID)
		got := map[string]bool{}
		for _, todo := range snap.Todos {
			if got[todo.Text] {
				r.t.Errorf("session %s has the todo %q twice", info.ID, todo.Text)
			}
			got[todo.Text] = true
		}
		if len(got) != len(want) {
			r.t.Errorf("session %s has the todos %v, and the calls that succeeded added %v", info.ID, got, want)
		}
		for text := range want {
			if !got[text] {
				r.t.Errorf("session %s lacks the todo %q", info.ID, text)
			}
		}
	}
}
