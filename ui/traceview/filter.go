package traceview

import (
	"strings"

	"vitrine/trace"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// filter leaves the rows that have all of its words, and those above them.
type filter struct {
	text  string
	words []string
}

func (f filter) on() bool { return len(f.words) > 0 }

// SetFilter shows only what has all the words of a text: each is a kind (run, context, step, model, tool, fold, error), or a part of
// a name, of what was given or of what came back. Error is also whatever failed. An empty text shows all.
func (v *View) SetFilter(text string) {
	v.filter = filter{text: strings.TrimSpace(text), words: strings.Fields(strings.ToLower(text))}
	v.sought = 0
	v.changed()
	v.flatten()
	v.reveal()
}

// Filter is the text of the filter, empty for none.
func (v *View) Filter() string { return v.filter.text }

// Found is how many rows fit the filter by themselves.
func (v *View) Found() int {
	v.flatten()
	return v.found
}

// kindWords are what kinds are called.
func kindWords() map[trace.Kind]words.Text {
	return map[trace.Kind]words.Text{
		trace.KindRun: "run##kind", trace.KindContext: "context##kind", trace.KindStep: "step##kind", trace.KindModel: "model##kind",
		trace.KindTool: "tool##kind", trace.KindFold: "fold##kind", trace.KindError: "error##kind",
	}
}

// fits says that a node has all the words.
func (f filter) fits(n *trace.Node, th *theme.Theme) bool {
	hay := ""
	for _, w := range f.words {
		if ok, only := f.isKind(w, n, th); ok {
			continue
		} else if only {
			return false
		}
		if hay == "" {
			hay = strings.ToLower(n.Title + "\n" + n.Detail + "\n" + n.Outcome)
		}
		if !strings.Contains(hay, w) {
			return false
		}
	}
	return true
}

// isKind says that a word names what a node is; only: that it is a kind's name, which is not looked for as a text.
func (f filter) isKind(w string, n *trace.Node, th *theme.Theme) (ok, only bool) {
	for k, name := range kindWords() {
		if w != string(k) && w != th.T(name) {
			continue
		}
		ok = ok || k == n.Kind || k == trace.KindError && n.Status == trace.Failed
		only = only || k != trace.KindError
	}
	return ok, only
}

// sift adds the rows of a node that fit; it tells whether there were any.
func (v *View) sift(n *trace.Node, depth int) bool {
	at := len(v.lines)
	v.lines = append(v.lines, line{n, depth})
	fits := v.filter.fits(n, v.th)
	if fits {
		v.found++
	}
	any := fits
	open, said := v.open[n.ID]
	for _, c := range n.Children {
		mark := len(v.lines)
		if v.sift(c, depth+1) {
			any = true
			if said && !open {
				v.lines = v.lines[:mark]
			}
		}
	}
	if !any {
		v.lines = v.lines[:at]
	}
	return any
}

// nothing says why there are no rows.
func (v *View) nothing() string {
	if v.filter.on() {
		return v.th.T("nothing fits %s", v.filter.text)
	}
	return v.th.T("nothing yet: every step shows here")
}
