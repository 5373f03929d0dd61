package ui

import (
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

type plainPane struct {
	th   *theme.Theme
	m    paint.Metrics
	w, h int
	bg   theme.Bg
	rows []string
	text []string
	open string
	off  int
}

func (v *plainPane) SetSize(w, h int)           { v.w, v.h = max(w, 0), max(h, 0) }
func (v *plainPane) SetTheme(t *theme.Theme)    { v.th = t }
func (v *plainPane) SetMetrics(m paint.Metrics) { v.m = m }
func (v *plainPane) SetFocus(bool)              {}
func (v *plainPane) Load(s runtime.Snapshot, ev []trace.Event) {
	v.text = nil
	for _, m := range s.Messages {
		v.text = append(v.text, string(m.Role)+": "+m.Content)
	}
}
func (v *plainPane) Apply(e trace.Event) {
	switch d := e.Data.(type) {
	case trace.RunStartData:
		v.text = append(v.text, "user: "+d.Input)
	case trace.DeltaData:
		v.open += d.Text
	case trace.AnswerData:
		v.text = append(v.text, "assistant: "+d.Text)
		v.open = ""
	}
}
func (v *plainPane) Rows() []string {
	var all []string
	for _, t := range append(v.text[:len(v.text):len(v.text)], v.open) {
		all = append(all, v.m.Wrap(v.m.Safe(paint.Clean(t)), max(v.w-3, 1))...)
	}
	if n := len(all) - v.h; n > 0 {
		all = all[n:]
	}
	out := make([]string, v.h)
	for i := range out {
		s := ""
		if i < len(all) {
			s = "  " + all[i]
		}
		out[i] = v.th.Paint(theme.Text, v.bg, false, v.m.Fit(s, v.w))
	}
	return out
}
