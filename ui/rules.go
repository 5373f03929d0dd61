package ui

import (
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/ui/dialog"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here the user says what tools may do in a session.

// openTools lists the tools with what holds for them here; Enter goes to the next rule.
func (m *Model) openTools(string) tea.Cmd {
	p := m.page()
	if !p.writable() {
		return p.tell(theme.Error, p.whyNot())
	}
	return m.env.tools(p.id, nil)
}

// tools reads the rules, after a change when there is one.
func (e *env) tools(id string, change *runtime.ToolRule) tea.Cmd {
	return func() tea.Msg {
		if change != nil {
			if err := e.opts.Agent.Set(e.ctx, id, runtime.Setting{ToolRule: change}); err != nil {
				return toolsMsg{id: id, change: true, err: err}
			}
		}
		v, err := e.opts.Agent.Context(e.ctx, id)
		return toolsMsg{id: id, change: change != nil, list: v.Tools, err: err}
	}
}

// listTools fills the list, or opens it.
func (p *page) listTools(msg toolsMsg) tea.Cmd {
	picker, open := p.dialog.(*dialog.Picker)
	open = open && picker.Kind() == kindTools
	switch {
	case msg.err != nil && msg.change:
		return p.tell(theme.Error, p.T("the rule is not changed: %s", p.env.opts.Lang.Tell(msg.err.Error())))
	case msg.err != nil:
		return p.tell(theme.Error, p.T("the rules of tools cannot be read: %s", p.env.opts.Lang.Tell(msg.err.Error())))
	case !open && (msg.change || p.dialog != nil):
		return nil // closed meanwhile
	}
	p.tools = msg.list
	items := make([]dialog.Item, 0, len(msg.list))
	for _, t := range msg.list {
		own, role := "", theme.Text
		switch {
		case t.Configured == runtime.RuleDeny:
			own = p.T("configuration")
		case t.Own:
			own = p.T("own")
		}
		if t.Rule != runtime.RuleAuto {
			role = theme.Warn
		}
		items = append(items, dialog.Item{ID: t.Name, Label: t.Name, Terms: t.Description, Cells: []dialog.Cell{
			{Text: p.T(effectShort(t.Effect)), Left: true, Role: theme.Faint}, {Text: string(t.Rule), Left: true, Role: role}, {Text: own, Left: true, Role: theme.Faint},
		}})
	}
	if open {
		picker.SetItems(items)
		return nil
	}
	return p.show(dialog.NewPicker(kindTools, p.T("TOOLS"), p.T("there are no tools"), items, false, p.env.dkeys).
		Hint(p.T("Enter next rule here: auto, ask, deny, as configured   Esc close")), p.id)
}

// effectShort is effectWords where there is a column for it.
func effectShort(e tools.Effect) words.Text {
	if e == tools.SideEffect {
		return "cannot be taken back"
	}
	return effectWords(e)
}

// nextRule goes to the next rule of a tool. What the configuration forbids no session allows: there it says so, and takes a rule of
// the session's own away, which does not hold.
func (p *page) nextRule(name string) tea.Cmd {
	for _, t := range p.tools {
		if t.Name != name {
			continue
		}
		if t.Configured == runtime.RuleDeny {
			var change tea.Cmd
			if t.Own {
				change = p.env.tools(p.id, &runtime.ToolRule{Tool: name})
			}
			return tea.Batch(change, p.tell(theme.Warn, p.T("the configuration forbids %s: no session allows it", name)))
		}
		next := runtime.RuleAuto
		switch {
		case !t.Own:
		case t.Rule == runtime.RuleAuto:
			next = runtime.RuleAsk
		case t.Rule == runtime.RuleAsk:
			next = runtime.RuleDeny
		default:
			next = "" // back to the configuration's
		}
		return p.env.tools(p.id, &runtime.ToolRule{Tool: name, Rule: next})
	}
	return nil
}
