package ui

import (
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/dialog"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// ModelOffer is a model that a session can be given.
type ModelOffer struct {
	Name string
	// Context is in tokens, 0 when it is not known. At says where the model is.
	Context int
	At      string
}

// modelsMsg is what was offered; err is why some are missing.
type modelsMsg struct {
	page   string
	offers []ModelOffer
	err    error
}

// Labels of the list of models that choose nothing.
const (
	modelsComing = "models coming"
	modelsFailed = "models failed"
)

// chooseModel sets the model, by the argument or from the list.
func (m *Model) chooseModel(arg string) tea.Cmd {
	p := m.page()
	if !p.writable() {
		return p.tell(theme.Error, p.whyNot())
	}
	if arg != "" {
		return m.env.set(p.id, "change the model", runtime.Setting{Model: &arg})
	}
	if len(m.env.opts.Models) == 0 && m.env.opts.Offer == nil {
		return p.tell(theme.Text, p.T("model %s; /model NAME takes another", p.modelName()))
	}
	items := modelItems(m.env.opts.Lang, p.modelName(), nil, m.env.opts.Models)
	if m.env.opts.Offer != nil {
		items = append(items, dialog.Item{ID: modelsComing, Label: p.T("asking the endpoint and this machine"), Off: p.T("it is a list that is coming")})
	}
	show := p.show(dialog.NewPicker(kindModels, p.T("MODEL"), "", items, false, m.env.dkeys), "")
	return tea.Batch(show, m.env.askModels(p.id))
}

// askModels asks which models there are.
func (e *env) askModels(page string) tea.Cmd {
	if e.opts.Offer == nil {
		return nil
	}
	return func() tea.Msg {
		offers, err := e.opts.Offer(e.ctx)
		return modelsMsg{page, offers, err}
	}
}

// offeredModels fills the list of models, if it still is open.
func (m *Model) offeredModels(msg modelsMsg) tea.Cmd {
	p := m.find(msg.page)
	if p == nil {
		return nil
	}
	picker, ok := p.dialog.(*dialog.Picker)
	if !ok || picker.Kind() != kindModels {
		return nil
	}
	items := modelItems(m.env.opts.Lang, p.modelName(), msg.offers, m.env.opts.Models)
	if msg.err != nil {
		items = append(items, dialog.Item{ID: modelsFailed, Label: p.T("no list of the endpoint's models: %s", paint.CleanLine(p.env.opts.Lang.Tell(msg.err.Error()))), Off: p.T("it says why a list is missing")})
	}
	picker.SetItems(items)
	return nil
}

// modelItems are the models that are offered, and of the others the ones that are known without asking.
func modelItems(l words.Lang, now string, offers []ModelOffer, known []string) []dialog.Item {
	var items []dialog.Item
	listed := map[string]bool{}
	add := func(o ModelOffer) {
		if listed[o.Name] {
			return
		}
		listed[o.Name] = true
		it := dialog.Item{ID: o.Name, Label: paint.CleanLine(o.Name)}
		if o.Context > 0 {
			it.Cells = append(it.Cells, dialog.Cell{Text: l.T("%s context", theme.Tokens(o.Context, false)), Role: theme.Faint})
		} else {
			it.Cells = append(it.Cells, dialog.Cell{})
		}
		where := paint.CleanLine(l.Tell(o.At))
		if o.Name == now {
			where = l.T("now##in use")
		}
		it.Cells = append(it.Cells, dialog.Cell{Text: where, Role: theme.Faint, Left: true})
		items = append(items, it)
	}
	if now != "" {
		first := ModelOffer{Name: now}
		for _, o := range offers {
			if o.Name == now {
				first = o
			}
		}
		add(first)
	}
	for _, o := range offers {
		add(o)
	}
	for _, name := range known {
		add(ModelOffer{Name: name})
	}
	return items
}
