package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/dialog"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here the user writes other arguments for a call, its result, or why it is denied. What was typed stays: in the dialog when it
// is refused, as a draft when the dialog is closed, among the inputs before when the call has gone meanwhile.

const editing words.Text = "change the arguments"

// draftOf names what was typed into a dialog about a call.
func draftOf(kind dialog.Kind, call string) string { return string(kind) + " " + call }

// editCall opens the arguments of a call.
func (p *page) editCall(d trace.ApprovalData) tea.Cmd {
	text, ok := p.approve.drafts[draftOf(kindEdit, d.ID)]
	if !ok {
		text = editable(d.Arguments)
	}
	return p.show(dialog.NewEditor(kindEdit, p.T("EDIT"), p.T("arguments of %s", d.Tool), text, p.env.dkeys), d.ID)
}

// editable writes JSON over several lines, with what could not be seen in it as escapes.
func editable(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	text := b.String()
	if paint.Reveal(text) == text {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		word := text[:len(text)-len(strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }))]
		if word == "" {
			word = string([]rune(text)[:1])
		}
		text = text[len(word):]
		latin := strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
		for _, r := range word {
			alone := string(r)
			if latin && r > unicode.MaxASCII {
				alone = "a" + alone // in a word of Latin letters look-alikes are told
			}
			switch {
			case r == '\n' || paint.Reveal(alone) == alone:
				out.WriteRune(r)
			case r > 0xFFFF:
				hi, lo := utf16.EncodeRune(r)
				fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
			default:
				fmt.Fprintf(&out, `\u%04x`, r)
			}
		}
	}
	return out.String()
}

// jsonProblem says what is wrong with arguments, and at which byte; empty when they are one object.
func jsonProblem(l words.Lang, text string) (what string, at int) {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	var bad *json.SyntaxError
	switch {
	case errors.As(err, &bad):
		at = max(int(bad.Offset)-1, 0)
		if strings.HasPrefix(bad.Error(), "unexpected end") {
			at = len(text)
		}
		before := text[:min(at, len(text))]
		row := strings.Count(before, "\n") + 1
		column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
		return l.T("row %d, column %d: %s", row, column, l.Tell(bad.Error())), at
	case err != nil:
		return err.Error(), 0
	}
	if _, ok := v.(map[string]any); !ok {
		return l.T("the arguments are one JSON object: { ... }"), 0
	}
	return "", 0
}

// edited takes what an editor was left with by Enter.
func (p *page) edited(r dialog.Edited) tea.Cmd {
	e, ok := p.dialog.(*dialog.Editor)
	if !ok {
		return nil
	}
	if !p.waits(p.subject) {
		e.Fail(p.T("the call does not wait any more; Esc keeps the text among the inputs before"), -1)
		return nil
	}
	if r.Kind == kindAnswer {
		if strings.TrimSpace(r.Text) == "" {
			e.Fail(p.T("what should the model be told?"), -1)
			return nil
		}
		p.dialog = nil
		p.keepDraft(r.Kind, r.Text) // should it not be taken
		return p.decide(runtime.Decision{Call: p.subject, Result: &r.Text})
	}
	if what, at := jsonProblem(p.env.opts.Lang, r.Text); what != "" {
		e.Fail(what, at)
		return nil
	}
	p.keepDraft(r.Kind, r.Text)
	e.Fail("", -1)
	change := runtime.Setting{Decide: []runtime.Decision{{Call: p.subject, Arguments: r.Text}}}
	if p.interrupted != nil {
		yes := true
		change.Resume = &yes
	}
	return p.env.set(p.id, editing, change)
}

// waits says that the call still waits for the user's word.
func (p *page) waits(call string) bool {
	for _, d := range p.approve.waiting {
		if d.ID == call {
			return true
		}
	}
	return false
}

// accepted is the end of an edit: refused arguments stay before the user, with the reason.
func (p *page) accepted(err error) tea.Cmd {
	e, open := p.dialog.(*dialog.Editor)
	open = open && e.Kind() == kindEdit
	switch {
	case err != nil && open:
		e.Fail(p.env.opts.Lang.Tell(strings.ReplaceAll(err.Error(), "\n", "; ")), -1)
		return nil
	case err != nil:
		return p.fail(editing, err)
	}
	p.keepDraft(kindEdit, "")
	if open {
		p.dialog = nil
	}
	p.interrupted = nil
	return nil
}

// keepDraft keeps what was typed into a dialog about a call; an empty text forgets it.
func (p *page) keepDraft(kind dialog.Kind, text string) {
	if p.approve.drafts == nil {
		p.approve.drafts = map[string]string{}
	}
	if text == "" {
		delete(p.approve.drafts, draftOf(kind, p.subject))
		return
	}
	p.approve.drafts[draftOf(kind, p.subject)] = text
}

// goneText is said of a text that was typed for a call which does not wait any more.
const goneText words.Text = "the call does not wait any more; Up in the input brings the text back"

// gone keeps what was typed for a call that has gone.
func (p *page) gone(text string) tea.Cmd {
	p.history.add(text)
	return p.tell(theme.Text, p.T(goneText))
}

// left closes a dialog that was written in; what was typed for a call stays for the next time.
func (p *page) left(r dialog.Left) tea.Cmd {
	p.dialog, p.behind = p.behind, nil
	about := r.Kind == kindDeny || r.Kind == kindEdit || r.Kind == kindAnswer
	switch {
	case !about || !r.Changed:
		return nil
	case !p.waits(p.subject):
		return p.gone(r.Text)
	}
	p.keepDraft(r.Kind, r.Text)
	return p.tell(theme.Text, p.T("kept: the same key goes on with it"))
}
