package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/store"
	"vitrine/trace"
	"vitrine/ui/cli"
)

// headless is the whole program but for its screen, under simulated time: the real store and engine, wired by main.
type headless struct {
	t     testing.TB
	clk   *clock.Sim
	dir   string
	app   *cli.App
	model *recorder
}

func startHeadless(t testing.TB, dir string, client func(clock.Clock, llm.Client) llm.Client, env ...string) *headless {
	t.Helper()
	h := &headless{t: t, dir: dir, clk: clock.NewSim(playStart)}
	env = append([]string{"AGENT_DB_PATH=" + filepath.Join(dir, "sessions.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "traces.jsonl")}, env...)
	cfg, err := config.Load(config.Inputs{Environ: env, Flags: config.Flags{User: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	w := wiring{client: func(c llm.Client) llm.Client {
		if client != nil {
			c = client(h.clk, c)
		}
		h.model = &recorder{inner: c}
		return h.model
	}}
	h.clk.Run(func() { h.app, err = w.open(context.Background(), cfg, h.clk, cli.OpenOptions{}) })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *headless) close() {
	h.t.Helper()
	h.do(func(ctx context.Context) error { return h.app.Close(ctx) })
}

// do runs f as a participant.
func (h *headless) do(f func(ctx context.Context) error) {
	h.t.Helper()
	var err error
	h.clk.Run(func() { err = f(context.Background()) })
	if err != nil {
		h.t.Fatal(err)
	}
}

// ask runs one turn of session s and gives its answer.
func (h *headless) ask(text string) string {
	h.t.Helper()
	answer := ""
	h.do(func(ctx context.Context) error {
		if _, err := h.app.Agent.Open(ctx, "s", true); err != nil {
			return err
		}
		before, err := h.app.Library.Runs(ctx, "s", 1000)
		if err != nil {
			return err
		}
		if err := h.app.Agent.Submit(ctx, "s", text); err != nil {
			return err
		}
		for range 100_000 {
			runs, err := h.app.Library.Runs(ctx, "s", 1000)
			if err != nil {
				return err
			}
			if len(runs) > len(before) && runs[0].State.Terminal() {
				if runs[0].State != runtime.StateSucceeded {
					h.t.Errorf("%q ended %s %s", text, runs[0].State, runs[0].Error)
				}
				last, err := h.app.Library.Messages(ctx, "s", 0, 1)
				if err == nil {
					answer = last[0].Content
				}
				return err
			}
			if err := h.clk.Sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		return fmt.Errorf("the turn %q does not end", text)
	})
	return answer
}

// requests are those of turns, without the folds' own.
func (h *headless) requests() []llm.Request {
	h.model.mu.Lock()
	defer h.model.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.model.requests), isFold)
}

func isFold(r llm.Request) bool {
	return strings.HasPrefix(r.Messages[0].Content, "[SUMMARIZE]")
}

// dated is a fact with a name and a date, and how it is asked for.
func dated(rng *rand.Rand, chinese bool) (f fact, small []string) {
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	month, day := 1+rng.IntN(12), 1+rng.IntN(28)
	if chinese {
		name := pick("王", "李", "欧阳", "陈") + pick("小明", "芳", "建国", "雨桐")
		what := pick("生日", "面试", "航班")
		date := fmt.Sprintf("%d月%d日", month, day)
		return fact{fmt.Sprintf("请记住：%s的%s是%s。", name, what, date), fmt.Sprintf("%s的%s是哪天？", name, what), date},
			[]string{"你好", "计算 12*7", "查一下上下文窗口", "谢谢", "计算 (3+4)*5", "帮助", "添加待办：交电费"}
	}
	name := pick("Ada", "Grace", "Linus", "Barbara", "Ken") + pick("", " Lovelace", " Hopper", " Liskov")
	what := pick("birthday", "interview", "flight")
	date := fmt.Sprintf("%s %d", time.Month(month), day)
	return fact{fmt.Sprintf("Remember that the %s of %s is on %s.", what, name, date), fmt.Sprintf("when is the %s of %s?", what, name), date},
		[]string{"hello", "what is 12*7?", "search for context window", "thanks", "what is (3+4)*5?", "help", "add a todo: pay the bill"}
}

// With two raw turns a fact that was told in the first of six turns is answered in the sixth, from the memory block alone;
// two or three turns are raw then, and what left the window is in the store still. In English and Chinese, with names and dates
// drawn at random.
func TestFactOutlivesItsTurn(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		chinese := seed%2 == 1
		t.Run(fmt.Sprintf("seed=%d,chinese=%v", seed, chinese), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			f, small := dated(rng, chinese)
			h := startHeadless(t, t.TempDir(), nil, "AGENT_MAX_RAW_TURNS=2")
			defer h.close()
			h.ask(f.tell)
			for range 4 {
				h.ask(small[rng.IntN(len(small))])
			}
			if answer := h.ask(f.ask); !strings.Contains(answer, f.value) {
				t.Errorf("%q was told, %q answered: %s", f.tell, f.ask, answer)
			}
			reqs := h.requests()
			raw, memory := 0, 0
			for _, m := range reqs[len(reqs)-1].Messages {
				switch {
				case m.Kind == llm.KindMemory && strings.Contains(m.Content, f.value):
					memory++
				case strings.Contains(m.Content, f.value):
					t.Errorf("the fact stands in a message of the %s: %q", m.Role, m.Content)
				case m.Kind == llm.KindUser:
					raw++
				}
			}
			if memory != 1 || raw < 2 || raw > 3 {
				t.Errorf("%d memory blocks with the fact, %d raw turns", memory, raw)
			}
			var rows []runtime.MessageRow
			var evs []trace.Event
			h.do(func(ctx context.Context) (err error) {
				if rows, err = h.app.Library.Messages(ctx, "s", 0, 1000); err == nil {
					evs, err = h.app.Library.Events(ctx, "s", "", 0, 1000)
				}
				return err
			})
			if rows[0].Content != f.tell {
				t.Errorf("the first message is %q", rows[0].Content)
			}
			checkFoldEvents(t, evs)
		})
	}
}

// Small talk alone is folded too.
func TestSmallTalkFolds(t *testing.T) {
	for name, talk := range map[string][]string{
		"english": {"hello", "what is 2+2?", "thanks", "what is 12*7?", "hi"}, "chinese": {"你好", "计算 2+2", "谢谢", "计算 12*7", "你好"},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHeadless(t, t.TempDir(), nil, "AGENT_MAX_RAW_TURNS=2")
			defer h.close()
			for _, text := range talk {
				h.ask(text)
			}
			var evs []trace.Event
			h.do(func(ctx context.Context) (err error) {
				evs, err = h.app.Library.Events(ctx, "s", "", 0, 1000)
				return err
			})
			checkFoldEvents(t, evs)
			for _, ev := range evs {
				if d, ok := ev.Data.(trace.CompactData); ok && (d.Phase == "refused" || d.Phase == "failed") {
					t.Errorf("%s: %s", d.Phase, d.Detail)
				}
			}
		})
	}
}

// checkFoldEvents wants each fold's phases in one piece, as one transaction writes them, and its summary without null.
func checkFoldEvents(t *testing.T, evs []trace.Event) {
	t.Helper()
	folds := 0
	for i, ev := range evs {
		d, ok := ev.Data.(trace.CompactData)
		if !ok || d.Phase != "committed" {
			continue
		}
		folds++
		if strings.Contains(string(d.After), "null") || !json.Valid(d.After) {
			t.Errorf("summary %s", d.After)
		}
		for j, phase := range []string{"merged", "checked", "summarised", "started"} {
			if before, ok := evs[i-1-j].Data.(trace.CompactData); !ok || before.Phase != phase || before.ID != d.ID {
				t.Errorf("%d events before the commit is %+v", j+1, evs[i-1-j])
			}
		}
	}
	if folds == 0 {
		t.Error("nothing was folded")
	}
}

// state is what a fold changes in the store.
type foldState struct {
	from              int64
	summary           bool
	folds, pins, told int
}

// foldStateOf opens a store that nobody has open and reads what folds left in session s.
func foldStateOf(t *testing.T, path string) foldState {
	t.Helper()
	clk := clock.Real()
	st, err := store.Open(t.Context(), store.Config{Path: path, Clock: clk, NewID: newID, Publish: func(...trace.Event) {}, OnNotice: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	list, err := st.Sessions(t.Context(), "ann")
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	row, err := st.OpenSession(t.Context(), "s", "ann", false)
	if err != nil {
		t.Fatal(err)
	}
	folds, err := st.Folds(t.Context(), "s", 10)
	if err != nil {
		t.Fatal(err)
	}
	pins, err := st.Pins(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	evs, err := st.Events(t.Context(), "s", "", 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	s := foldState{from: row.WindowFrom, summary: row.Summary != nil, folds: len(folds), pins: len(pins)}
	for _, ev := range evs {
		if d, ok := ev.Data.(trace.CompactData); ok && d.Phase == "committed" {
			s.told++
		}
	}
	return s
}

// allOrNothing wants a fold to be in the store with all that belongs to it, or not at all.
func allOrNothing(t *testing.T, s foldState) (folded bool) {
	t.Helper()
	if s != (foldState{from: 1}) && s != (foldState{from: 3, summary: true, folds: 1, pins: 1, told: 1}) {
		t.Errorf("half a fold: %+v", s)
	}
	return s.folds > 0
}

const (
	foldTold = "Remember that the deploy is on Friday. You must never deploy after 15:00."
	foldAsk  = "when is the deploy?"
)

// The program stops, as by kill -9, in a fold: in front of its model call, in the middle of the summary, after it. Nothing is
// lost, and the next question is answered.
func TestHaltedInAFold(t *testing.T) {
	for _, at := range []int{0, 1, 5, 20} {
		t.Run(fmt.Sprint("chunk ", at), func(t *testing.T) {
			dir := t.TempDir()
			h := startHeadless(t, dir, func(clk clock.Clock, c llm.Client) llm.Client { return halting{c, clk, at} }, "AGENT_MAX_RAW_TURNS=2")
			h.ask(foldTold)
			h.ask("hello")
			h.clk.Go(func() { _ = h.app.Agent.Submit(context.Background(), "s", "thanks") })
			h.clk.Advance(time.Minute)
			p := &play{t: t, clk: h.clk, dir: dir}
			left := p.crash()
			if allOrNothing(t, foldStateOf(t, filepath.Join(left, "sessions.db"))) {
				t.Error("a fold without its summary")
			}
			again := startHeadless(t, left, nil, "AGENT_MAX_RAW_TURNS=2")
			defer again.close()
			if answer := again.ask(foldAsk); !strings.Contains(answer, "Friday") {
				t.Errorf("answer %q", answer)
			}
		})
	}
}

// halting never comes to an end at a chunk of a summary.
type halting struct {
	llm.Client
	clk clock.Clock
	at  int
}

func (h halting) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	if !isFold(req) {
		return h.Client.Stream(ctx, req)
	}
	return func(yield func(llm.Chunk, error) bool) {
		n := 0
		for c, err := range h.Client.Stream(ctx, req) {
			if n == h.at || c.Done != nil {
				_ = clock.NewLatch(h.clk).Wait(context.Background())
				return
			}
			n++
			if !yield(c, err) {
				return
			}
		}
	}
}

// Killed at every fault point of a turn that folds, the real program leaves all of the fold or nothing, and answers the next
// question.
func TestKilledAtEveryPointOfAFold(t *testing.T) {
	from := t.TempDir()
	env := []string{"AGENT_MAX_RAW_TURNS=2", "USER=ann", "LOGNAME=ann"}
	ask := func(dir, q string) call {
		return vitrine(dir, "run", "--user", "ann", "--session", "s", q).with(env...)
	}
	ask(from, foldTold).ok(t)
	ask(from, "hello").ok(t)
	counted := filepath.Join(t.TempDir(), "counted")
	copyDir(t, from, counted)
	file := filepath.Join(t.TempDir(), "points")
	ask(counted, "thanks").with("VITRINE_FAULT=list:" + file).ok(t)
	if !allOrNothing(t, foldStateOf(t, filepath.Join(counted, "data", "sessions.db"))) {
		t.Fatal("the turn does not fold")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hits := map[string]int{}
	var points []string
	for name := range strings.Lines(string(data)) {
		name = strings.TrimSpace(name)
		hits[name]++
		points = append(points, fmt.Sprintf("%s:%d", name, hits[name]))
	}
	if hits["commit.before"] < 3 || hits["commit.after"] < 3 {
		t.Fatalf("points %v", points)
	}
	points = thin(points)
	if testing.Short() {
		points = points[:min(6, len(points))]
	}
	folded := make(chan bool, len(points))
	t.Run("points", func(t *testing.T) {
		for _, p := range points {
			t.Run(p, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "w")
				copyDir(t, from, dir)
				if r := ask(dir, "thanks").with("VITRINE_FAULT=" + p + ":kill").run(t); r.code != -1 {
					t.Fatalf("not killed: exit code %d\n%s", r.code, r.stderr)
				}
				folded <- allOrNothing(t, foldStateOf(t, filepath.Join(dir, "data", "sessions.db")))
				if answer := ask(dir, foldAsk).ok(t); !strings.Contains(answer, "Friday") {
					t.Errorf("the next question: %s", answer)
				}
			})
		}
	})
	close(folded)
	with := map[bool]int{}
	for f := range folded {
		with[f]++
	}
	if with[false] == 0 || with[true] == 0 && !testing.Short() {
		t.Errorf("killed before and after the commit: %v", with)
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	files, err := filesIn(from)
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range files {
		rel, err := filepath.Rel(from, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, rel), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Without a screen AGENT_COMPACT=ask folds as auto does: there is nobody to ask. off never folds.
func TestCompactModesWithoutAScreen(t *testing.T) {
	for mode, want := range map[string]bool{"auto": true, "ask": true, "off": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, q := range []string{foldTold, "hello", "thanks", foldAsk} {
				out := vitrine(dir, "run", "--user", "ann", "--session", "s", q).with("AGENT_MAX_RAW_TURNS=2", "AGENT_COMPACT="+mode).ok(t)
				if q == foldAsk && !strings.Contains(out, "Friday") {
					t.Errorf("answer %q", out)
				}
			}
			if got := foldStateOf(t, filepath.Join(dir, "data", "sessions.db")); (got.folds > 0) != want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A session of 10,000 messages of 2 KB folds by the user's word: the summary is made in many calls, the commit is a range, a row
// and a few events.
func TestFoldOfALongSession(t *testing.T) {
	calls, length := 0, 10_000
	if testing.Short() {
		length = 1000
	}
	h := startHeadless(t, t.TempDir(), func(clk clock.Clock, _ llm.Client) llm.Client {
		return scripted.New(clk, scripted.Func(func(r llm.Request) scripted.Step {
			if !isFold(r) {
				return scripted.Text("ok")
			}
			calls++
			return scripted.Text(fmt.Sprintf(`{"goals":["go on"],"facts":["part %d: %s"],"todos":[],"unresolved":[]}`, calls, strings.Repeat("was read ", 20)))
		}).Times(-1))
	}, "MODEL=scripted", "OPENAI_BASE_URL=http://127.0.0.1:1/v1")
	defer h.close()
	path := filepath.Join(h.dir, "sessions.db")
	h.do(func(ctx context.Context) error {
		st := h.app.Library.(*store.Store)
		row, err := st.OpenSession(ctx, "s", "ann", true)
		if err != nil {
			return err
		}
		for i := 0; i < length; i += 1000 {
			tx := runtime.Tx{ID: fmt.Sprint("fill", i), SessionID: "s", Fence: row.Fence, At: playStart}
			for j := range 1000 {
				m := runtime.MessageRow{Kind: llm.KindUser, Role: llm.RoleUser, Content: fmt.Sprint(i+j, strings.Repeat(" ten bytes", 200)), Tokens: 400}
				if j%2 == 1 {
					m.Kind, m.Role = llm.KindAssistant, llm.RoleAssistant
				}
				tx.Messages = append(tx.Messages, m)
			}
			if _, err := st.Commit(ctx, tx); err != nil {
				return err
			}
		}
		if _, err := h.app.Agent.Open(ctx, "s", false); err != nil {
			return err
		}
		before := emptyLog(t, path)
		if err := h.app.Agent.Set(ctx, "s", runtime.Setting{Compact: true}); err != nil {
			return err
		}
		if err := h.clk.Sleep(ctx, time.Hour); err != nil {
			return err
		}
		folds, err := st.Folds(ctx, "s", 10)
		if err != nil {
			return err
		}
		if len(folds) != 1 || folds[0].LastN != int64(length-2) || calls < length/10 {
			t.Errorf("folds %+v after %d calls", folds, calls)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			return err
		}
		t.Logf("%d calls, the log grew by %d bytes", calls, info.Size()-before)
		if grown := info.Size() - before; grown == 0 || grown >= 64<<10 {
			t.Errorf("the log grew by %d bytes", grown)
		}
		return nil
	})
	if answer := h.ask("hi"); answer != "ok" {
		t.Errorf("answer %q", answer)
	}
}

// emptyLog moves the log into the database and gives the size of what is left of the file.
func emptyLog(t *testing.T, path string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	var busy, frames, moved int
	if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil || busy != 0 {
		t.Fatalf("empty the log: %v, busy %d", err, busy)
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
