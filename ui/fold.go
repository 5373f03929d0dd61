package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/runtime/prompt"
	"vitrine/trace"
	"vitrine/ui/dialog"
	"vitrine/ui/line"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here is what the user does with the context: folding it, taking that back, pins, and looking into it.

// compact follows a fold: its question comes and goes.
func (p *page) compact(e trace.Event, d trace.CompactData) tea.Cmd {
	switch d.Phase {
	case "asked":
		if e.Seq == 0 && p.held == 0 {
			p.asking = &d
		}
	case "committed", "failed", "refused":
		p.asking = nil
		if p.focus == paneQuestion {
			p.focusOn(paneInput)
		}
		if d.Phase == "refused" && e.RunID == "" && e.Seq == 0 {
			return p.tell(theme.Text, p.T("not folded: %s", p.env.opts.Lang.Tell(d.Detail)))
		}
	case "undone":
		return p.tell(theme.Text, p.T("the fold is taken back: %s to %s", theme.Tokens(d.TokensBefore, false), theme.Tokens(d.TokensAfter, false)))
	}
	return nil
}

// answerFold gives the user's word on a fold.
func (p *page) answerFold(yes bool) tea.Cmd {
	p.asking = nil
	p.focusOn(paneInput)
	return p.env.set(p.id, "answer the fold", runtime.Setting{Fold: &yes})
}

// pinned keeps the list of pins.
func (p *page) pinned(e trace.Event) {
	d, ok := e.Data.(trace.PinData)
	if !ok {
		return
	}
	p.pins = slices.DeleteFunc(slices.Clone(p.pins), func(r runtime.PinRow) bool { return r.ID == d.ID })
	if d.Action == "added" {
		p.pins = append(p.pins, runtime.PinRow{ID: d.ID, SessionID: p.id, Text: d.Text, N: d.N, CreatedAt: e.TS})
	}
}

// What the answers to the question of an interrupted run do.
const (
	resuming words.Text = "resume the run"
	givingUp words.Text = "give the run up"
	deciding words.Text = "answer for the call"
)

// changedBy is the end of a change.
func (p *page) changedBy(msg setMsg) tea.Cmd {
	var refused *runtime.RefusedError
	switch {
	case errors.As(msg.err, &refused):
		return p.tell(theme.Warn, p.T("%s: %s", p.T(msg.what), p.env.opts.Lang.Tell(refused.Why)))
	case errors.Is(msg.err, runtime.ErrNotFound) && msg.what == unpinning:
		return p.tell(theme.Error, p.T("there is no pin %s", msg.about))
	case msg.what == editing:
		return p.accepted(msg.err)
	case msg.err != nil && msg.what == stoppingCall && errors.Is(msg.err, runtime.ErrNotFound):
		return p.tell(theme.Text, p.T("that call does not run any more"))
	case msg.err != nil && (msg.what == resuming || msg.what == givingUp || msg.what == deciding || msg.what == stepping):
		return tea.Batch(p.fail(msg.what, msg.err), p.reload()) // the question is still open
	case msg.err != nil:
		return p.fail(msg.what, msg.err)
	}
	if _, open := p.dialog.(*dialog.Context); open {
		return p.env.context(p.id) // what it shows may have changed
	}
	if msg.what == addingTodo {
		return p.tell(theme.Text, p.T("added to the todos"))
	}
	return nil
}

// fold folds the context now, or takes the last fold back.
func (m *Model) fold(arg string) tea.Cmd {
	p := m.page()
	switch strings.ToLower(arg) {
	case "":
	case "undo":
		return m.undoFold()
	default:
		return p.tell(theme.Error, p.T("/compact folds now, /compact undo takes the last fold back"))
	}
	if !p.writable() {
		return p.tell(theme.Error, p.whyNot())
	}
	p.leavePast()
	p.columns.chat.End()
	return m.env.set(p.id, "fold", runtime.Setting{Compact: true})
}

func (m *Model) undoFold() tea.Cmd {
	p := m.page()
	if !p.writable() {
		return p.tell(theme.Error, p.whyNot())
	}
	return m.env.set(p.id, "take the fold back", runtime.Setting{UndoFold: true})
}

// pin pins a sentence.
func (m *Model) pin(arg string) tea.Cmd {
	p := m.page()
	switch {
	case !p.writable():
		return p.tell(theme.Error, p.whyNot())
	case arg == "":
		return tea.Batch(p.setInput("/pin "), p.tell(theme.Text, p.T("what no fold may lose: /pin TEXT")))
	}
	return tea.Batch(m.env.set(p.id, "pin", runtime.Setting{Pin: arg}), p.tell(theme.Text, p.T("pinned: %s", arg)))
}

// unpinning says what a setting was to do.
const unpinning words.Text = "unpin"

// unpin takes a pin away, by its number or text, or asks which.
func (m *Model) unpin(arg string) tea.Cmd {
	p := m.page()
	switch {
	case !p.writable():
		return p.tell(theme.Error, p.whyNot())
	case arg != "":
		set := m.env.set(p.id, unpinning, runtime.Setting{Unpin: arg})
		return func() tea.Msg {
			msg := set().(setMsg)
			msg.about = arg
			return msg
		}
	case len(p.pins) == 0:
		return p.tell(theme.Text, p.T("nothing is pinned; /pin TEXT pins a sentence"))
	}
	items := make([]dialog.Item, 0, len(p.pins))
	for i, r := range p.pins {
		from := p.T("by you")
		if n := p.columns.chat.TurnOf(r.N); r.N > 0 && n > 0 {
			from = p.T("turn %d", n)
		} else if r.Source == "rule" {
			from = p.T("a rule")
		}
		items = append(items, dialog.Item{ID: r.ID, Label: fmt.Sprintf("%d  %s", i+1, r.Text), Cells: []dialog.Cell{{Text: from, Role: theme.Faint}}})
	}
	return p.show(dialog.NewPicker(kindPins, p.T("UNPIN"), "", items, false, m.env.dkeys), p.id)
}

// openContext shows what the next request holds.
func (m *Model) openContext() tea.Cmd {
	p := m.page()
	switch {
	case p.broken != "" || !p.loaded:
		return p.tell(theme.Error, p.whyNot())
	case p.held != 0:
		return p.tell(theme.Text, p.T("%s; it knows what is sent next", p.whyNot()))
	case p.busy() && p.debug.pause == nil:
		return p.tell(theme.Text, p.T(map[bool]words.Text{
			true:  "the context changes while it is folded; look when that has ended, or into the trace",
			false: "the context changes while a turn runs; look when that has ended, or into the trace",
		}[p.folding()]))
	}
	return m.env.context(p.id)
}

// inspect opens the inspector, or brings it up to date.
func (p *page) inspect(msg contextMsg) tea.Cmd {
	if msg.err != nil {
		if _, open := p.dialog.(*dialog.Context); open {
			p.dialog = nil
		}
		return p.tell(theme.Text, p.T("the context cannot be shown now: %s", p.env.opts.Lang.Tell(msg.err.Error())))
	}
	if open, ok := p.dialog.(*dialog.Context); ok {
		open.SetView(msg.view)
		return nil
	}
	if p.dialog != nil {
		return nil
	}
	return p.show(dialog.NewContext(kindContext, msg.view, p.env.dkeys), p.id)
}

// inspected does what the inspector asks for.
func (m *Model) inspected(p *page, r dialog.Inspected) tea.Cmd {
	switch r.Act {
	case dialog.ActFold:
		p.dialog = nil
		return m.fold("")
	case dialog.ActPin:
		if r.Part.Kind != string(llm.KindUser) {
			return p.tell(theme.Text, p.T("p pins what you said: choose a user row"))
		}
		text := firstSentence(attach.Text(r.Part.Content))
		return tea.Batch(m.env.set(p.id, "pin", runtime.Setting{Pin: text}), p.tell(theme.Text, p.T("pinned: %s", text)))
	case dialog.ActJSON:
		b, err := json.MarshalIndent(r.View, "", "  ")
		if err != nil {
			return p.fail("write the context as JSON", err)
		}
		return p.over(dialog.NewText(kindPart, "CONTEXT", string(b), m.env.dkeys))
	}
	return p.over(dialog.NewText(kindPart, p.T("%s  exactly as it is sent", strings.ToUpper(p.env.opts.Lang.Tell(r.Part.Kind))), r.Part.Content, m.env.dkeys))
}

// over opens a dialog over another, which comes back when it closes.
func (p *page) over(d dialog.Dialog) tea.Cmd {
	p.dialog, p.behind = d, p.dialog
	return nil
}

// mostSentence bounds a sentence that is pinned from a message, in characters.
const mostSentence = 300

// firstSentence is a message up to the end of its first sentence.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	r := []rune(text)
	for i, c := range r {
		end := strings.ContainsRune("。！？", c) || strings.ContainsRune(".!?", c) && (i+1 == len(r) || r[i+1] == ' ')
		if end && i > 0 {
			return string(r[:i+1])
		}
		if i == mostSentence-1 {
			return string(r[:i+1])
		}
	}
	return text
}

// whole shows the account of a fold: the selected one, or the one that waits for the user's word.
func (p *page) whole() (tea.Cmd, bool) {
	text, ok := p.columns.seen().Whole()
	if p.asking != nil && (!ok || p.focus != paneChat) {
		text, ok = p.columns.chat.WholeLive()
	}
	if !ok {
		return nil, false
	}
	return p.show(dialog.NewText(kindFold, p.T("FOLD"), text, p.env.dkeys), ""), true
}

// foldPreview tells of a fold in a few rows: what goes, what is remembered instead.
func foldPreview(st line.Style, d *trace.CompactData) (fact string, kept []string) {
	fact = st.T("%s to %s", theme.Tokens(d.TokensBefore, false), theme.Tokens(d.TokensAfter, false))
	var s prompt.Summary
	if json.Unmarshal(d.After, &s) != nil {
		return fact, nil
	}
	for _, f := range []struct {
		name words.Text
		list []string
	}{{"goals", s.Goals}, {"facts", s.Facts}, {"todos", s.Todos}, {"unresolved", s.Unresolved}} {
		for _, e := range f.list {
			kept = append(kept, st.T("%s: %s", st.T(f.name), e))
		}
	}
	return fact, kept
}
