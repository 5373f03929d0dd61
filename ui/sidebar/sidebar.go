// Package sidebar shows a session's todos, and below them its pins and what it has used.
//
// A View is folded from a snapshot and from events, like every pane. It draws itself as rows of exactly its width, each made
// once for a state; the same slice is handed out until something changes. It has no locks and does no input or output:
// toggling is asked of the runtime by the page, which finds the selected todo here.
package sidebar

import (
	"fmt"
	"slices"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// todo is one row of the list, already clean.
type todo struct {
	id, text string
	done     bool
}

// Pin is a sentence that no fold loses; Turn is where it was said, 0 for nowhere.
type Pin struct {
	ID, Text string
	Turn     int
}

// View is the sidebar of one session.
type View struct {
	th *theme.Theme
	m  paint.Metrics

	w, h    int
	focused bool

	todos []todo
	pins  []Pin
	turns int
	folds map[string]bool  // by id: those that stand
	used  runtime.RunUsage // by all finished runs
	known bool             // that was told

	selected int // of todos
	offset   int // first body row shown
	rows     []string
}

// New makes an empty sidebar.
func New(th *theme.Theme, m paint.Metrics) *View { return &View{th: th, m: m} }

// SetSize sets the cells that Rows fills.
func (v *View) SetSize(w, h int) {
	if w != v.w || h != v.h {
		v.w, v.h, v.rows = max(0, w), max(0, h), nil
	}
}

// SetTheme changes the look.
func (v *View) SetTheme(th *theme.Theme) {
	if th != v.th {
		v.th, v.rows = th, nil
	}
}

// SetMetrics changes how the terminal counts.
func (v *View) SetMetrics(m paint.Metrics) {
	if m != v.m {
		v.m, v.rows = m, nil
	}
}

// SetFocus shows or hides the selection.
func (v *View) SetFocus(on bool) {
	if on != v.focused {
		v.focused, v.rows = on, nil
	}
}

// Load replaces everything with a snapshot.
func (v *View) Load(s runtime.Snapshot) {
	v.todos = v.todos[:0]
	for _, t := range s.Todos {
		v.todos = append(v.todos, todo{id: t.ID, text: paint.CleanLine(t.Text), done: t.Completed})
	}
	v.turns = s.Session.TurnCount
	v.folds = map[string]bool{}
	for _, f := range s.Folds {
		if f.UndoneAt == nil {
			v.folds[f.ID] = true
		}
	}
	v.selected = min(v.selected, max(0, len(v.todos)-1))
	v.rows = nil
}

// SetPins replaces the pins.
func (v *View) SetPins(pins []Pin) {
	v.pins, v.rows = nil, nil
	for _, p := range pins {
		v.Pin(p, true)
	}
}

// Pin adds a pin, or takes it away.
func (v *View) Pin(p Pin, on bool) {
	v.rows = nil
	v.pins = slices.DeleteFunc(v.pins, func(o Pin) bool { return o.ID == p.ID })
	if p.Text = paint.CleanLine(p.Text); on {
		v.pins = append(v.pins, p)
	}
}

// SetUsage tells what the session's finished runs used.
func (v *View) SetUsage(u runtime.RunUsage) {
	v.used, v.known, v.rows = u, true, nil
}

// Apply takes in an event of the session.
func (v *View) Apply(ev trace.Event) {
	switch d := ev.Data.(type) {
	case trace.TodoData:
		v.applyTodo(d)
	case trace.CompactData:
		v.fold(ev, d)
	case trace.RunStartData:
		v.turns, v.rows = max(v.turns, ev.Turn), nil
	case trace.RunEndData:
		if v.known {
			v.used.Add(runtime.RunUsage{Prompt: d.PromptTokens, Completion: d.CompletionTokens, Estimated: d.Estimated,
				Cached: d.CachedTokens, Reasoning: d.ReasoningTokens, Cost: d.Cost})
			v.rows = nil
		}
	}
}

// fold counts the folds that are stored and stand.
func (v *View) fold(ev trace.Event, d trace.CompactData) {
	if ev.Seq == 0 {
		return
	}
	if v.folds == nil {
		v.folds = map[string]bool{}
	}
	switch d.Phase {
	case "committed":
		v.folds[d.ID], v.rows = true, nil
	case "undone":
		delete(v.folds, d.ID)
		v.rows = nil
	}
}

func (v *View) applyTodo(d trace.TodoData) {
	v.rows = nil
	i := slices.IndexFunc(v.todos, func(t todo) bool { return t.id == d.ID })
	switch {
	case d.Action == "removed" && i >= 0:
		v.todos = slices.Delete(v.todos, i, i+1)
		v.selected = min(v.selected, max(0, len(v.todos)-1))
	case d.Action == "removed":
	case i >= 0:
		v.todos[i].done = d.Completed
		if d.Text != "" {
			v.todos[i].text = paint.CleanLine(d.Text)
		}
	default:
		v.todos = append(v.todos, todo{id: d.ID, text: paint.CleanLine(d.Text), done: d.Completed})
	}
}

// Todos are the session's, in their order.
func (v *View) Todos() []tools.Todo {
	out := make([]tools.Todo, len(v.todos))
	for i, t := range v.todos {
		out[i] = tools.Todo{ID: t.id, Text: t.text, Completed: t.done}
	}
	return out
}

// Counts gives how many todos are done, of how many.
func (v *View) Counts() (done, all int) {
	for _, t := range v.todos {
		if t.done {
			done++
		}
	}
	return done, len(v.todos)
}

// Selected gives the selected todo's id.
func (v *View) Selected() (id string, ok bool) {
	if v.selected >= len(v.todos) {
		return "", false
	}
	return v.todos[v.selected].id, true
}

// Move moves the selection by n todos and brings it into view.
func (v *View) Move(n int) {
	v.selected = max(0, min(len(v.todos)-1, v.selected+n))
	v.reveal()
	v.rows = nil
}

// Top and Bottom select the first and the last todo.
func (v *View) Top() { v.Move(-len(v.todos)) }

// Bottom selects the last todo.
func (v *View) Bottom() { v.Move(len(v.todos)) }

// Page moves by n screens.
func (v *View) Page(n int) { v.Move(n * max(1, v.h-header)) }

// Scroll moves what is shown by n rows without moving the selection.
func (v *View) Scroll(n int) {
	body, _ := v.body()
	offset := max(0, min(v.offset+n, len(body)-(v.h-header)))
	if offset != v.offset {
		v.offset, v.rows = offset, nil
	}
}

// header is the rows above the list.
const header = 2

// reveal scrolls until the selected todo is on the screen.
func (v *View) reveal() {
	body, at := v.body()
	if len(at) == 0 {
		v.offset = 0
		return
	}
	room := max(1, v.h-header)
	first, last := at[v.selected], len(body)-1
	if v.selected+1 < len(at) {
		last = at[v.selected+1] - 1
	}
	if v.selected+1 == len(at) {
		last = first + len(v.wrap(v.todos[v.selected].text)) - 1
	}
	if last >= v.offset+room {
		v.offset = last - room + 1
	}
	v.offset = max(0, min(v.offset, first))
}

// Rows gives exactly as many rows as high, each exactly as wide as it was set.
func (v *View) Rows() []string {
	if v.rows != nil && len(v.rows) == v.h {
		return v.rows
	}
	body, _ := v.body()
	v.offset = max(0, min(v.offset, len(body)-max(0, v.h-header)))
	rows := make([]string, 0, v.h)
	done, all := v.Counts()
	count := ""
	if all > 0 {
		count = v.th.T("%d of %d", done, all)
	}
	rows = append(rows, v.title(v.th.T("TODOS"), count), v.blank())
	rows = append(rows, body[v.offset:]...)
	for len(rows) < v.h {
		rows = append(rows, v.blank())
	}
	v.rows = rows[:v.h:v.h]
	return v.rows
}

func (v *View) blank() string {
	return v.th.Paint(theme.Text, theme.OnPanel, false, paint.Spaces(v.w))
}

// title is a section's head: its name, and a fact at the right.
func (v *View) title(name, fact string) string {
	room := max(0, v.w-2)
	left := v.m.Fit(name, max(0, room-v.m.Width(fact)))
	return v.cell(" ", theme.Text, false) + v.text(left, theme.Strong, true) +
		v.text(v.m.Fit(fact, min(room, v.m.Width(fact))), theme.Faint, false) + v.rest(1+room)
}

func (v *View) text(s string, r theme.Role, bold bool) string {
	return v.th.Paint(r, theme.OnPanel, bold, s)
}

// cell is text that takes one cell, if there is one at all.
func (v *View) cell(s string, r theme.Role, bold bool) string {
	return v.text(v.m.Fit(s, min(1, v.w)), r, bold)
}

// rest fills a row of which used cells are taken.
func (v *View) rest(used int) string { return v.text(paint.Spaces(v.w-used), theme.Text, false) }

func (v *View) wrap(s string) []string {
	rows := v.m.Wrap(v.m.Safe(s), max(1, v.w-4))
	if len(rows) == 0 {
		return []string{""}
	}
	return rows
}

// body makes the rows below the header, and says in which of them each todo begins.
func (v *View) body() (rows []string, at []int) {
	g := &v.th.Glyphs
	for i, t := range v.todos {
		at = append(at, len(rows))
		mark, glyph, role := " ", g.Todo, theme.Text
		if t.done {
			glyph, role = g.Done, theme.Faint
		}
		if v.focused && i == v.selected {
			mark = g.Here
		}
		for j, line := range v.wrap(t.text) {
			head := v.cell(mark, theme.Accent, false)
			lead := v.m.Fit(glyph, min(1, max(0, v.w-1)))
			if j > 0 {
				head, lead = v.cell(" ", theme.Text, false), paint.Spaces(min(1, max(0, v.w-1)))
			}
			rows = append(rows, head+v.text(lead, role, false)+
				v.text(v.m.Fit(" "+line, max(0, v.w-2)), role, v.focused && i == v.selected))
		}
	}
	if len(v.todos) == 0 {
		rows = append(rows, v.fact(v.th.T("none yet"), "", theme.Faint))
	}
	rows = append(rows, v.pinRows()...)
	rows = append(rows, v.blank(), v.title(v.th.T("SESSION"), ""), v.blank(), v.fact(v.th.T("turns"), fmt.Sprint(v.turns), theme.Text))
	if len(v.folds) > 0 {
		rows = append(rows, v.fact(v.th.T("folds"), fmt.Sprint(len(v.folds)), theme.Text))
	}
	return append(rows, v.usedRows()...), at
}

// usedRows tell what the finished runs used. What nobody reported is unknown, not nothing; so is the use before the first reply.
func (v *View) usedRows() []string {
	part := func(n *int) string {
		if n == nil {
			return theme.Unknown
		}
		return theme.Tokens(*n, false)
	}
	known := func(n int) string {
		if n <= 0 {
			return theme.Unknown
		}
		return theme.Tokens(n, v.used.Estimated)
	}
	rows := []string{
		v.fact(v.th.T("tokens in"), known(v.used.Prompt), theme.Text), v.fact(v.th.T("  cached"), part(v.used.Cached), theme.Text),
		v.fact(v.th.T("tokens out"), known(v.used.Completion), theme.Text),
	}
	if v.used.Reasoning != nil {
		rows = append(rows, v.fact(v.th.T("  reasoning"), part(v.used.Reasoning), theme.Text))
	}
	return append(rows, v.fact(v.th.T("cost"), theme.Money(v.used.Cost), theme.Text))
}

// pinRows lists what no fold loses.
func (v *View) pinRows() []string {
	if len(v.pins) == 0 {
		return nil
	}
	rows := []string{v.blank(), v.title(v.th.T("PINS"), fmt.Sprint(len(v.pins))), v.blank()}
	for _, p := range v.pins {
		for i, text := range v.wrap(p.Text) {
			lead := v.m.Fit(v.th.Glyphs.Pin, min(1, max(0, v.w-1)))
			if i > 0 {
				lead = paint.Spaces(min(1, max(0, v.w-1)))
			}
			rows = append(rows, v.cell(" ", theme.Text, false)+v.text(lead, theme.Text, false)+v.text(v.m.Fit(" "+text, max(0, v.w-2)), theme.Text, false))
		}
		if p.Turn > 0 {
			rows = append(rows, v.fact(v.th.T("  turn %d", p.Turn), "", theme.Faint))
		}
	}
	return rows
}

// fact is a name with a number at the right.
func (v *View) fact(name, value string, r theme.Role) string {
	room := max(0, v.w-2)
	wide := min(room, v.m.Width(value))
	return v.cell(" ", theme.Text, false) + v.text(v.m.Fit(name, room-wide), theme.Faint, false) +
		v.text(v.m.Fit(value, wide), r, false) + v.rest(1+room)
}
