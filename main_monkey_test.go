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
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/ui/demo"
)

// monkeyKeys are what a monkey presses. Keys that leave are not among them.
var monkeyKeys = []string{
	"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace", "delete", "space", "ctrl+j", "ctrl+p", "ctrl+r",
	"alt+1", "alt+2", "alt+3", "alt+,", "alt+.", "alt+up", "alt+down", "?", "/", "y", "Y", "x", "n", "N", "g", "G", "j", "k", "d", "u", "z", "t", "f", "[", "]", "i", "a", "1", "ctrl+a", "ctrl+e", "ctrl+k", "ctrl+w",
}

// Whatever is pressed, in whatever order, while runs go on, fail and end: nothing panics, the terminal shows what a repaint
// would show, no row is too wide, no byte is foreign; and when it is killed there, all sessions are whole afterwards.
func TestMonkey(t *testing.T) {
	seeds, steps := 4, 150
	if testing.Short() {
		seeds, steps = 1, 60
	}
	if s := os.Getenv("VITRINE_MONKEY"); s != "" { // a longer search, by hand
		seeds, _ = strconv.Atoi(s)
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { monkey(t, uint64(seed), steps) })
	}
}

func monkey(t *testing.T, seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, 4711))
	reply := scripted.Func(func(llm.Request) scripted.Step {
		switch rng.IntN(8) {
		case 0:
			return scripted.Fail(&llm.Error{Kind: llm.ErrServer, Status: 500, Message: "broken " + clusters[rng.IntN(len(clusters))]})
		case 1:
			return scripted.Calls(scripted.Call{Name: "calculator", Args: `{"expression":"1/7"}`}, scripted.Call{Name: "nope", Args: "{"})
		case 2:
			return scripted.TextAndCalls("看一下", scripted.Call{Name: "todo", Args: scripted.Args(map[string]string{"action": "add", "text": clusters[rng.IntN(len(clusters))] + "x"})})
		case 3:
			return scripted.Text("")
		case 4:
			return scripted.Text(mixed(rng, 30)).Pace(10 * time.Millisecond).Cut(rng.IntN(20))
		}
		return scripted.Text(mixed(rng, rng.IntN(40))).Pace(time.Duration(rng.IntN(20)) * time.Millisecond)
	}).Times(-1)
	s := script(reply)
	s.grapheme, s.w, s.h = seed%2 == 0, 140, 36
	p := startPlay(t, t.TempDir(), s)
	var log []string
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("panic: %v", v)
		}
		if t.Failed() {
			t.Logf("the monkey did %q", log)
		}
	}()
	for range steps {
		did := ""
		switch n := rng.IntN(20); {
		case n < 2:
			did = "text " + clusters[rng.IntN(len(clusters))]
			p.Type(did)
			p.Press("enter")
		case n == 2:
			did = "paste"
			p.Paste(hostile + "\n" + mixed(rng, rng.IntN(10)))
		case n == 3:
			w, h := 1+rng.IntN(200), 1+rng.IntN(60)
			did = fmt.Sprintf("resize %d %d", w, h)
			p.Resize(w, h)
		case n == 4:
			d := time.Duration(rng.IntN(3000)) * time.Millisecond
			did = "wait " + d.String()
			p.Advance(d)
		case n == 5:
			key := "abcdefghijklmnoprstuvwxyz,.<>123"[rng.IntN(32)]
			did = "ctrl+x " + string(key)
			p.Press("ctrl+x", string(key))
		case n == 6:
			commands := []string{"/new", "/close", "/rename 部署 👨‍👩‍👧", "/todo 写 ❤️", "/todo 1", "/retry", "/model mock-2", "/clear", "/sessions", "/help", "/nope", "/todo"}
			did = commands[rng.IntN(len(commands))]
			p.Press("esc", "esc", "esc", "end", "ctrl+u")
			p.Enter(did)
		default:
			did = monkeyKeys[rng.IntN(len(monkeyKeys))]
			p.Press(did)
		}
		log = append(log, did)
		w, h := p.Screen().Size()
		fits(t, p.View(), w, h, s.grapheme)
		if rng.IntN(5) == 0 && !p.Ended() {
			sameAsNew(t, p, "after "+did)
		}
		if t.Failed() || p.Ended() {
			break
		}
	}
	p.Advance(time.Duration(rng.IntN(1000)) * time.Millisecond)
	if !p.Ended() {
		sameAsNew(t, p, "at the end")
		survives(t, p, s)
	}
	if bad := foreignBytes(p.out.String()); bad != "" {
		t.Error(bad)
	}
}

// survives kills the program where it stands, and wants every session of it whole when it is started again.
func survives(t *testing.T, p *play, s stage) {
	t.Helper()
	s.w, s.h = 120, 30
	q := startPlay(t, p.crash(), s)
	list := stored(q, func(ctx context.Context) ([]runtime.SessionInfo, error) {
		return q.app.Library.Sessions(ctx, "ann")
	})
	for _, info := range list {
		if state := runtime.State(info.RunState); state == "" || state.Terminal() {
			q.turns(info.ID)
		}
	}
	q.Press("ctrl+x", "n") // the program goes on
	q.Advance(time.Second)
	q.Enter("what is next?")
	q.until("the end of a run", func(s demo.Screen) bool {
		return strings.HasPrefix(status(s), " ✓") || strings.HasPrefix(status(s), " ✗")
	})
}
