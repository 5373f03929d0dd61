package ui

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Here texts are copied: through the terminal, which alone reaches the clipboard of whoever sits before it, also over ssh. Whether it
// takes a copy nobody tells, so that those of which it is known that they do not, and what is longer than most take, go into a file.

const (
	// mostClipboard bounds, in bytes of base64, what goes to the terminal: more is dropped by many, in silence.
	mostClipboard = 74_994
	// mostCopied bounds a copy into a file.
	mostCopied = 64 << 20
	// copyName is the file of copies, below the folder for temporary files.
	copyName = "vitrine-copy-*.txt"
)

// copiedMsg is the end of a copy into a file.
type copiedMsg struct {
	id    string
	lines int
	long  bool // the terminal got the beginning
	path  string
	err   error
}

func (m copiedMsg) session() string { return m.id }

// copyable is a text as it is copied: without control characters, lines ended by line feeds.
func copyable(text string) string { return paint.CleanSource(text) }

// copyText puts a text on the clipboard through the terminal, and says how much it was.
func (p *page) copyText(text string) tea.Cmd {
	text = copyable(text)
	if strings.TrimSpace(text) == "" {
		return p.tell(theme.Text, p.T("there is nothing to copy yet"))
	}
	n := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	deaf := deafTerminal(p.env.opts.Env)
	if long := base64.StdEncoding.EncodedLen(len(text)) > mostClipboard; long || deaf {
		keep := p.env.copyToFile(p.id, text, n, long && !deaf)
		if deaf {
			return keep
		}
		return tea.Batch(tea.SetClipboard(cutText(text, base64.StdEncoding.DecodedLen(mostClipboard))), keep)
	}
	return tea.Batch(tea.SetClipboard(text), p.tell(theme.Text, p.copiedWord(n)))
}

func (p *page) copiedWord(n int) string {
	return p.env.opts.Lang.N(n, "copied %d line", "copied %d lines", n)
}

// cutText is at most n bytes of a text, whole lines where it has some.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[:n]
	if i := strings.LastIndexByte(text, '\n'); i > n/2 {
		return text[:i+1]
	}
	return strings.ToValidUTF8(text, "")
}

// deafTerminal says that a terminal is known to take no copies.
func deafTerminal(env func(string) string) bool {
	term := env("TERM")
	return term == "linux" || term == "dumb" || strings.HasPrefix(term, "vt1") || strings.HasPrefix(term, "vt2") ||
		env("TERM_PROGRAM") == "Apple_Terminal" && env("TMUX") == ""
}

// copyToFile keeps a copy in a file that only its user can read; each takes the place of the one before.
func (e *env) copyToFile(id, text string, lines int, long bool) tea.Cmd {
	if len(text) > mostCopied {
		text = cutText(text, mostCopied)
	}
	return func() tea.Msg {
		msg := copiedMsg{id: id, lines: lines, long: long}
		msg.path, msg.err = e.writeCopy(text)
		return msg
	}
}

func (e *env) writeCopy(text string) (path string, err error) {
	f, err := os.CreateTemp(e.opts.CopyDir, copyName)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	name := f.Name()
	if old := e.copied.Swap(&name); old != nil {
		_ = os.Remove(*old) // it may be gone already
	}
	if path, err := filepath.Abs(name); err == nil {
		return path, nil
	}
	return name, nil
}

// copiedTo tells of a copy in a file.
func (p *page) copiedTo(msg copiedMsg) tea.Cmd {
	word := p.copiedWord(msg.lines)
	switch {
	case msg.err != nil && msg.long:
		return p.tell(theme.Warn, p.T("the beginning is copied; it is too long for the terminal, and no file can be written: %s", msg.err.Error()))
	case msg.err != nil:
		return p.tell(theme.Error, p.T("not copied: this terminal takes no copies, and no file can be written: %s", msg.err.Error()))
	case msg.long:
		return p.tellFor(2*saidFor, theme.Warn, p.T("only the beginning is copied; all %d lines are in %s", msg.lines, msg.path))
	}
	return p.tellFor(2*saidFor, theme.Text, word+" "+p.T("to %s", msg.path))
}
