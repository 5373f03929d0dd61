package ui

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/ui/dialog"
	"vitrine/ui/input"
	"vitrine/ui/theme"
)

// Here the user's own editor is opened on a text: on the input, or on what a dialog about a call holds.

// editorVariables name the editor, the first one that is set.
func editorVariables() []string { return []string{"VISUAL", "EDITOR"} }

// editorOf is the command of the user's editor with its arguments; empty: none is named.
func editorOf(env func(string) string) []string {
	for _, name := range editorVariables() {
		v := strings.TrimSpace(env(name))
		if v == "" {
			continue
		}
		if _, err := exec.LookPath(v); err == nil {
			return []string{v} // a path may hold blanks
		}
		return strings.Fields(v)
	}
	return nil
}

// outsideMsg is the end of an editor. The text is what the file held, when there is no error.
type outsideMsg struct {
	id      string      // of the session
	kind    dialog.Kind // of the dialog that the text is of; empty: the input
	subject string
	text    string
	err     error
	release func()
}

func (m outsideMsg) session() string { return m.id }

// openOutside opens the editor on a text of the page.
func (p *page) openOutside(kind dialog.Kind, text string) tea.Cmd {
	editor := editorOf(p.env.opts.Env)
	if len(editor) == 0 {
		return p.tell(theme.Error, p.T("no editor is named: set VISUAL or EDITOR"))
	}
	o := &outside{env: p.env, words: editor, name: "text.md", text: text}
	if kind == kindEdit {
		o.name = "arguments.json"
	}
	msg := outsideMsg{id: p.id, kind: kind, subject: p.subject}
	return tea.Exec(o, func(err error) tea.Msg {
		msg.text, msg.err, msg.release = o.text, err, o.release
		return msg
	})
}

// outside is an editor at work; Bubble Tea has given it the terminal. It is used by one goroutine.
type outside struct {
	env     *env
	words   []string
	name    string // of the file, which tells the editor what is in it
	text    string // before and after
	release func() // gives interrupts back
}

// SetStdin is not needed: the editor has the terminal itself, since one that is piped is none.
func (o *outside) SetStdin(io.Reader) {}

// SetStdout is not needed either.
func (o *outside) SetStdout(io.Writer) {}

// SetStderr is not needed either.
func (o *outside) SetStderr(io.Writer) {}

// Run writes the text to a file that nobody else can read, waits for the editor and reads the file again. The file goes with its
// folder, where editors leave copies, whatever happens; only a text that is too large to be taken stays.
func (o *outside) Run() (err error) {
	o.release = o.env.holdInterrupts()
	if t := o.env.terminal; t != nil {
		if err := t.Release(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.Restore()) }()
	}
	dir, err := os.MkdirTemp("", "vitrine-")
	if err != nil {
		return fmt.Errorf("a folder for the text: %w", err)
	}
	keep := false
	defer func() {
		if !keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	path := filepath.Join(dir, o.name)
	if err := os.WriteFile(path, []byte(o.text), 0o600); err != nil {
		return fmt.Errorf("write the text: %w", err)
	}
	cmd := exec.Command(o.words[0], append(o.words[1:len(o.words):len(o.words)], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.env.opts.Input, o.env.opts.Output, o.env.opts.Output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(o.words[0]), err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the text: %w", err)
	}
	defer f.Close() // nothing is written
	data, err := io.ReadAll(io.LimitReader(f, input.MaxBytes+1))
	if err != nil {
		return fmt.Errorf("read the text: %w", err)
	}
	if len(data) > input.MaxBytes {
		keep = true
		return fmt.Errorf("the text is larger than 8 MB; it is in %s", path)
	}
	// Editors end the last line; who wants an empty one there writes two.
	o.text = strings.TrimSuffix(strings.TrimSuffix(strings.ToValidUTF8(string(data), "\uFFFD"), "\n"), "\r")
	return nil
}

// returned takes what an editor left behind.
func (p *page) returned(msg outsideMsg) tea.Cmd {
	cmds := []tea.Cmd{p.env.freeInterrupts(msg.release)}
	p.touched()
	e, open := p.dialog.(*dialog.Editor)
	switch {
	case msg.err != nil:
		cmds = append(cmds, p.tell(theme.Error, p.T("the text is as it was: %s", p.env.opts.Lang.Tell(msg.err.Error()))))
	case msg.kind == "":
		p.focusOn(paneInput)
		p.edit.SetText(input.Rechip(p.edit.Text(), input.Foreign(msg.text)))
		cmds = append(cmds, p.changedInput())
	case open && e.Kind() == msg.kind && p.subject == msg.subject:
		e.SetText(msg.text)
	default:
		cmds = append(cmds, p.gone(msg.text))
	}
	return tea.Batch(cmds...)
}

// interruptGrace is how long an interrupt may be on its way that was meant for an editor.
const interruptGrace = 200 * time.Millisecond

// holdInterrupts makes interrupts count for nothing: Ctrl+C in an editor reaches the whole job.
func (e *env) holdInterrupts() (release func()) {
	e.outside.Add(1)
	outer := func() {}
	if e.opts.Hold != nil {
		outer = e.opts.Hold()
	}
	return func() {
		e.outside.Add(-1)
		outer()
	}
}

// freeInterrupts gives them back in a moment.
func (e *env) freeInterrupts(release func()) tea.Cmd {
	if release == nil {
		return nil
	}
	return func() tea.Msg {
		_ = e.clk.Sleep(e.ctx, interruptGrace) // at the end of the program nobody holds anything any more
		release()
		return nil
	}
}

// watchEnd waits for a signal, or for the end of the context that the program was started with.
func (e *env) watchEnd() tea.Cmd {
	if e.ending == nil {
		return nil
	}
	return func() tea.Msg {
		asked := false
		for {
			ctx, stop := signal.NotifyContext(e.ending, os.Interrupt)
			if e.early.Err() != nil && !asked {
				stop()
				return endMsg{}
			}
			asked = true
			_ = e.clk.Sleep(ctx, math.MaxInt64) // its only end is the context's
			stop()
			if e.outside.Load() == 0 || e.ending.Err() != nil {
				return endMsg{}
			}
		}
	}
}
