package ui

import (
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime/prompt"
	"vitrine/ui/chat"
	"vitrine/ui/input"
	"vitrine/ui/line"
	"vitrine/ui/mention"
	"vitrine/ui/theme"
)

// Here the files that an input names with @ are offered while one is typed, told above the input, and read again when it is sent. All
// of it is read by commands; the page only knows what came of them.

const (
	// staleAfter is how long a list of the folder's files is good, readAfter how long typing rests until the files are read.
	staleAfter = 10 * time.Second
	readAfter  = 150 * time.Millisecond
	// mostOffered is how many names are offered, mostFileRows how many files are told above the input.
	mostOffered  = 50
	mostFileRows = 3
)

// attachments is what an input names with @.
type attachments struct {
	names   []string  // of the folder
	at      time.Time // when they were read
	stop    func()    // ends the reading that is on; nil: none is
	query   string    // what is typed behind @
	from    int       // where in the raw text it begins
	typing  bool
	matches []string
	fits    string // the query that they fit
	pick    int
	closed  string // the raw text at which the list was closed

	files   []attach.File // that would be sent
	tokens  int
	of      string // the text that they are of
	waits   bool   // they are read in a moment, or just now
	known   map[string]bool
	unnamed bool // the folder cannot be listed
}

func (a *attachments) open() bool { return a.typing && len(a.matches) > 0 }

// close hides the list until the text is another.
func (a *attachments) close(raw string, _ int) {
	a.typing, a.matches, a.pick, a.closed = false, nil, 0, raw
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
}

// learn keeps that a name was a file.
func (a *attachments) learn(name string) {
	if a.known == nil {
		a.known = map[string]bool{}
	}
	a.known[name] = true
}

// mentioned follows the text: which file is being named, and which it names.
func (p *page) mentioned() tea.Cmd {
	a := &p.files
	if p.env.opts.Files == nil {
		return nil
	}
	return tea.Batch(p.offerNames(), p.noteFiles(a))
}

// offerNames looks for names for what is typed behind @.
func (p *page) offerNames() tea.Cmd {
	a := &p.files
	raw, at := p.edit.Raw()
	m, ok := mention.At(raw, at)
	if !ok || raw == a.closed || a.unnamed {
		if a.typing {
			a.close("", 0)
		}
		return nil
	}
	if a.typing && a.query == m.Name && a.from == m.Start {
		return nil
	}
	if !a.typing || a.from != m.Start {
		a.matches, a.pick = nil, 0
	}
	a.closed, a.typing, a.query, a.from = "", true, m.Name, m.Start
	switch {
	case a.names != nil && p.env.now.Sub(a.at) < staleAfter:
		return p.env.rankNames(p.id, a.query, a.names)
	case a.stop != nil:
		return nil // what is read is looked through for what is typed then
	}
	ctx, stop := p.env.clk.WithCancel(p.env.ctx)
	a.stop = stop
	return func() tea.Msg {
		defer stop()
		names, _, err := p.env.opts.Files.Names(ctx)
		return namesMsg{id: p.id, names: names, err: err}
	}
}

// rankNames puts the names that fit in order.
func (e *env) rankNames(id, query string, names []string) tea.Cmd {
	return func() tea.Msg {
		return namesMsg{id: id, query: query, matches: mention.Rank(names, query, mostOffered)}
	}
}

// named takes names that were asked for.
func (p *page) named(msg namesMsg) tea.Cmd {
	a := &p.files
	if msg.matches == nil {
		a.stop = nil
		switch {
		case p.env.ctx.Err() != nil, !a.typing:
			return nil
		case msg.err != nil:
			a.unnamed = true
			return p.tell(theme.Error, p.env.style.T("the folder's files cannot be listed: %s", msg.err.Error()))
		}
		a.names, a.at = append([]string{}, msg.names...), p.env.now
		return p.env.rankNames(p.id, a.query, a.names)
	}
	if !a.typing || msg.query != a.query {
		return nil
	}
	a.matches, a.fits, a.pick = msg.matches, msg.query, 0
	if slices.Contains(msg.matches, msg.query) { // it is there in full: Enter sends
		a.matches = nil
	}
	return nil
}

// pickFile takes a key of the list of names; ok is false when it is none.
func (p *page) pickFile(k tea.KeyPressMsg) (cmd tea.Cmd, ok bool) {
	a, keys := &p.files, p.env.keys
	if !a.open() {
		return nil, false
	}
	if a.fits != a.query && key.Matches(k, keys.Send, keys.NextPane) { // who types fast means the names that fit now
		if a.matches, a.fits, a.pick = mention.Rank(a.names, a.query, mostOffered), a.query, 0; len(a.matches) == 0 || slices.Contains(a.matches, a.query) {
			a.matches = nil
			return nil, false
		}
	}
	switch {
	case key.Matches(k, keys.Older):
		a.pick = (a.pick + len(a.matches) - 1) % len(a.matches)
	case key.Matches(k, keys.Newer):
		a.pick = (a.pick + 1) % len(a.matches)
	case key.Matches(k, keys.Send), key.Matches(k, keys.NextPane):
		return p.fillFile(), true
	default:
		return nil, false
	}
	return nil, true
}

// fillFile puts the chosen name into the input.
func (p *page) fillFile() tea.Cmd {
	a := &p.files
	name := a.matches[a.pick]
	raw, at := p.edit.Raw()
	text := mention.Write(name)
	if at == len(raw) || raw[at] != ' ' && raw[at] != '\n' {
		text += " "
	}
	p.edit.Replace(a.from, at, text)
	a.learn(name)
	raw, _ = p.edit.Raw()
	a.close(raw, 0)
	return p.changedInput()
}

// noteFiles has the files read that the text names, when it names others than before.
func (p *page) noteFiles(a *attachments) tea.Cmd {
	text := input.Typed(p.edit.Text())
	if len(mention.Find(text)) == 0 {
		a.files, a.tokens, a.of = nil, 0, text
		if text == "" {
			a.known = nil
		}
		return nil
	}
	if text == a.of || a.waits {
		return nil
	}
	a.waits = true
	return p.env.after(readAfter, readFilesMsg{p.id})
}

// readFiles reads them.
func (p *page) readFiles() tea.Cmd {
	of, known := input.Typed(p.edit.Text()), maps.Clone(p.files.known)
	return func() tea.Msg {
		files := p.env.attached(of, known)
		tokens := 0
		if len(files) > 0 {
			tokens = prompt.EstimateMessage(llm.Message{Content: attach.Compose("", files)})
		}
		return filesMsg{p.id, of, files, tokens}
	}
}

// attached reads the files that a text names outside of its pastes.
func (e *env) attached(text string, known map[string]bool) []attach.File {
	if e.opts.Files == nil {
		return nil
	}
	return mention.Resolve(e.ctx, input.Typed(text), e.opts.Files.Read, func(name string) bool { return known[name] })
}

// filesRead takes what they hold; the texts themselves are read again when the input is sent.
func (p *page) filesRead(msg filesMsg) tea.Cmd {
	a := &p.files
	a.waits = false
	a.of = msg.of
	a.files, a.tokens = make([]attach.File, 0, len(msg.files)), msg.tokens
	for _, f := range msg.files {
		if f.Refused == "" {
			a.learn(f.Name)
		}
		a.files = append(a.files, f)
	}
	cmd := p.noteFiles(a) // it may be another text by now
	p.measure()
	return cmd
}

// fileRows offer the names that fit what is typed.
func (p *page) fileRows(add addRow) {
	a, s := &p.files, p.env.style
	most := p.mostListed()
	first := min(max(a.pick-most+1, 0), a.pick)
	if !a.open() {
		return
	}
	for i := first; i < min(len(a.matches), first+most); i++ {
		mark, role, right := " ", theme.Text, ""
		if i == a.pick {
			mark, role = s.Theme.Glyphs.Here, theme.Strong
			right = s.T("%s insert", p.env.keys.Send.Help().Key) + "   " + s.T("%s close", p.env.keys.Escape.Help().Key) + " "
			if len(a.matches) > most {
				right = s.T("%d of %d", i+1, len(a.matches)) + "   " + right
			}
			if right = s.Whole(strings.TrimRight(right, " "), p.lay.w-s.Metrics.Width("@"+s.Text(a.matches[i]))-4) + " "; s.Metrics.Width("@"+s.Text(a.matches[i])+right)+2 > p.lay.w {
				right = "" // the name is more
			}
		}
		add([]line.Span{line.Say(theme.Accent, mark), line.Weight(role, i == a.pick, "@"+s.Text(a.matches[i]))}, line.Say(theme.Faint, right))
	}
}

// attachedRows tell of the files that go with the text, while no list is open over it.
func (p *page) attachedRows(add addRow) {
	s := p.env.style
	if p.files.open() {
		return
	}
	for i, f := range p.files.files {
		if i == mostFileRows-1 && len(p.files.files) > mostFileRows {
			add([]line.Span{line.Say(theme.Faint, "   "+s.T("%d more files", len(p.files.files)-i))})
			return
		}
		role, fact, ok := chat.FileFact(s.Theme.Lang(), f)
		mark := "@"
		if !ok {
			mark = s.Theme.Glyphs.Failed
		}
		add([]line.Span{line.Say(role, " "+mark+" "), line.Say(theme.Text, s.Text(f.Name)), line.Say(role, "   "+fact)})
	}
}

// ownWords are the user's own of a stored input, fit for the editor.
func ownWords(content string) string { return input.Foreign(attach.Text(content)) }

// chipLabels are the labels of a paste in the input, the longest first.
func (e *env) chipLabels(c input.Chip) []string {
	s := e.style
	return []string{
		"[" + s.T("paste %d: %s lines, %s", c.Number, theme.Count(c.Lines), theme.Bytes(int64(c.Bytes))) + "]",
		"[" + s.T("paste %d: %s lines", c.Number, theme.Count(c.Lines)) + "]",
		"[" + s.T("paste %d", c.Number) + "]",
	}
}

// chipName is the label of a paste in a list.
func (e *env) chipName(c input.Chip) string { return e.chipLabels(c)[0] }

// mostTerms bounds what of an older input is looked through for it.
const mostTerms = 2 << 10

func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}
