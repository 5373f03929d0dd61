package chat

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"vitrine/tools"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

const (
	nameWidth     = 11 // of the column of tool names; longer names push the rest
	durationWidth = 8
)

// toolBlock is one tool call: a row that says what was asked, what came back and how long it took.
type toolBlock struct {
	common
	name     string
	callID   string          // the provider's
	edited   bool            // the user changed the arguments, and the call that takes its place is to come
	args     json.RawMessage // what runs, or ran
	wrote    json.RawMessage // what the model had written; nil: the same
	brief    string          // of the arguments, clean
	status   string          // pending started done denied not_run interrupted unknown waiting_approval
	ok       bool
	code     string
	reason   string // of a denial, clean
	summary  string
	progress string
	result   json.RawMessage
	started  time.Time
	took     time.Duration // negative: unknown
	open     bool
	resultN  int64 // of the message with its result
}

func (b *toolBlock) resultNumber() int64 { return b.resultN }

func (b *toolBlock) Estimate(int) int { return 1 }
func (b *toolBlock) toggle()          { b.open = !b.open; b.touch() }
func (b *toolBlock) isOpen() bool     { return b.open }

// over says that the call has ended.
func (b *toolBlock) over() bool {
	switch b.status {
	case "pending", "started", "waiting_approval":
		return false
	}
	return true
}

// ran takes the arguments of what runs, or ran, which the user may have written in the place of the model's.
func (b *toolBlock) ran(args json.RawMessage) {
	if len(args) == 0 || sameArgs(args, b.args) {
		return
	}
	if b.wrote == nil {
		b.wrote = b.args
	}
	if sameArgs(args, b.wrote) {
		b.wrote = nil
	}
	b.show(args)
}

// asked takes the arguments that the model wrote; what ran may be known already.
func (b *toolBlock) asked(args json.RawMessage) {
	switch {
	case b.args == nil:
		b.show(args)
	case !sameArgs(args, b.args):
		b.wrote = args
	}
}

func (b *toolBlock) show(args json.RawMessage) {
	b.args, b.brief = args, brief(args)
	b.touch()
}

// sameArgs says that two arguments mean the same.
func sameArgs(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || bytes.Equal(tools.Canonical(a), tools.Canonical(b))
}

func (b *toolBlock) source() string {
	return strings.TrimSpace(b.name + " " + string(b.args) + "\n" + plainResult(b.result))
}

// plainResult is a result as text: what it holds when that is a text, else its JSON.
func plainResult(raw json.RawMessage) string {
	var r struct {
		OK   bool            `json:"ok"`
		Data json.RawMessage `json:"data"`
	}
	var text string
	if json.Unmarshal(raw, &r) != nil || !r.OK || json.Unmarshal(r.Data, &text) != nil || len(r.Data) == 0 || r.Data[0] != '"' {
		return string(raw)
	}
	return paint.CleanSource(text)
}

// sign is the glyph of the call's state and its colour.
func (b *toolBlock) sign() span {
	g := b.look.th.Glyphs
	switch b.status {
	case "pending":
		return say(theme.Faint, g.Todo)
	case "started":
		return say(theme.Accent, b.look.th.Spinner(b.look.phase))
	case "waiting_approval":
		return say(theme.Warn, g.Question)
	case "unknown":
		return say(theme.Warn, g.Question)
	case "denied", "not_run", "interrupted":
		return say(theme.Warn, g.Stopped)
	}
	if !b.ok {
		return say(theme.Error, g.Failed)
	}
	return say(theme.Text, g.Done)
}

// outcome is a few words on the result and their colour.
func (b *toolBlock) outcome() span {
	switch b.status {
	case "pending":
		return say(theme.Faint, "")
	case "started":
		return say(theme.Faint, b.progress)
	case "waiting_approval":
		return say(theme.Warn, b.look.th.T("waits for you"))
	case "denied":
		text := b.look.th.T("denied")
		if b.reason != "" {
			text = b.look.th.T("%s: %s", text, b.reason)
		}
		return say(theme.Warn, text)
	case "unknown", "interrupted":
		return say(theme.Warn, b.look.th.Tell(b.status))
	case "not_run":
		return say(theme.Warn, b.look.th.T("not run"))
	}
	if !b.ok {
		return say(theme.Error, b.look.th.Tell(strings.ReplaceAll(b.code, "_", " ")))
	}
	return say(theme.Text, b.look.th.Tell(b.summary))
}

func (b *toolBlock) duration() string {
	switch {
	case b.status == "started" && !b.started.IsZero() && !b.look.now.IsZero():
		return b.look.th.Duration(b.look.now.Sub(b.started))
	case b.over() && b.took >= 0:
		return b.look.th.Duration(b.took)
	}
	return ""
}

func (b *toolBlock) Render(w int, selected bool) []string {
	m := b.look.m
	lead, _ := b.lead(selected, 0)
	gap := 3
	if w < labelWidth {
		gap = 2
	}
	name := b.look.line(b.name)
	if most := max(nameWidth, w/3); m.Width(name) > most {
		name = m.Fit(name, most)
	}
	left := []span{b.sign().quiet(), say(theme.Text, " "+m.Pad(name, nameWidth)+paint.Spaces(gap)).behind(1)}
	took := b.duration()
	right := []span{say(theme.Faint, m.PadLeft(took, max(durationWidth, m.Width(took)+2)))}
	out := b.outcome()
	out.text = b.look.line(short(out.text))
	if w >= summaryWidth && out.text != "" {
		if most := w / 3; m.Width(out.text) > most {
			out.text = m.Fit(out.text, most)
		}
		right = append([]span{say(out.role, " "+out.text).loud().behind(1)}, right...)
	} else if w < summaryWidth && out.role != theme.Text && b.over() {
		right = []span{say(out.role, " "+m.Cut(out.text, w/3, "")).loud().behind(1)}
	}
	rows := []string{b.row(w, lead, append(left, say(theme.Text, m.Safe(b.brief))), right...)}
	if !b.open {
		return rows
	}
	rows = append(rows, b.details(w, b.look.th.T("arguments")+" "+pretty(b.args))...)
	if b.wrote != nil {
		rows = append(rows, b.details(w, b.look.th.T("changed by you; the model wrote")+" "+pretty(b.wrote))...)
	}
	if len(b.result) > 0 {
		rows = append(rows, b.details(w, b.look.th.T("result")+" "+pretty(b.result))...)
	}
	return rows
}

// mostPretty bounds the JSON that is laid out for reading.
const mostPretty = 64 << 10

func pretty(raw json.RawMessage) string {
	if len(raw) > mostPretty {
		return string(raw[:mostPretty])
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// brief tells arguments in a few words: the values, in the order in which the model gave them.
func brief(raw json.RawMessage) string {
	const most = 400 // bytes; a row is shorter
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	t, err := d.Token()
	if err != nil {
		return paint.CleanLine(short(string(raw)))
	}
	if t != json.Delim('{') {
		return paint.CleanLine(short(string(raw)))
	}
	var out strings.Builder
	for n := 0; d.More() && out.Len() < most; n++ {
		_, err := d.Token()
		var val json.RawMessage
		if err == nil {
			err = d.Decode(&val)
		}
		switch {
		case err != nil && n == 0:
			return paint.CleanLine(short(string(raw)))
		case err != nil:
			return paint.CleanLine(out.String())
		}
		text := string(val)
		var s string
		if json.Unmarshal(val, &s) == nil && len(val) > 0 && val[0] == '"' {
			text = s
		}
		if n > 0 && strings.Contains(strings.TrimSpace(text), "\n") { // a file's content leaves the row to its name
			continue
		}
		if n == 1 && !strings.ContainsAny(out.String(), " \n") && out.Len() <= 10 && text != "" && val[0] == '"' {
			out.WriteString(": ") // an action and what it is done to
		} else if n > 0 {
			out.WriteString(", ")
		}
		out.WriteString(short(text))
	}
	return paint.CleanLine(out.String())
}

// takeResult reads what went back to the model.
func (b *toolBlock) takeResult(raw json.RawMessage) {
	b.result = raw
	var r struct {
		OK    bool         `json:"ok"`
		Error *tools.Error `json:"error"`
	}
	if json.Unmarshal(raw, &r) != nil {
		b.ok = true
		return
	}
	b.ok = r.OK
	if r.Error != nil {
		b.code = string(r.Error.Code)
		if why, ok := strings.CutPrefix(r.Error.Message, "denied, not run: "); ok && why != "no reason given" {
			b.reason = paint.CleanLine(why)
		}
		switch r.Error.Code {
		case tools.CodeDenied, tools.CodeNotRun, tools.CodeInterrupted:
			b.status = string(r.Error.Code)
		case tools.CodeOutcomeUnknown:
			b.status = "unknown"
		}
	}
}
