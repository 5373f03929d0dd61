package dialog_test

import (
	"fmt"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/dialog"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

var style = line.Style{Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor}), Metrics: paint.Metrics{Grapheme: true}}

func press(d dialog.Dialog, keys ...tea.KeyPressMsg) (last dialog.Result) {
	for _, k := range keys {
		last = d.Key(k)
	}
	return last
}

func typed(d dialog.Dialog, text string) (last dialog.Result) {
	for _, r := range text {
		last = d.Key(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return last
}

func special(code rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: code} }

func ctrl(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl} }

var (
	enter, esc, up, down = special(tea.KeyEnter), special(tea.KeyEscape), special(tea.KeyUp), special(tea.KeyDown)
)

// plain draws a dialog and gives its text.
func plain(d dialog.Dialog, maxW, maxH int) string {
	w, h := d.Size(style, maxW, maxH)
	var b strings.Builder
	for _, r := range d.Rows(style, w, h) {
		b.WriteString(strings.TrimRight(ansi.Strip(r), " ") + "\n")
	}
	return b.String()
}

func sessions() []dialog.Item {
	item := func(id, label, turns, state, when string) dialog.Item {
		return dialog.Item{ID: id, Label: label, Cells: []dialog.Cell{
			{Text: turns, Role: theme.Faint}, {Text: state, Left: true, Role: theme.Accent}, {Text: when, Role: theme.Faint}}}
	}
	return []dialog.Item{
		item("a", "deploy plan", "7 turns", "⠿ running", "now"), item("b", "deploy rehearsal", "12 turns", "? needs you", "2 h"),
		item("c", "cost table", "1 turn", "", "3 d"), item("d", "部署 deploys", "31 turns", "in pid 4711", "3 w"),
	}
}

func TestPicker(t *testing.T) {
	p := dialog.NewPicker("sessions", "SESSIONS", "none", sessions(), true, dialog.DefaultKeys())
	typed(p, "depl")
	press(p, down)
	want := ` SESSIONS  depl                          3 of 4
 deploy plan          7 turns  ⠿ running    now
❯deploy rehearsal    12 turns  ? needs you  2 h
 部署 deploys        31 turns  in pid 4711  3 w

 Ctrl+R rename   Ctrl+T star   Ctrl+F search   Ctrl+D delete
`
	w, h := p.Size(style, 56, 20)
	if w != 56 || h != 6 {
		t.Errorf("size %dx%d", w, h)
	}
	var got strings.Builder
	for _, r := range p.Rows(style, 48, 6) {
		got.WriteString(strings.TrimRight(ansi.Strip(r), " ") + "\n")
	}
	want = strings.Replace(want, " Ctrl+R rename   Ctrl+T star   Ctrl+F search   Ctrl+D delete", " Ctrl+R name Ctrl+T star Ctrl+F search", 1)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if x, y, ok := p.Cursor(); !ok || x != 15 || y != 0 {
		t.Errorf("cursor %d,%d", x, y)
	}
	for _, c := range []struct {
		key  tea.KeyPressMsg
		want dialog.Result
	}{
		{enter, dialog.Picked{Kind: "sessions", ID: "b", Act: dialog.ActOpen}},
		{ctrl('r'), dialog.Picked{Kind: "sessions", ID: "b", Act: dialog.ActRename}},
		{ctrl('d'), dialog.Picked{Kind: "sessions", ID: "b", Act: dialog.ActDelete}},
		{esc, dialog.Closed{Kind: "sessions"}},
	} {
		if got := press(p, c.key); got != c.want {
			t.Errorf("%v gives %v", c.key, got)
		}
	}
	press(p, special(tea.KeyPgDown))
	if got := press(p, enter); got != (dialog.Picked{Kind: "sessions", ID: "d", Act: dialog.ActOpen}) {
		t.Errorf("PgDn, Enter gives %v", got)
	}
	press(p, special(tea.KeyPgUp))
	p.Wheel(1)
	if got := press(p, enter).(dialog.Picked).ID; got != "b" {
		t.Errorf("the wheel chose %s", got)
	}
	// The items come anew: filter and place stay.
	items := sessions()
	p.SetItems(append([]dialog.Item{{ID: "new", Label: "deploy again"}}, items...))
	if got := press(p, enter).(dialog.Picked).ID; got != "b" {
		t.Errorf("with new items %s is chosen", got)
	}
	typed(p, "zzz")
	if !strings.Contains(plain(p, 60, 10), "nothing fits") || press(p, enter) != nil {
		t.Error("a filter without matches")
	}
}

// What fits best stands first: the name of a command, then words that begin so, then any place.
func TestPickerRanks(t *testing.T) {
	items := []dialog.Item{
		{ID: "processes", Label: "What processes run"}, {ID: "rename", Label: "Rename this session", Cells: []dialog.Cell{{Text: "/rename"}}},
		{ID: "open", Label: "Open one", Cells: []dialog.Cell{{Text: "/sessions"}}}, {ID: "undo", Label: "Undo it in a session"},
	}
	order := func(p *dialog.Picker, text string) (ids []string) {
		typed(p, text)
		for range items {
			r, ok := press(p, enter).(dialog.Picked)
			if !ok || len(ids) > 0 && r.ID == ids[len(ids)-1] {
				break
			}
			ids = append(ids, r.ID)
			press(p, down)
		}
		return ids
	}
	for text, want := range map[string][]string{
		"ses": {"open", "rename", "undo", "processes"}, "RE": {"rename"}, "in ses": {"undo"}, "": {"processes", "rename", "open", "undo"},
	} {
		if got := order(dialog.NewPicker("p", "P", "", items, false, dialog.DefaultKeys()).Ranked(), text); !cmp.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := order(dialog.NewPicker("p", "P", "", items, false, dialog.DefaultKeys()), "ses"); !cmp.Equal(got, []string{"processes", "rename", "open", "undo"}) {
		t.Errorf("without ranks: %q", got)
	}
}

// In 40 columns the hint is whole.
func TestPickerHintFits(t *testing.T) {
	p := dialog.NewPicker("sessions", "SESSIONS", "none", sessions(), true, dialog.DefaultKeys())
	if s := plain(p, 40, 10); !strings.Contains(s, " Ctrl+R name Ctrl+T star Ctrl+F search\n") {
		t.Error(s)
	}
}

// A list of one tells what can be done with it.
func TestPickerOfOne(t *testing.T) {
	p := dialog.NewPicker("sessions", "SESSIONS", "none", sessions()[:1], true, dialog.DefaultKeys())
	w, h := p.Size(style, 40, 10)
	if s := plain(p, w, h); !strings.Contains(s, "deploy plan") || !strings.Contains(s, "Ctrl+T star") {
		t.Error(s)
	}
}

func TestPickerWithoutItems(t *testing.T) {
	p := dialog.NewPicker("history", "HISTORY", "nothing was sent yet", nil, false, dialog.DefaultKeys())
	if !strings.Contains(plain(p, 60, 10), "nothing was sent yet") {
		t.Error(plain(p, 60, 10))
	}
	if press(p, enter) != nil || press(p, ctrl('r')) != nil {
		t.Error("there is nothing to pick")
	}
	off := dialog.NewPicker("x", "X", "", []dialog.Item{{ID: "1", Label: "one", Off: "not now"}}, false, dialog.DefaultKeys())
	if press(off, enter) != nil {
		t.Error("an item that is off was picked")
	}
	p.Paste("two\nlines")
	if !strings.Contains(plain(p, 60, 10), "two lines") {
		t.Error(plain(p, 60, 10))
	}
}

func TestAsk(t *testing.T) {
	a := dialog.NewAsk("close", "CLOSE", "a run is on in deploy plan", []dialog.Choice{
		{Key: "w", ID: "wait", Label: "close the tab; the run goes on"}, {Key: "c", ID: "cancel", Label: "cancel it"},
	}, dialog.DefaultKeys())
	want := ` ? CLOSE  a run is on in deploy plan
❯w  close the tab; the run goes on
 c  cancel it
 Enter choose   Esc back
`
	if diff := cmp.Diff(want, plain(a, 80, 20)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := typed(a, "c"); got != (dialog.Chosen{Kind: "close", Choice: "cancel"}) {
		t.Errorf("c gives %v", got)
	}
	if got := press(a, down, enter); got != (dialog.Chosen{Kind: "close", Choice: "cancel"}) {
		t.Errorf("Down Enter gives %v", got)
	}
	if got := press(a, up, up, enter); got != (dialog.Chosen{Kind: "close", Choice: "wait"}) {
		t.Errorf("Up Enter gives %v", got)
	}
	a.Paste("c")
	if typed(a, "x") != nil || press(a, esc) != (dialog.Closed{Kind: "close"}) || a.Deny() != (dialog.Closed{Kind: "close"}) {
		t.Error("other keys")
	}
	if _, _, ok := a.Cursor(); ok {
		t.Error("a question has no cursor")
	}
}

func TestPrompt(t *testing.T) {
	p := dialog.NewPrompt("rename", "RENAME", "the title of this session", "old", dialog.DefaultKeys())
	press(p, ctrl('u'))
	typed(p, "deploy 计")
	p.Paste("划\x1b[31m\nb")
	if got := press(p, enter); got != (dialog.Entered{Kind: "rename", Text: "deploy 计划 b"}) {
		t.Errorf("gives %#v", got)
	}
	if s := plain(p, 60, 5); !strings.Contains(s, "RENAME  deploy 计划 b") {
		t.Error(s)
	}
	if x, _, ok := p.Cursor(); !ok || x != 9+13 {
		t.Errorf("cursor at %d", x)
	}
	p.Wheel(1)
	if got := press(p, esc); got != (dialog.Left{Kind: "rename", Text: "deploy 计划 b", Changed: true}) {
		t.Errorf("Esc gives %#v", got)
	}
	if got := dialog.NewPrompt("rename", "RENAME", "", "x\u202ey", dialog.DefaultKeys()).Deny(); got != (dialog.Left{Kind: "rename", Text: "xy"}) {
		t.Errorf("an untouched one gives %#v", got)
	}
}

func TestText(t *testing.T) {
	var body strings.Builder
	for i := range 100 {
		fmt.Fprintf(&body, "line %d\n", i)
	}
	d := dialog.NewText("event", "EVENT", body.String()+"\x1b[31mend", dialog.DefaultKeys())
	if s := plain(d, 60, 10); !strings.Contains(s, "EVENT") || !strings.Contains(s, "1-9 of 101") || !strings.Contains(s, " line 8\n") {
		t.Error(s)
	}
	for _, c := range []struct {
		key  tea.KeyPressMsg
		want string
	}{
		{special('j'), "2-10"}, {down, "3-11"}, {special(tea.KeyPgDown), "12-20"}, {up, "11-19"}, {special('k'), "10-18"},
		{special('G'), "93-101"}, {special('d'), "93-101"}, {special('u'), "84-92"}, {special('g'), "1-9"},
	} {
		if c.key.Code < 0x80 {
			c.key.Text = string(c.key.Code)
		}
		press(d, c.key)
		if s := plain(d, 60, 10); !strings.Contains(s, c.want+" of") {
			t.Errorf("%v: want %s\n%s", c.key, c.want, s)
		}
	}
	press(d, special(tea.KeyEnd))
	if s := plain(d, 60, 10); !strings.Contains(s, "\n end\n") || strings.Contains(s, "\x1b") {
		t.Error(s)
	}
	if got := typed(d, "y"); got != (dialog.Copied{Text: body.String() + "\x1b[31mend"}) {
		t.Errorf("y gives %.20v", got)
	}
	d.Paste("x")
	for _, k := range []tea.KeyPressMsg{esc, enter, {Code: 'q', Text: "q"}} {
		if press(d, k) != (dialog.Closed{Kind: "event"}) {
			t.Errorf("%v does not close", k)
		}
	}
	if _, _, ok := d.Cursor(); ok {
		t.Error("a text has no cursor")
	}
}

func TestHelp(t *testing.T) {
	bind := func(k, desc string) key.Binding { return key.NewBinding(key.WithKeys(k), key.WithHelp(k, desc)) }
	off := bind("o", "off")
	off.SetEnabled(false)
	groups := []dialog.Group{
		{Name: "always", Bindings: []key.Binding{bind("Tab", "next pane"), bind("Esc", "close"), bind("Ctrl+C", "stop, then quit"), off}},
		{Name: "input", Bindings: []key.Binding{bind("Enter", "send")}},
	}
	h := dialog.NewHelp("help", groups, dialog.DefaultKeys())
	want := ` KEYS  type to filter                            Up, Down scroll   Esc close
 always  Tab          next pane         Ctrl+C       stop, then quit
         Esc          close
 input   Enter        send
`
	w, rows := h.Size(style, 90, 20)
	var got strings.Builder
	for _, r := range h.Rows(style, 77, rows) {
		got.WriteString(strings.TrimRight(ansi.Strip(r), " ") + "\n")
	}
	if w != 90 {
		t.Errorf("width %d", w)
	}
	if !strings.Contains(got.String(), "always") || strings.Contains(got.String(), "off") {
		t.Errorf("got\n%s\nlike\n%s", got.String(), want)
	}
	typed(h, "QUIT")
	if s := plain(h, 90, 20); !strings.Contains(s, "Ctrl+C") || strings.Contains(s, "next pane") {
		t.Error(s)
	}
	h.Paste(" nonsense")
	if s := plain(h, 90, 20); !strings.Contains(s, "no key for that") {
		t.Error(s)
	}
	press(h, ctrl('u'), down, up, special(tea.KeyPgDown), special(tea.KeyPgUp))
	h.Wheel(1)
	if _, _, ok := h.Cursor(); !ok {
		t.Error("the filter has a cursor")
	}
	if press(h, esc) != (dialog.Closed{Kind: "help"}) {
		t.Error("Esc")
	}
}

// Whatever the size: no row is wider, none too many, and the cursor is inside.
func TestRowsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z 部署👨🏻é\t\n]{0,80}`).Draw(t, "text")
		keys := dialog.DefaultKeys()
		all := []dialog.Dialog{
			dialog.NewPicker("k", "PICK", text, append(sessions(), dialog.Item{ID: "t", Label: text, Cells: []dialog.Cell{{Text: text}}}), rapid.Bool().Draw(t, "manage"), keys),
			dialog.NewAsk("k", "ASK", text, []dialog.Choice{{Key: "a", ID: "a", Label: text}}, keys),
			dialog.NewPrompt("k", "PROMPT", text, text, keys),
			dialog.NewText("k", text, text, keys),
			dialog.NewEditor("k", "EDIT", text, text, keys),
			dialog.NewHelp("k", []dialog.Group{{Name: "g", Bindings: dialog.DefaultKeys().Edit.Bindings()}}, keys),
		}
		if rapid.Bool().Draw(t, "fails") {
			all[4].(*dialog.Editor).Fail(text, len(text)/2)
		}
		s := style
		s.Metrics.Grapheme = rapid.Bool().Draw(t, "grapheme")
		maxW, maxH := rapid.IntRange(1, 120).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")
		for i, d := range all {
			for range rapid.IntRange(0, 5).Draw(t, "keys") {
				d.Key(rapid.SampledFrom([]tea.KeyPressMsg{up, down, special(tea.KeyPgDown), {Code: 'a', Text: "a"}, {Code: '部', Text: "部"}}).Draw(t, "key"))
			}
			w, h := d.Size(s, maxW, maxH)
			rows := d.Rows(s, w, h)
			if w > maxW || h > maxH || len(rows) > h {
				t.Fatalf("dialog %d: %dx%d with %d rows, of %dx%d", i, w, h, len(rows), maxW, maxH)
			}
			for _, r := range rows {
				if n := s.Metrics.Width(r); n != w {
					t.Fatalf("dialog %d: a row of %d in %d: %q", i, n, w, r)
				}
			}
		}
	})
}

func contextView() runtime.ContextView {
	cached := 0.71
	return runtime.ContextView{
		Meter: trace.Meter{System: 900, Memory: 600, Window: 2600, Limit: 6000, Estimated: true, Cached: &cached}, Reserve: 2000, FoldAuto: true, FoldAfter: 2,
		Pins: []runtime.PinRow{{Text: "never after 15:00."}},
		Parts: []runtime.ContextPart{
			{Kind: "system", Title: "system prompt", Tokens: 300, Sent: true, Fate: runtime.FateStays, Content: "You are"},
			{Kind: "tools", Title: "9 tools", Tokens: 600, Sent: true, Fate: runtime.FateStays},
			{Kind: "memory", Title: "memory: 1 pin, 7 entries", Tokens: 600, Sent: true, Fate: runtime.FateRebuilt},
			{Kind: "user", N: 5, Turn: 5, Title: "Remember that the deploy is on Friday", Tokens: 100, Sent: true, Fate: runtime.FateLeaves, Content: "Remember it, never\nafter 15:00."},
			{Kind: "tool", N: 6, Turn: 5, Title: "read_file", Tokens: 400, Sent: true, Fate: runtime.FateShortened},
			{Kind: "user", N: 7, Turn: 6, Title: "What do 12 workers cost?", Tokens: 100, Fate: runtime.FateStays},
		},
	}
}

func TestContext(t *testing.T) {
	c := dialog.NewContext("context", contextView(), dialog.DefaultKeys())
	want := ` CONTEXT  ~4.1k of 6k, 95% expected cached       next fold
 ⣿ system prompt                    300  cached  stays
 ⣿ 9 tools                          600  cached  stays
 ⣶ memory: 1 pin, 7 entries         600  cached  rebuilt
❯⣤   5 user      ⚑ Remember th⋯     100  cached  leaves
 ⣤   6 tool      read_file          400  cached  shortened
 ⣤   7 user      What do 12 wo⋯     100  new     stays
   reserve for the reply             2k   2 turns to a fold
 Enter text   p pin   f fold now   o JSON   Esc close
`
	if d := cmp.Diff(want, plain(c, 60, 20)); d != "" {
		t.Error(d)
	}
	if s := plain(c, 84, 20); !strings.Contains(s, "71% last time") || !strings.Contains(s, "turn 5") {
		t.Error(s)
	}
	letter := func(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }
	for _, step := range []struct {
		key tea.KeyPressMsg
		act dialog.Act
		n   int64
	}{{enter, dialog.ActText, 5}, {down, "", 0}, {letter('p'), dialog.ActPin, 6}, {letter('j'), "", 0}, {down, "", 0}, {letter('f'), dialog.ActFold, 7},
		{letter('k'), "", 0}, {letter('o'), dialog.ActJSON, 6}, {special(tea.KeyHome), "", 0}, {enter, dialog.ActText, 0}, {special(tea.KeyEnd), "", 0}, {enter, dialog.ActText, 7}} {
		got := c.Key(step.key)
		if step.act == "" {
			if got != nil {
				t.Fatalf("%v gives %v", step.key, got)
			}
			continue
		}
		if r, ok := got.(dialog.Inspected); !ok || r.Act != step.act || r.Part.N != step.n {
			t.Fatalf("%v gives %+v, want %s of %d", step.key, got, step.act, step.n)
		}
	}
	if s := plain(c, 60, 6); !strings.Contains(s, "3 more, reserve") || !strings.Contains(s, "What do 1") {
		t.Errorf("short:\n%s", s)
	}
	v := contextView()
	v.FoldAuto, v.Parts = false, v.Parts[:4]
	c.SetView(v)
	c.Wheel(-1)
	c.Paste("x")
	if s := plain(c, 60, 20); !strings.Contains(s, "folds only by hand") || !strings.Contains(s, "❯⣶") {
		t.Error(s)
	}
	for left, text := range map[int]string{0: "folds next turn", 1: "1 turn to a fold"} {
		v.FoldAuto, v.FoldAfter = true, left
		c.SetView(v)
		if s := plain(c, 60, 20); !strings.Contains(s, text) {
			t.Error(s)
		}
	}
	if _, ok := c.Key(esc).(dialog.Closed); !ok {
		t.Error("Esc does not close it")
	}
	c.SetView(runtime.ContextView{})
	if got := c.Key(enter); got != nil {
		t.Errorf("an empty one gives %v", got)
	}
}

func TestEditor(t *testing.T) {
	e := dialog.NewEditor("k", "EDIT", "arguments of look", "{\n  \"x\": 1\n}", dialog.DefaultKeys())
	if s := plain(e, 80, 20); !strings.Contains(s, " EDIT  arguments of look") || !strings.Contains(s, "   \"x\": 1") || !strings.Contains(s, "Ctrl+J new line") {
		t.Errorf("drawn:\n%s", s)
	}
	if x, y, ok := e.Cursor(); !ok || x != 2 || y != 3 {
		t.Errorf("the cursor is at %d,%d", x, y)
	}
	if r := e.Key(esc); r != (dialog.Left{Kind: "k", Text: "{\n  \"x\": 1\n}"}) {
		t.Errorf("Esc gives %#v", r)
	}
	press(e, up, ctrl('j'))
	typed(e, "中")
	e.Paste("a\r\nb\x1b[2J")
	press(e, special(tea.KeyPgUp), special(tea.KeyPgDown))
	e.Wheel(-99)
	press(e, special(tea.KeyEnd))
	typed(e, "!")
	if r := press(e, enter); r != (dialog.Edited{Kind: "k", Text: "{!\n \n中a\nb \"x\": 1\n}"}) {
		t.Errorf("Enter gives %#v", r)
	}
	e.Fail("row 3, column 2: a long word on what is wrong with it, which needs more than a single row", 4)
	if s := plain(e, 40, 20); !strings.Contains(s, "✗ row 3") || !strings.Contains(s, "Esc keep") || strings.Count(s, "\n") != 5+3+2 {
		t.Errorf("drawn:\n%s", s)
	}
	if _, y, _ := e.Cursor(); y != 2 {
		t.Errorf("the cursor is in row %d", y)
	}
	e.Paste(strings.Repeat("x", 1<<20))
	if s := plain(e, 80, 20); !strings.Contains(s, "1 MB") {
		t.Errorf("drawn:\n%s", s)
	}
	if r := e.Deny(); !r.(dialog.Left).Changed || e.Kind() != "k" {
		t.Errorf("Ctrl+C gives %#v", r)
	}
}

// A list that is longer than its dialog says where one is; what a row is called keeps its room, columns go before it does.
func TestPickerSaysWhereOneIs(t *testing.T) {
	var items []dialog.Item
	for i := range 30 {
		items = append(items, dialog.Item{ID: fmt.Sprint(i), Label: fmt.Sprintf("Open the tab, number %d", i),
			Cells: []dialog.Cell{{Text: "/command"}, {Text: "Ctrl+X N"}}})
	}
	d := dialog.NewPicker("p", "COMMANDS", "", items, false, dialog.DefaultKeys())
	if s := plain(d, 64, 11); !strings.Contains(s, "1-10 of 30") || !strings.Contains(s, "/command") {
		t.Errorf("at its begin:\n%s", s)
	}
	for range 12 {
		d.Key(special(tea.KeyDown))
	}
	if s := plain(d, 64, 11); !strings.Contains(s, "4-13 of 30") {
		t.Errorf("further down:\n%s", s)
	}
	if s := plain(d, 40, 11); strings.Contains(s, "/command") || !strings.Contains(s, "Open the tab, number 12") || !strings.Contains(s, "Ctrl+X N") {
		t.Errorf("where it is narrow:\n%s", s)
	}
	typed(d, "29")
	if s := plain(d, 64, 11); !strings.Contains(s, "1 of 30") {
		t.Errorf("filtered:\n%s", s)
	}
	if s := plain(d.Hint("Enter next rule   Esc close"), 64, 11); !strings.Contains(s, "Enter next rule   Esc close") {
		t.Errorf("its hint:\n%s", s)
	}
}

// A prompt says what Enter does with the text, and cuts neither that nor its own hint.
func TestPromptSaysWhatEnterDoes(t *testing.T) {
	d := dialog.NewPrompt("p", "DENY", "why, for the model; may be empty", "", dialog.DefaultKeys()).Does("deny")
	for w, want := range map[int]string{112: "why, for the model; may be empty    Enter deny   Esc close", 48: "why, for the model; may be empty    Enter deny"} {
		if s := plain(d, w, 10); !strings.Contains(strings.Join(strings.Fields(s), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%d columns:\n%s", w, s)
		}
	}
}

// Where it is narrow the context keeps whole words: roles and what becomes of a part are told, the cache is not, and no key is cut.
func TestNarrowContextKeepsItsWords(t *testing.T) {
	v := contextView()
	d := dialog.NewContext("c", v, dialog.DefaultKeys())
	s := plain(d, 40, 9)
	for _, want := range []string{"Enter text   p pin   f fold   o JSON", "user"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q:\n%s", want, s)
		}
	}
	if strings.Contains(s, "Esc cl") || strings.Contains(s, "  cached  ") {
		t.Errorf("too much:\n%s", s)
	}
	if s := plain(d, 60, 9); !strings.Contains(s, "  cached  ") || !strings.Contains(s, "f fold now   o JSON   Esc close") {
		t.Errorf("where there is room:\n%s", s)
	}
	x := dialog.NewText("t", "APPROVE  write_file", strings.Repeat("line\n", 30), dialog.DefaultKeys())
	if s := plain(x, 40, 9); !strings.Contains(s, "APPROVE  write_file") || !strings.Contains(s, "1-8 of 31") || strings.Contains(s, "y copy") {
		t.Errorf("a viewer:\n%s", s)
	}
}

// Where a dialog is narrow what is asked and answered goes on in another row, while there are rows for it; of hints whole ones go.
func TestNarrowDialogsKeepWholeWords(t *testing.T) {
	keys := dialog.DefaultKeys()
	fact := "a run is on in Read limits.yaml and tell 部署计划 what a worker may use"
	answers := []dialog.Choice{{Key: "w", ID: "w", Label: "close the tab; the run goes on to its end"}, {Key: "l", ID: "l", Label: "leave it as it is, to be resumed later"}, {Key: "c", ID: "c", Label: "cancel it"}}
	flat := func(d dialog.Dialog, w, h int) string { return strings.Join(strings.Fields(plain(d, w, h)), " ") }
	for w := 30; w < 90; w++ {
		got := flat(dialog.NewAsk("close", "CLOSE", fact, answers, keys), w, 20)
		for _, want := range []string{"CLOSE", "w close the tab; the run goes on to its end", "l leave it as it is, to be resumed later", "c cancel it", "Enter choose Esc back"} {
			if !strings.Contains(got, want) {
				t.Fatalf("%d cells: no %q in %q", w, want, got)
			}
		}
		if squeeze := strings.NewReplacer(" ", "", "\u2060", ""); !strings.Contains(squeeze.Replace(got), squeeze.Replace(fact)) || strings.Contains(got, "⋯") {
			t.Fatalf("%d cells: the fact is not whole: %q", w, got)
		}
	}
	if got := plain(dialog.NewAsk("close", "CLOSE", fact, answers, keys), 40, 5); strings.Count(got, "\n") != 5 || !strings.Contains(got, "c  cancel it") || !strings.Contains(got, "Enter choose") {
		t.Errorf("without the rows for it:\n%s", got)
	}
	if got := flat(dialog.NewPrompt("p", "DENY", "why, for the model; may be empty", "", keys).Does("deny"), 40, 8); !strings.Contains(got, "why, for the model; may be empty Enter deny") {
		t.Errorf("a prompt: %q", got)
	}
	if got, _, _ := strings.Cut(plain(dialog.NewHelp("help", []dialog.Group{{Name: "g", Bindings: keys.Edit.Bindings()}}, keys), 40, 8), "\n"); got != " KEYS  type to filter   Up, Down scroll" {
		t.Errorf("the help: %q", got)
	}
}
