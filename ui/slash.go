package ui

import (
	"strings"
)

// completion is the list of commands over the input while one is being typed.
type completion struct {
	matches   []*command
	at        int
	dismissed string // the text at which it was closed
}

// mostMatches is how many are shown at least; on a high screen there is room for more.
const mostMatches = 6

// match finds the commands that begin like the text.
func (c *completion) match(text string, table []command) {
	c.matches, c.at = nil, 0
	if text == c.dismissed && text != "" {
		return
	}
	c.dismissed = ""
	name, ok := strings.CutPrefix(text, "/")
	if !ok || strings.ContainsAny(name, " \n\t/") {
		return
	}
	name = strings.ToLower(name)
	for i := range table {
		if s := table[i].slash; s != "" && strings.HasPrefix(s, name) {
			c.matches = append(c.matches, &table[i])
		}
	}
}

func (c *completion) open() bool { return len(c.matches) > 0 }

// close hides the list until the text is another.
func (c *completion) close(text string) { c.matches, c.at, c.dismissed = nil, 0, text }

func (c *completion) step(d int) { c.at = (c.at + d + len(c.matches)) % len(c.matches) }

// chosen says that the list is open over the text.
func (c *completion) chosen(text string) bool { return c.open() && strings.HasPrefix(text, "/") }

// fill puts the chosen command into the input.
func (p *page) fill() {
	c := p.complete.matches[p.complete.at]
	text := "/" + c.slash
	if c.arg != "" {
		text += " "
	}
	p.edit.SetText(text)
	p.complete.close(text)
}

// slash tells whether the text is a command: one line that begins with a slash and a word. The command is nil when there is
// none of that name. A list that is open decides for its choice.
func (p *page) slash(text string) (c *command, arg string, ok bool) {
	if !strings.HasPrefix(p.edit.Text(), "/") || strings.Contains(text, "\n") {
		return nil, "", false
	}
	word, rest, _ := strings.Cut(text, " ")
	if strings.Contains(word[1:], "/") || word == "/" && !p.complete.open() {
		return nil, "", false
	}
	if p.complete.open() {
		return p.complete.matches[p.complete.at], "", true
	}
	for i := range p.env.commands {
		if s := p.env.commands[i].slash; s != "" && strings.EqualFold(s, word[1:]) {
			return &p.env.commands[i], strings.TrimSpace(rest), true
		}
	}
	return nil, "", true
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}
