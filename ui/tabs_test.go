package ui

import (
	"encoding/json"
	"strings"
	"testing"

	"vitrine/tools"
	"vitrine/trace"
)

// However many tabs there are, titles that are shown say something: fewer tabs stand in the row rather than two letters of each, and
// the tab one is in has the most room.
func TestManyTabsKeepTheirTitles(t *testing.T) {
	d := newDriver(t, 120, 36)
	var labels []tabLabel
	for range 14 {
		labels = append(labels, tabLabel{title: "remember the deploy plan", mark: markDone})
	}
	for _, w := range []int{200, 120, 80, 60} {
		for active := range labels {
			var bar tabBar
			bar.draw(d.m.env.style, w, labels, active, false, "", []string{"~/work", "gpt-4o-mini"})
			row := strings.Join(d.draw(bar.row, w, 1), "")
			here, shown := false, 0
			for _, part := range strings.Split(row, "remembe")[1:] {
				shown++
				here = here || strings.HasPrefix(part, "r the de")
			}
			if !here || shown == 0 || strings.Count(row, d.m.env.style.Theme.Glyphs.Done) < shown || d.m.env.style.Metrics.Width(bar.row) > w {
				t.Errorf("%d columns, in tab %d: %q", w, active+1, row)
			}
		}
	}
}

// Titles that begin alike and are cut show where they differ; the rest, and those that are the same, are cut at their end.
func TestTabsThatBeginAlikeAreToldApart(t *testing.T) {
	d := newDriver(t, 120, 36)
	var labels []tabLabel
	for _, title := range []string{"code please number 1", "code please number 2", "写一段部署说明第一版", "写一段部署说明第二版", "remember the deploy", "the same old story", "the same old story", "one"} {
		labels = append(labels, tabLabel{title: title})
	}
	for _, active := range []int{0, 5} {
		var bar tabBar
		bar.draw(d.m.env.style, 130, labels, active, false, "", nil)
		row := strings.Join(d.draw(bar.row, 130, 1), "")
		for _, want := range []string{"er 1", "er 2", "第一版", "第二版", " remem", " the sam⋯", " one"} {
			if !strings.Contains(row, want) {
				t.Errorf("in tab %d no %q in %q", active+1, want, row)
			}
		}
		if n := d.m.env.style.Metrics.Width(bar.row); n > 130 {
			t.Errorf("the row has %d cells", n)
		}
	}
}

// Whoever closes a tab is told how to get it back; an empty one has nothing to come back.
func TestClosingSaysHowToReopen(t *testing.T) {
	d := newDriver(t, 120, 36)
	d.enter("one")
	d.f.answer(d.id())
	d.short()
	d.press("ctrl+x", "n")
	d.short()
	d.press("ctrl+x", "w")
	d.short()
	d.seesNot("opens it again")
	d.press("ctrl+x", "w")
	d.short()
	d.sees("closed; Ctrl+X Z opens it again")
}

// While Ctrl+X lists its letters a question keeps its head: what is asked can be read.
func TestLettersLeaveTheHeadOfAQuestion(t *testing.T) {
	d := newDriver(t, 80, 24)
	d.enter("go")
	d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "write_file", Effect: string(tools.SideEffect), Arguments: json.RawMessage(`{"path":"a"}`),
		Preview: "a  new file, +9\n" + strings.Repeat("+ row\n", 9)})
	d.short()
	d.sees("APPROVE")
	d.press("ctrl+x")
	d.sees("APPROVE", "Ctrl+X  p commands")
}
