package ui

import (
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/dialog"
	"vitrine/ui/input"
	"vitrine/ui/theme"
)

// Update takes the messages of the page's session and the keys that the root leaves to it.
func (p *page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.key(msg)
	case submittedMsg:
		return p.submitted(msg)
	case withdrawnMsg:
		return p.withdrawn(msg)
	case olderMsg:
		p.columns.older(msg.messages)
		if p.columns.past == nil && msg.err == nil {
			return p.afterRead()
		}
		p.columns.jump = 0
		if msg.err != nil {
			return p.fail("read older messages", msg.err)
		}
	case copiedMsg:
		return p.copiedTo(msg)
	case besideMsg:
		if msg.gen == p.mouse.gen {
			return p.scrollBeside()
		}
	case stretchMsg:
		return p.stretched(msg)
	case tracePartMsg:
		return p.tracedPart(msg)
	case placesMsg:
		return p.placed(msg)
	case followedMsg:
		return p.follow(msg)
	case contextMsg:
		return p.inspect(msg)
	case toolsMsg:
		return p.listTools(msg)
	case setMsg:
		return p.changedBy(msg)
	case expiredMsg:
		if msg.gen == p.said.gen {
			p.said.text = ""
		}
	case calmMsg:
		p.calmed(msg)
	case outsideMsg:
		return p.returned(msg)
	case untilMsg:
		return p.chooseUntil(msg)
	case namesMsg:
		return p.named(msg)
	case readFilesMsg:
		return p.readFiles()
	case filesMsg:
		return p.filesRead(msg)
	case keepMsg:
		return p.keepNow()
	case keptMsg:
		return p.kept(msg)
	case asideMsg:
		return p.asideNow()
	case asideKeptMsg:
		return p.asideKept(msg)
	}
	return nil
}

// key routes a key within the page: Tab moves the focus, the rest goes to what has it.
func (p *page) key(k tea.KeyPressMsg) tea.Cmd {
	keys := p.env.keys
	if p.focus == paneInput {
		if cmd, ok := p.pickFile(k); ok {
			return cmd
		}
	}
	switch {
	case key.Matches(k, keys.NextPane) && p.complete.open():
		p.fill()
		return nil
	case key.Matches(k, keys.NextPane) && p.answering():
		_, cmd := p.unchoose() // it was not meant for the input
		p.goToQuestion()
		return cmd
	case key.Matches(k, keys.NextPane) && p.focus == paneQuestion && (!p.ask.byUser || p.ask.follows):
		p.goToQuestion() // it took the focus by itself: now the user means it
		return nil
	case key.Matches(k, keys.NextPane):
		p.moveFocus(1)
		return nil
	case key.Matches(k, keys.PrevPane):
		p.moveFocus(-1)
		return nil
	case key.Matches(k, keys.ChatPageUp) && p.focus <= paneQuestion:
		return p.scroll(paneChat, -max(p.lay.chat.h-2, 1))
	case key.Matches(k, keys.ChatPageDown) && p.focus <= paneQuestion:
		return p.scroll(paneChat, max(p.lay.chat.h-2, 1))
	case key.Matches(k, keys.ChatLineUp):
		return p.scroll(paneChat, -1)
	case key.Matches(k, keys.ChatLineDown):
		return p.scroll(paneChat, 1)
	}
	switch p.focus {
	case paneInput:
		return p.inputKey(k)
	case paneQuestion:
		return p.questionKey(k)
	}
	return p.paneKey(k)
}

// focusOrder lists what can have the focus now.
func (p *page) focusOrder() []pane {
	order := []pane{paneInput}
	if p.needsUser() {
		order = append(order, paneQuestion)
	}
	for _, which := range []pane{paneChat, paneTrace, paneTodos} {
		if p.env.panes.shows(which, p.lay.w) {
			order = append(order, which)
		}
	}
	return order
}

func (p *page) moveFocus(d int) {
	order := p.focusOrder()
	at := 0
	for i, which := range order {
		if which == p.focus {
			at = i
		}
	}
	switch next := order[(at+d+len(order))%len(order)]; {
	case next == paneQuestion:
		p.goToQuestion()
	case next == paneInput && p.question() != noQuestion:
		p.leaveQuestion()
	default:
		p.focusOn(next)
	}
}

func (p *page) focusOn(which pane) {
	p.focus = which
	p.ask.byUser = p.ask.byUser && which == paneQuestion
	p.ask.follows = p.ask.follows && p.ask.byUser
	p.complete.close(p.edit.Text())
	p.columns.focus(which)
}

// inputKey takes a key of the input.
func (p *page) inputKey(k tea.KeyPressMsg) tea.Cmd {
	keys := p.env.keys
	p.part()
	switch {
	case key.Matches(k, keys.NewLine):
		p.edit.Insert("\n")
		return p.changedInput()
	case key.Matches(k, keys.Send):
		if p.answering() && p.ask.settled {
			letter, cmd := p.unchoose()
			return tea.Batch(cmd, p.answer(letter))
		}
		return p.enter()
	case key.Matches(k, keys.Older):
		return p.up()
	case key.Matches(k, keys.Newer):
		return p.down()
	case key.Matches(k, keys.History):
		return p.openHistory()
	case key.Matches(k, keys.Outside):
		return p.openOutside("", input.Plain(p.edit.Text()))
	case key.Matches(k, p.env.dkeys.Edit.OpenPaste):
		return p.openPaste()
	case key.Matches(k, keys.Help) && p.edit.Empty():
		p.want.help = true
		return nil
	}
	before, _ := p.edit.Raw()
	if !p.edit.Key(k) {
		return nil
	}
	if after, _ := p.edit.Raw(); after != before {
		return p.changedInput()
	}
	return p.mentioned()
}

// changedInput follows a change of the text.
func (p *page) changedInput() tea.Cmd {
	p.try = -1
	p.complete.match(p.edit.Text(), p.env.commands)
	cmd := p.mentioned()
	p.measure()
	if p.edit.Chips() == 0 && p.said.text == p.pasteHint() {
		p.said.text = "" // there is none any more
	}
	return cmd
}

// measure counts what is being typed.
func (p *page) measure() {
	if p.gauge.draft = draftTokens(p.edit.Text()); p.gauge.draft > 0 {
		p.gauge.draft += p.files.tokens
	}
}

// setInput replaces the text.
func (p *page) setInput(text string) tea.Cmd {
	p.edit.SetText(text)
	p.complete.close(p.edit.Text())
	p.try = -1
	cmd := p.mentioned()
	p.files.close(p.edit.Raw())
	p.measure()
	return cmd
}

func (p *page) paste(text string) tea.Cmd {
	p.part()
	if p.focus != paneInput {
		p.focusOn(paneInput)
	}
	chips := p.edit.Chips()
	if !p.edit.Paste(text) {
		return p.tell(theme.Error, p.env.style.T("the paste was not taken: with it the input would be larger than %s; what you typed is as it was",
			theme.Bytes(input.MaxBytes)))
	}
	cmd := p.changedInput()
	if p.edit.Chips() > chips {
		cmd = tea.Batch(cmd, p.tell(theme.Text, p.pasteHint()))
	}
	return cmd
}

// pasteHint says what can be done with the label of a paste.
func (p *page) pasteHint() string {
	return p.env.style.T("%s opens the paste here, %s in your editor; Backspace takes it away", p.env.dkeys.Edit.OpenPaste.Help().Key, p.env.keys.Outside.Help().Key)
}

// openPaste shows the text of a paste in its place.
func (p *page) openPaste() tea.Cmd {
	ok, room := p.edit.OpenChip()
	switch {
	case !ok && p.edit.Chips() > 1:
		return p.tell(theme.Text, p.env.style.T("put the cursor beside the paste that is to be opened"))
	case !ok:
		return p.tell(theme.Text, p.env.style.T("there is no paste to open"))
	case !room:
		return p.tell(theme.Error, p.env.style.T("the paste is too large to be edited here; %s opens it in your editor", p.env.keys.Outside.Help().Key))
	}
	return p.changedInput()
}

// clearInput empties the input; Up brings the text back.
func (p *page) clearInput() tea.Cmd {
	p.history.add(p.history.leave())
	p.history.add(p.edit.Text())
	return p.setInput("")
}

// up goes to the row above, then to what is queued, then to older inputs.
func (p *page) up() tea.Cmd {
	switch {
	case p.complete.open():
		p.complete.step(-1)
		return nil
	case p.try >= 0:
		p.try--
		return nil
	case p.edit.Empty() && !p.history.browsing() && len(p.inbox) > 0 && p.writable():
		return p.env.withdraw(p.id, p.inbox[len(p.inbox)-1].ID)
	case p.edit.Up():
		return nil
	}
	if text, ok := p.history.older(p.edit.Text()); ok {
		if p.said.text == p.T(clearedText) {
			p.said.text = ""
		}
		return p.setInput(text)
	}
	return nil
}

func (p *page) down() tea.Cmd {
	switch {
	case p.complete.open():
		p.complete.step(1)
	case p.edit.Empty() && p.empty() && !p.history.browsing():
		p.try = min(p.try+1, len(suggestions(p.env.opts.Lang))-1)
	case p.edit.Down():
	default:
		if text, ok := p.history.newer(); ok {
			return p.setInput(text)
		}
	}
	return nil
}

func (p *page) withdrawn(msg withdrawnMsg) tea.Cmd {
	if msg.err != nil {
		return p.fail("take the input back", msg.err)
	}
	p.part()
	return p.putBefore(ownWords(msg.text))
}

// enter runs a command or sends the text.
func (p *page) enter() tea.Cmd {
	if p.try >= 0 && p.edit.Empty() {
		p.setInputKeepingTry(suggestions(p.env.opts.Lang)[p.try].text)
	}
	text := strings.TrimSpace(p.edit.Text())
	switch {
	case text == "" && (p.held != 0 || p.reopens):
		return p.reload() // perhaps it is free now
	case text == "":
		return nil
	}
	if c, arg, ok := p.slash(text); ok {
		if c == nil {
			return p.tell(theme.Error, p.T("there is no command %s; /help lists them, a space before it sends it as text", firstWord(text)))
		}
		if arg == "" && p.complete.chosen(text) && c.arg != "" && !strings.EqualFold(text, "/"+c.slash) {
			p.fill()
			return nil
		}
		draft := p.history.leave()
		if arg != "" {
			p.history.add(p.edit.Text())
		}
		p.want.command, p.want.arg = c, arg
		return p.setInput(draft)
	}
	return p.send(strings.TrimRight(p.edit.Text(), " \t\n"))
}

func (p *page) setInputKeepingTry(text string) {
	p.edit.SetText(text)
	p.try = -1
	p.gauge.draft = draftTokens(text)
}

// retry sends the last input again.
func (p *page) retry() tea.Cmd {
	last := p.history.sent
	switch {
	case last == "":
		return p.tell(theme.Text, p.T("there is no input to send again"))
	case p.busy():
		return p.tell(theme.Text, p.T("a run is on; /retry is for after it"))
	}
	return p.send(last)
}

// cancelRun stops the run.
func (p *page) cancelRun() tea.Cmd {
	switch {
	case !p.busy():
		return p.tell(theme.Text, p.T("nothing runs"))
	case p.held != 0:
		return p.tell(theme.Text, p.whyNot())
	}
	return tea.Batch(p.env.cancel(p.id), p.tellFor(stopAgain, theme.Text, p.T(stopping)))
}

// openHistory lists what was sent before.
func (p *page) openHistory() tea.Cmd {
	var items []dialog.Item
	p.recall = slices.Clone(p.history.entries)
	for i := len(p.history.entries) - 1; i >= 0; i-- {
		e := p.history.entries[i]
		items = append(items, dialog.Item{ID: strconv.Itoa(i), Label: input.Brief(e, p.env.chipName), Terms: firstBytes(input.Plain(e), mostTerms)})
	}
	return p.show(dialog.NewPicker(kindHistory, p.T("HISTORY"), p.T("nothing was sent yet"), items, false, p.env.dkeys), "")
}
