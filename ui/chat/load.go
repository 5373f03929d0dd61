package chat

import (
	"strconv"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/list"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Load replaces everything with a session as stored. The events are those that the page has read of its newest runs; they
// tell what messages do not: how long things took, and how turns ended. None is needed.
func (v *View) Load(s runtime.Snapshot, events []trace.Event) {
	live := v.folds.live
	v.clear() // the query stays
	v.rows = nil
	v.loadFolds(s, events)
	f := v.facts(events)
	users := 0
	for _, m := range s.Messages {
		if m.Kind == llm.KindUser {
			users++
		}
	}
	v.turn = s.Session.TurnCount
	v.firstTurn = v.turn - users + 1
	if len(s.Messages) > 0 {
		v.oldest = s.Messages[0].N
	}
	b := builder{view: v, facts: f, turn: v.firstTurn - 1}
	for _, m := range s.Messages {
		b.message(m)
	}
	b.endRun()
	b.rest()
	v.list.Append(items(b.out)...)
	v.redim()
	v.resumeFolds(live, s)
	if s.Run != nil {
		v.resume(s, b)
	}
	for _, in := range s.Inbox {
		v.addQueued(in.ID, in.Text)
	}
	v.list.End()
}

// resume takes up an unfinished run.
func (v *View) resume(s runtime.Snapshot, b builder) {
	v.run = run{id: s.Run.ID, turn: s.Run.Turn, step: s.Run.Step}
	newest := map[string]int{} // an edit makes another row
	for _, c := range s.Calls {
		k := callKey(c.RunID, c.Step, c.CallID)
		newest[k] = max(newest[k], c.Reply)
	}
	for _, c := range s.Calls {
		k := callKey(c.RunID, c.Step, c.CallID)
		t := b.byCall[k]
		if t == nil || c.Reply < newest[k] {
			continue
		}
		t.at.Call, t.callID = c.ID, c.CallID
		if c.Reply > 0 {
			t.ran([]byte(c.Arguments))
		}
		v.calls[c.ID] = t
		at := time.Time{}
		if c.StartedAt != nil {
			at = *c.StartedAt
		}
		switch d, ok := b.facts.results[k]; {
		case ok && d.ID == c.ID: // its result is stored; the model was not told yet
			finishTool(t, d)
		case s.Running || s.HeldBy != 0 || c.Status != runtime.CallStarted:
			v.status(t, string(c.Status), at)
		default:
			v.status(t, string(runtime.CallUnknown), at)
		}
	}
}

// Prepend puts a page of older messages in front. What is on the screen stays.
func (v *View) Prepend(rows []runtime.MessageRow) {
	if len(rows) == 0 {
		return
	}
	users := 0
	for _, m := range rows {
		if m.Kind == llm.KindUser {
			users++
		}
	}
	b := builder{view: v, turn: v.firstTurn - 1 - users, older: true}
	for _, m := range rows {
		b.message(m)
	}
	b.endRun()
	v.firstTurn -= users
	v.oldest = rows[0].N
	v.list.Prepend(items(b.out)...)
	v.redim()
	if v.anchor >= 0 {
		v.anchor += len(b.out)
	}
	v.shorten()
}

// facts are what events say of runs.
type facts struct {
	ends    map[string]trace.RunEndData
	errors  map[string][]trace.ErrorData
	results map[string]trace.ToolResultData // by callKey
	calls   map[string]string               // row ids of calls, by callKey
	asked   map[string]trace.ToolCallData   // what runs, or was not run, by callKey
	turns   map[string]int
}

// callKey names a call in what is stored: servers repeat their ids from step to step, and only those in the window are made unique.
func callKey(run string, step int, call string) string {
	return run + " " + strconv.Itoa(step) + " " + call
}

func (v *View) facts(events []trace.Event) facts {
	f := facts{ends: map[string]trace.RunEndData{}, errors: map[string][]trace.ErrorData{}, results: map[string]trace.ToolResultData{},
		calls: map[string]string{}, asked: map[string]trace.ToolCallData{}, turns: map[string]int{}}
	for _, e := range events {
		switch d := e.Data.(type) {
		case trace.RunStartData:
			f.turns[e.RunID] = e.Turn
		case trace.RunEndData:
			f.ends[e.RunID] = d
		case trace.ErrorData:
			if d.Stored {
				f.errors[e.RunID] = append(f.errors[e.RunID], d)
			}
		case trace.ToolCallData:
			f.calls[callKey(e.RunID, e.Step, d.CallID)], f.asked[callKey(e.RunID, e.Step, d.CallID)] = d.ID, d
		case trace.ApprovalData:
			if d.Phase == "asked" { // again for arguments that the user changed
				f.asked[callKey(e.RunID, e.Step, d.CallID)] = trace.ToolCallData{ID: d.ID, Arguments: d.Arguments}
			}
		case trace.ToolResultData:
			f.results[callKey(e.RunID, e.Step, d.CallID)] = d
			f.calls[callKey(e.RunID, e.Step, d.CallID)] = d.ID
		}
	}
	return f
}

// builder makes blocks of stored messages.
type builder struct {
	view   *View
	facts  facts
	out    []block
	byCall map[string]*toolBlock // by callKey
	turn   int
	runID  string
	told   bool // an error of the run says what to do
	older  bool
	prev   int64 // n of the message before
}

func items(blocks []block) []list.Item {
	out := make([]list.Item, len(blocks))
	for i, b := range blocks {
		out[i] = b
	}
	return out
}

func (b *builder) add(x block) { b.out = append(b.out, x) }

func (b *builder) message(m runtime.MessageRow) {
	if m.RunID != b.runID {
		b.endRun()
		b.runID = m.RunID
	}
	v := b.view
	b.foldsBefore(m)
	switch m.Kind {
	case llm.KindUser:
		b.turn++
		b.add(v.userBlock(b.turn, m.N, m.Content))
	case llm.KindAssistant, llm.KindClosing:
		if m.Kind == llm.KindClosing {
			b.errors()
		}
		if strings.TrimSpace(m.Content) != "" && !(m.Fixed && saidByFoot(m.Content)) {
			t := &textBlock{common: v.common(b.ref(m)), fixed: m.Fixed, answer: len(m.ToolCalls) == 0}
			t.n = m.N
			t.md.Append(shownOf(m.Content, m.Partial))
			t.md.Finish()
			b.add(t)
		}
		for _, c := range m.ToolCalls {
			b.call(m, c)
		}
	case llm.KindTool:
		b.result(m)
	}
}

func (b *builder) ref(m runtime.MessageRow) Ref { return Ref{Turn: b.turn, Step: m.Step} }

func (b *builder) call(m runtime.MessageRow, c llm.ToolCall) {
	key := callKey(m.RunID, m.Step, c.ID)
	if t := b.view.orphans[key]; t != nil && b.older {
		// Its result stands at the beginning of the newer page already.
		t.asked([]byte(c.Arguments))
		delete(b.view.orphans, key)
		return
	}
	at := b.ref(m)
	at.Call = b.facts.calls[key]
	t := b.view.toolBlock(at, c.Name, []byte(c.Arguments))
	t.n = m.N
	if b.byCall == nil {
		b.byCall = map[string]*toolBlock{}
	}
	b.byCall[key] = t
	b.add(t)
	switch d, ok := b.facts.asked[key]; {
	case !ok:
	case sameArgs(d.Shown(), d.Arguments):
		t.ran(d.Arguments)
	default: // the message has an empty object for what could not be run
		t.show(d.Shown())
	}
}

func (b *builder) result(m runtime.MessageRow) {
	key := callKey(m.RunID, m.Step, m.ToolCallID)
	t := b.byCall[key]
	if t == nil {
		t = b.view.toolBlock(b.ref(m), m.ToolName, nil)
		t.at.Call = b.facts.calls[key]
		b.view.orphans[key] = t
		b.add(t)
	}
	t.resultN = m.N
	t.ran(runtime.EditedArguments(m.Content))
	if d, ok := b.facts.results[key]; ok {
		finishTool(t, d)
		return
	}
	t.status = "done"
	t.takeResult([]byte(m.Content))
	t.summary = theme.Bytes(int64(len(m.Content)))
}

// endRun adds what the events say of the run whose messages end here.
func (b *builder) endRun() {
	if b.runID == "" {
		return
	}
	b.errors()
	if d, ok := b.facts.ends[b.runID]; ok {
		b.add(b.view.foot(Ref{Turn: b.turn}, d, b.told))
	}
	b.runID, b.told = "", false
}

// errors adds the failures of the run; they come before the text that closes it.
func (b *builder) errors() {
	for _, d := range b.facts.errors[b.runID] {
		b.add(b.view.errorBlock(Ref{Turn: b.turn}, d))
		b.told = b.told || d.Todo != ""
	}
	delete(b.facts.errors, b.runID)
}

// NoteAway puts a faint line where the reader left; a second call moves it.
func (v *View) NoteAway(at time.Time) {
	text := v.look.th.T("new since %s", at.Format("15:04"))
	for i := v.list.Len() - 1; i >= 0; i-- {
		if n, ok := v.block(i).(*noteBlock); ok && n.kind == "away" {
			v.list.Remove(i)
		}
	}
	v.add(&noteBlock{common: v.common(Ref{}), kind: "away", role: theme.Faint, text: paint.CleanLine(text)})
}
