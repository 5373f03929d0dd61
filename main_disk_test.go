//go:build unix

package main

import (
	"context"
	"database/sql"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/ui/demo"
)

// shots counts what the tool fire did in the world outside.
type shots struct {
	mu   sync.Mutex
	done []string
}

func (s *shots) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.done)
}

// tools is one tool, whose effect nobody can take back. It takes a second of the clock's.
func (s *shots) tools(clk clock.Clock) []tools.Tool {
	type in struct {
		Text string `json:"text"`
	}
	return []tools.Tool{tools.New("fire", "does something that nobody can take back", tools.SideEffect,
		func(ctx context.Context, _ tools.Call, in in) (tools.Output, error) {
			s.mu.Lock()
			s.done = append(s.done, in.Text)
			s.mu.Unlock()
			return tools.Output{Data: in.Text}, clk.Sleep(ctx, time.Second)
		})}
}

// fires is a stage whose model lets the tool fire once for each question, and then gives long answers.
func fires(s *shots, answer string) stage {
	st := stage{tools: s.tools, lockWait: 5 * time.Millisecond, env: []string{"AGENT_TOOL_POLICY=side_effect=auto", "AGENT_MAX_CTX_TOKENS=1000000"}}
	st.model = func(clk clock.Clock) llm.Client {
		return scripted.New(clk, scripted.Func(func(req llm.Request) scripted.Step {
			last := req.Messages[len(req.Messages)-1]
			if last.Role == llm.RoleTool {
				return scripted.Text("Fired " + last.Content[:12] + ". " + answer).Delay(time.Second)
			}
			return scripted.TextAndCalls("Now.", scripted.Call{Name: "fire", Args: scripted.Args(map[string]string{"text": last.Content})}).Delay(time.Second)
		}).Times(-1)).Strict()
	}
	return st
}

// lockDB takes the database's write lock as another program would, and gives it back with free.
func lockDB(t testing.TB, path string) (free func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// parked wants the screen to say that it is not saved and why, and the text in the input to stay while time goes by.
func (p *play) parked(reason string, d time.Duration) {
	p.t.Helper()
	p.wait("NOT SAVED")
	p.until("the reason", func(s demo.Screen) bool { return s.Has(reason) })
	p.Type("typed meanwhile")
	end := p.clk.Now().Add(d)
	for p.clk.Now().Before(end) {
		p.Advance(time.Second)
		p.sees("NOT SAVED", reason, "this tab waits, text and input stay here until they are stored")
	}
}

// unparked wants a run that goes on to its end, and what was typed meanwhile in the input.
func (p *play) unparked() {
	p.t.Helper()
	p.until("saving", func(s demo.Screen) bool { return !s.Has("NOT SAVED") })
	p.done()
	p.seesNot("NOT SAVED", "may not be saved")
	if row := inputRow(p.Screen()); row != "❯ typed meanwhile" {
		p.t.Errorf("the input holds %q", row)
	}
	p.Press("ctrl+c")
}

// stands wants the program, started anew on what is stored, to have the questions, each of them whole and its effect once.
func (s *shots) stands(t *testing.T, p *play, again stage, questions ...string) {
	t.Helper()
	p.quit()
	if got := s.all(); !slices.Equal(got, questions) {
		t.Errorf("fired %q, asked %q", got, questions)
	}
	q := startPlay(t, p.dir, again)
	if got := q.said("ann-window-1"); !slices.Equal(got, questions) {
		t.Errorf("stored are %q, asked were %q", got, questions)
	}
	if got := q.turns("ann-window-1"); len(got) != 4*len(questions) {
		t.Errorf("%d messages for %d questions: %+v", len(got), len(questions), got)
	}
	q.seesNot("NOT SAVED", "interrupted")
	q.tracesAgree(t, fileEvents(t, p.dir), "ann-window-1")
	q.quit()
}

// Another program has the database locked for half a minute, at any point of a turn: the tab waits and says why, nothing is
// dispatched that is not stored, and when the lock is gone the turn goes on.
func TestLockedForAWhile(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after time.Duration // of Enter
		fired int           // while it is locked
	}{{"before the input", -1, 0}, {"in the first reply", 500 * time.Millisecond, 0}, {"in the tool", 1500 * time.Millisecond, 1}, {"in the answer", 2500 * time.Millisecond, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			var s shots
			st := fires(&s, "Fine.")
			p := startPlay(t, t.TempDir(), st)
			p.Type("one")
			var free func()
			if tc.after >= 0 {
				p.Press("enter")
				p.Advance(tc.after)
				free = lockDB(t, p.cfg.DBPath)
			} else {
				free = lockDB(t, p.cfg.DBPath)
				p.Press("enter")
			}
			p.parked("database is locked", 30*time.Second)
			if got := s.all(); len(got) != tc.fired {
				t.Errorf("fired %q while it was locked", got)
			}
			free()
			p.unparked()
			s.stands(t, p, st, "one")
		})
	}
}

// The screen is opened while another program has the database locked: it says so, and works when the lock is gone.
func TestOpenedWhileLocked(t *testing.T) {
	dir := t.TempDir()
	var s shots
	st := fires(&s, "Fine.")
	p := startPlay(t, dir, st)
	p.ask("one")
	p.quit()
	free := lockDB(t, p.cfg.DBPath)
	q := startPlay(t, dir, st)
	q.sees("cannot open: open session ann-window-1: commit to ", "database is locked", "Enter tries again")
	q.Enter("two")
	q.wait("cannot open")
	free()
	q.Press("enter")
	q.wait("Fired")
	if row := inputRow(q.Screen()); row != "❯ two" {
		t.Errorf("the input holds %q", row)
	}
	q.ask("")
	s.stands(t, q, st, "one", "two")
}
