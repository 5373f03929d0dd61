package ui

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// B076: the status line tells of each wait: before another attempt why, which of how many and how long; for the first byte, and since the
// last one. Esc is named beside it at every width, and ends it.
func TestTheStatusLineTellsOfWaits(t *testing.T) {
	limit := trace.RetryData{Attempt: 1, Max: 3, WaitMS: 30_000, Status: 429, Cause: "llm.example:8080: HTTP 429: slow down, you are asking too often for the plan that you have"}
	all := limit
	all.Attempt, all.Shared = 0, true
	tool := trace.RetryData{Attempt: 1, Max: 3, WaitMS: 30_000, Call: "c", Tool: "search_the_whole_archive", Cause: "unavailable: the archive is being moved to another place and will be back"}
	waits := map[string]struct {
		begin func(d *driver, id string)
		after time.Duration
		want  [3]string // at 200, 80 and 40 columns
	}{
		"a limit": {func(d *driver, id string) { d.tell(id, limit) }, 6 * time.Second, [3]string{
			"429 RATE LIMIT  again in 24 s, 2 of 3  slow down, you are asking too often for the plan that you have   ",
			"429 RATE LIMIT  again in 24 s, 2 of 3   ", "429 RATE LIMIT 24 s, 2/3  Esc cancel"}},
		"a limit of all tabs": {func(d *driver, id string) { d.tell(id, all) }, 6 * time.Second, [3]string{
			"429 RATE LIMIT  again in 24 s, 1 of 3  all tabs wait  slow down, you", "429 RATE LIMIT  again in 24 s, 1 of 3  all tabs wait   ", "429 RATE LIMIT 24 s, 1/3  Esc cancel"}},
		"after the limit": {func(d *driver, id string) { d.tell(id, limit) }, 42 * time.Second, [3]string{
			"429 RATE LIMIT  waiting 12 s, 2 of 3  slow down, you", "429 RATE LIMIT  waiting 12 s, 2 of 3   ", "waiting 12 s, 2/3  429 "}},
		"a tool": {func(d *driver, id string) { d.tell(id, tool) }, 6 * time.Second, [3]string{
			"TOOL FAILED  search_the_whole_archive again in 24 s, 2 of 3  unavailable", "TOOL FAILED  search_the_whole_archive again in 24 s, 2 of 3   ", "24 s, 2/3  search_the_w"}},
		"the first byte":       {func(*driver, string) {}, 12 * time.Second, [3]string{"waiting 12 s   step 1 of 8", "waiting   step 1/8   12.0 s   cost -   silent 12 s", "waiting 12 s   step 1/8"}},
		"the first byte, soon": {func(*driver, string) {}, time.Second, [3]string{"waiting   step 1 of 8", "waiting   step 1/8", "waiting   step 1/8"}},
		"silence": {func(d *driver, id string) {
			d.f.stream(id, "so far")
			d.pass(time.Second)
			d.f.stream(id, " so good")
			d.short()
		}, 4 * time.Second, [3]string{
			"no data 4 s   step 1 of 8", "no data   step 1/8   5.1 s   cost -   silent 4 s", "no data 4 s"}},
		"silence since a sign of life": {func(d *driver, id string) {
			d.f.stream(id, "so far")
			for range 5 {
				d.pass(time.Second)
				d.tell(id, trace.DeltaData{Kind: "alive"})
			}
		}, 4 * time.Second, [3]string{"no data 4 s   step 1 of 8", "no data   step 1/8   9.3 s   cost -   silent 4 s", "no data 4 s"}},
		"silence since a sign of life before the reply": {func(d *driver, id string) { d.pass(30 * time.Second); d.tell(id, trace.DeltaData{Kind: "alive"}) }, 12 * time.Second, [3]string{
			"no data 12 s   step 1 of 8", "no data   step 1/8   42.1 s   cost -   silent 12 s", "no data 12 s"}},
		"signs of life before the reply": {func(d *driver, id string) { d.kept(id, 11) }, time.Second, [3]string{
			"waiting 12 s   step 1 of 8", "waiting   step 1/8   12.0 s   cost -   alive, silent 12 s", "waiting 12 s"}},
		"signs of life within the reply": {func(d *driver, id string) { d.f.stream(id, "so far"); d.kept(id, 15) }, time.Second, [3]string{
			"no text 15 s   step 1 of 8", "no text   step 1/8   16.0 s   cost -   alive, silent 15 s", "no text 15 s"}},
		"signs of life that soon end in text": {func(d *driver, id string) { d.kept(id, 12); d.f.stream(id, "so far") }, time.Second, [3]string{
			"streaming   step 1 of 8", "streaming   step 1/8", "streaming   step 1/8"}},
		"queued behind others": {func(d *driver, id string) {
			d.tell(id, all)
			d.pass(30 * time.Second)
			d.tell(id, trace.DeltaData{Kind: "queued"})
		}, 12 * time.Second, [3]string{
			"429 RATE LIMIT  queued 12 s, 1 of 3  all tabs wait  slow down, you", "429 RATE LIMIT  queued 12 s, 1 of 3  all tabs wait   ", "queued 12 s, 1/3  "}},
		"queued, soon": {func(d *driver, id string) {
			d.tell(id, all)
			d.pass(30 * time.Second)
			d.tell(id, trace.DeltaData{Kind: "queued"})
		}, time.Second, [3]string{
			"429 RATE LIMIT  queued, 1 of 3  all tabs wait  slow down, you", "429 RATE LIMIT  queued, 1 of 3  all tabs wait   ", "queued, 1/3  "}},
		"sent after the queue": {func(d *driver, id string) {
			d.tell(id, all)
			d.pass(30 * time.Second)
			d.tell(id, trace.DeltaData{Kind: "queued"})
			d.pass(20 * time.Second)
			d.tell(id, trace.DeltaData{Kind: "sent"})
		}, 12 * time.Second, [3]string{"429 RATE LIMIT  waiting 12 s, 1 of 3  all tabs wait  slow down, you", "429 RATE LIMIT  waiting 12 s, 1 of 3  all tabs wait   ", "waiting 12 s, 1/3  "}},
		"silence of a call": {func(d *driver, id string) { d.tell(id, trace.DeltaData{Kind: "call", ID: "todo", Text: "{"}) }, 75 * time.Second, [3]string{
			"no data 1:15   step 1 of 8", "no data   step 1/8   1 m 15 s   cost -   silent 1 m 15 s", "no data 1:15"}},
		"silence of a thought": {func(d *driver, id string) { d.tell(id, trace.DeltaData{Kind: "reasoning", Text: "hm"}) }, 3 * time.Second, [3]string{
			"no data 3 s   step 1 of 8", "no data   step 1/8   3.1 s   cost -   silent 3 s", "no data 3 s"}},
		"a stream": {func(d *driver, id string) { d.pass(5 * time.Second); d.f.stream(id, "so far") }, time.Second, [3]string{
			"streaming   step 1 of 8", "streaming   step 1/8", "streaming   step 1/8"}},
	}
	for name, c := range waits {
		t.Run(name, func(t *testing.T) {
			for i, size := range [][2]int{{200, 50}, {80, 24}, {40, 12}} {
				d := newDriver(t, size[0], size[1])
				d.frames = d.straight
				id := d.id()
				d.enter("go")
				c.begin(d, id)
				d.pass(c.after)
				row := packed(d.status())
				if !strings.Contains(row+"   ", " "+packed(c.want[i])) || !strings.HasSuffix(row, "Esc cancel") {
					t.Errorf("%d columns: %q, want %q and Esc", size[0], row, c.want[i])
				}
				d.press("esc")
				d.short()
				if d.m.page().busy() || !strings.Contains(d.status(), "/ stopped") {
					t.Errorf("%d columns: Esc does not end it: %q", size[0], d.status())
				}
			}
		})
	}
}

// kept tells of a sign of life each second for so many.
func (d *driver) kept(id string, seconds int) {
	for range seconds {
		d.pass(950 * time.Millisecond) // and what telling takes
		d.tell(id, trace.DeltaData{Kind: "alive"})
	}
}

// After a shared wait one request goes out and the others stand in line: each tab says which it is.
func TestTabsTellWhetherTheyAreSent(t *testing.T) {
	sim := clock.NewSim(start)
	refuses := scripted.New(sim,
		scripted.Fail(&llm.Error{Kind: llm.ErrRate, Status: 429, Host: "llm.example", Message: "slow down", RetryAfter: 30 * time.Second, Retryable: true}),
		scripted.Text("here it is").When("two").Delay(20*time.Second), scripted.Text("and this").When("one").Delay(20*time.Second))
	limited := llm.NewLimiter(llm.LimitConfig{Clock: sim}).For("llm.example", refuses)
	p := newOver(t, sim, filepath.Join(t.TempDir(), "s.db"), llm.Retry(limited, llm.RetryConfig{Max: 2, Clock: sim}))
	p.enter("one")
	p.pass(4 * time.Second)
	p.press("ctrl+x", "n")
	p.pass(time.Second)
	p.enter("two")
	p.pass(35 * time.Second)
	if s := p.status(); !strings.Contains(s, "429 RATE LIMIT  waiting ") {
		t.Errorf("the one that is out: %q", s)
	}
	p.press("alt+1")
	if s := p.status(); !strings.Contains(s, "429 RATE LIMIT  queued ") || !strings.Contains(s, ", 2 of 3") {
		t.Errorf("the one in line: %q", s)
	}
	p.pass(20 * time.Second)
	if s := p.status(); !strings.Contains(s, "429 RATE LIMIT  waiting ") {
		t.Errorf("its turn has come: %q", s)
	}
	p.pass(20 * time.Second)
	p.sees("and this", "✓ done")
	p.leave()
}

// All tabs wait after a refusal of one of them: each tells of it, and Esc in one leaves the others waiting.
func TestAllTabsTellOfTheSharedWait(t *testing.T) {
	sim := clock.NewSim(start)
	refused := scripted.New(sim,
		scripted.Fail(&llm.Error{Kind: llm.ErrRate, Status: 429, Host: "llm.example", Message: "slow down", RetryAfter: 30 * time.Second, Retryable: true}),
		scripted.Text("here it is").When("two"))
	limited := llm.NewLimiter(llm.LimitConfig{Clock: sim}).For("llm.example", refused)
	p := newOver(t, sim, filepath.Join(t.TempDir(), "s.db"), llm.Retry(limited, llm.RetryConfig{Max: 2, Clock: sim}))
	p.enter("one")
	p.pass(4 * time.Second)
	if s := p.status(); !strings.Contains(s, "429 RATE LIMIT  again in 26 s, 2 of 3") || !strings.HasSuffix(s, "Esc cancel") {
		t.Errorf("the tab that was refused: %q", s)
	}
	p.press("ctrl+x", "n")
	p.pass(time.Second)
	p.enter("two")
	p.pass(time.Second)
	if s := p.status(); !strings.Contains(s, "429 RATE LIMIT  again in 24 s, 1 of 3  all tabs wait  slow down  ") || !strings.HasSuffix(s, "Esc cancel") {
		t.Errorf("the other tab: %q", s)
	}
	p.press("alt+1", "esc")
	p.pass(time.Second)
	if !strings.Contains(p.status(), "/ stopped") || len(p.m.running()) != 1 {
		t.Errorf("Esc in one tab: %q, running %q", p.status(), p.m.running())
	}
	p.press("alt+2")
	p.pass(30 * time.Second)
	p.sees("here it is", "✓ done")
	p.leave()
}

// packed is a row without the room that its facts keep for longer ones.
func packed(row string) string { return regexp.MustCompile(` {2,}`).ReplaceAllString(row, "  ") }

// Tokens in and out are told apart where there is room for it, and the parts of them where there is more. What is not known has the
// sign for that, and is never 0.
func TestTheStatusLineTellsTokensApart(t *testing.T) {
	n := func(n int) *int { return &n }
	call := func(in, out, cached, reasoning *int) trace.LLMCallData {
		return trace.LLMCallData{Estimate: 900, Text: strings.Repeat("word", 10), PromptTokens: in, CompletionTokens: out, CachedTokens: cached, ReasoningTokens: reasoning}
	}
	for name, c := range map[string]struct {
		tell []trace.Data
		want map[int]string // by width
	}{
		"reported": {[]trace.Data{call(n(3112), n(220), n(2200), n(80)), call(n(3000), n(100), nil, nil)}, map[int]string{
			200: "   6.1k in   2.2k cached   320 out   6.4k of 100k tokens   cost -   80 reasoning", 160: "   6.1k in   320 out   6.4k of 100k tokens   cost -",
			120: "   6.1k in   320 out   cost -", 100: "   6.4k tokens   cost -"}},
		"reported as 0": {[]trace.Data{call(n(3112), n(220), n(0), n(0))}, map[int]string{200: "   3.1k in   0 cached   220 out   3.3k of 100k tokens   cost -   0 reasoning"}},
		"not reported":  {[]trace.Data{call(nil, nil, nil, nil)}, map[int]string{200: "   ~900 in   - cached   ~10 out   ~910 of", 120: "   ~900 in   ~10 out   cost -"}},
		"half":          {[]trace.Data{call(nil, n(7), nil, nil)}, map[int]string{200: "   ~900 in   - cached   ~7 out   ~907 of"}},
		"zeros":         {[]trace.Data{call(n(0), n(0), n(0), n(0))}, map[int]string{200: "   ~900 in   - cached   ~10 out   ~910 of"}},
		"first stream":  {[]trace.Data{trace.DeltaData{Kind: "text", Text: "four words and more."}}, map[int]string{200: " ms   - in   - cached   ~5 out   ~5 of", 120: " ms   - in   ~5 out   cost -"}},
		"nothing yet":   {nil, map[int]string{200: " ms   - in   - cached   - out   0 of 100k tokens   cost -", 120: " ms   - in   - out   cost -"}},
		"ended": {[]trace.Data{call(n(3112), nil, nil, nil), trace.RunEndData{State: "succeeded", Tokens: 3332, PromptTokens: 3112, CompletionTokens: 220,
			CachedTokens: n(9), ReasoningTokens: n(5), Cost: new(0.25)}}, map[int]string{200: "   3.1k in   9 cached   220 out   3.3k of 100k tokens   $0.2500   5 reasoning"}},
		"ended, of old": {[]trace.Data{trace.RunEndData{State: "succeeded", Tokens: 3332}}, map[int]string{200: " ms   3.3k of 100k tokens", 120: " ms   3.3k tokens   cost -"}},
	} {
		for w, want := range c.want {
			d := newDriver(t, w, 40)
			d.frames = d.straight
			d.enter("go")
			for _, data := range c.tell {
				d.tell(d.id(), data)
			}
			if s := packed(d.status()); !strings.Contains(s, packed(want)) {
				t.Errorf("%s at %d: %q, want %q", name, w, s, want)
			}
		}
	}
}
