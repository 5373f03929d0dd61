package ui

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/dialog"
	"vitrine/ui/export"
	"vitrine/ui/theme"
)

// Here a session is exported: all of it, folded messages too, into a file that was not there.

// exportedMsg tells what became of an export.
type exportedMsg struct {
	id, path string
	err      error
}

// export writes the session in front: the argument is a format or a file's name, which says the format; without one it is asked for.
func (m *Model) export(arg string) tea.Cmd {
	p, e := m.page(), m.env
	if p.id == "" || e.opts.Records == "" {
		return p.tell(theme.Error, p.T("sessions cannot be exported here"))
	}
	arg = strings.TrimSpace(arg)
	if arg == "" {
		return p.show(dialog.NewPrompt(kindExport, p.T("EXPORT"), p.T("a new .md, .json or .html"), fileName(p.id)+"."+string(export.Markdown), e.dkeys), "")
	}
	path, format := arg, filepath.Ext(arg)
	if f, err := export.ParseFormat(arg); err == nil { // the format alone
		path, format = fileName(p.id)+"."+string(f), string(f)
	} else if format == "" {
		path += "." + string(export.Markdown)
	}
	f, err := export.ParseFormat(format)
	if err != nil {
		return p.tell(theme.Error, p.T("a session is exported as .md, .json or .html"))
	}
	file := path
	if !filepath.IsAbs(file) {
		file = filepath.Join(e.opts.Records, file)
	}
	id := p.id
	return func() tea.Msg { return exportedMsg{id, path, e.exportTo(file, f, id)} }
}

// exportTo reads the session and writes the file.
func (e *env) exportTo(file string, f export.Format, id string) error {
	list, err := e.opts.Library.Sessions(e.ctx, e.opts.User)
	if err != nil {
		return fmt.Errorf("list the sessions: %w", err)
	}
	for _, s := range list {
		if s.ID == id {
			return export.NewFile(file, func(w io.Writer) error { return export.Write(e.ctx, w, f, e.opts.Library, s, e.opts.Lang) })
		}
	}
	return runtime.ErrNotFound
}

// exported tells it.
func (m *Model) exported(msg exportedMsg) tea.Cmd {
	p := m.find(msg.id)
	if p == nil {
		p = m.page()
	}
	path := m.env.style.Text(msg.path)
	switch {
	case errors.Is(msg.err, fs.ErrExist):
		return p.tell(theme.Error, p.T("%s is there already; name another file", path))
	case msg.err != nil:
		return p.fail("export the session", msg.err)
	}
	return p.tellFor(2*saidFor, theme.Text, p.T("exported to %s", path))
}

// fileName is a session's id as the name of a file.
func fileName(id string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, id)
	return strings.TrimLeft(name, ".")
}
