package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
	"vitrine/ui/chat"
	"vitrine/ui/mention"
	"vitrine/ui/paint"
	"vitrine/ui/words"
)

// plainHelp is what /help prints.
const plainHelp words.Text = `A line is a message. A line that ends with \ goes on in the next.
@ and a path attach that file of the folder, @"with quotes" too; what is piped in attaches none.
/model NAME changes the model, /quit or the end of the input leaves. Ctrl+C stops a turn and leaves.
When a call waits for your word: y once, a always in this session, n no, n REASON no and why.`

// plain is `vitrine --plain`: the chat as a transcript, line after line, for screen readers and terminals that place no cursor.
// Nothing is drawn over, nothing is told by colour, and nothing moves.
func (c *command) plain(ctx context.Context, o *options) (err error) {
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	app, err := c.prog.Open(ctx, cfg, c.prog.Clock, OpenOptions{Traffic: o.traffic})
	if err != nil {
		return err
	}
	defer func() {
		err = c.closeApp(app, err)
		c.notices(app)
	}()
	c.say(app, cfg)
	if o.goOn {
		list, err := app.Library.Sessions(ctx, cfg.User)
		if err != nil {
			return fmt.Errorf("list the sessions: %w", err)
		}
		if len(list) > 0 {
			o.session = list[0].ID
		}
	}
	reading, stop := c.prog.Clock.WithCancel(ctx)
	defer stop()
	p := &plainChat{c: c, app: app, o: o, reading: reading, lines: c.readLines(reading)}
	p.id, p.snap, err = c.openSession(ctx, app, cfg, o)
	if err != nil {
		return err
	}
	if err := c.useModel(ctx, app, o, p.snap); err != nil {
		return err
	}
	c.stop.onFirst(func() {
		app.Agent.Cancel(p.id)
		stop()
	})
	return p.chat(ctx)
}

// plainChat is one conversation by lines.
type plainChat struct {
	c    *command
	app  *App
	o    *options
	id   string
	snap runtime.Snapshot
	turn int
	// reading ends with the first interrupt, lines with the input.
	reading context.Context
	lines   *clock.Queue[inputLine]
	// ahead was typed before a question came, and is for after it.
	ahead []inputLine
	// unsent are messages that could not be stored, and are kept aside.
	unsent []string
	// left is set by /quit and by the end of the lines: nothing is taken any more.
	left bool
}

// inputLine is a line of the input, or why there are no more.
type inputLine struct {
	text string
	err  error
}

// chat takes lines until there are none.
func (p *plainChat) chat(ctx context.Context) error {
	p.c.out.line("Session %s. /help says what can be typed.", p.id)
	if r := p.snap.Run; r != nil && !p.snap.Running {
		p.c.out.line("Turn %d was interrupted. The next message gives it up; vitrine run%s --resume %s goes on with it.", r.Turn, asUser(p.o.user), r.ID)
	}
	p.tellUnsent(ctx)
	p.turn = p.snap.Session.TurnCount
	for !p.left {
		text, err := p.message()
		switch {
		case errors.Is(err, io.EOF):
			p.left = true
			continue
		case err != nil:
			return err
		case strings.TrimSpace(text) == "":
			continue
		case strings.HasPrefix(text, "/"):
			p.command(ctx, strings.TrimSpace(text))
		default:
			err = p.ask(ctx, text)
		}
		if err != nil && !errors.Is(err, io.EOF) { // of the end of the lines the next look tells
			return err
		}
	}
	p.c.out.line("Left. The session is kept: vitrine --plain%s --session %s", asUser(p.o.user), p.id)
	return nil
}

// message reads a message of one line, or of several that are joined by a backslash.
func (p *plainChat) message() (string, error) {
	var all []string
	for {
		prompt := p.c.T("You: ")
		if len(all) > 0 {
			prompt = p.c.T("more: ")
		}
		line, err := p.next(prompt)
		if err != nil {
			return "", err
		}
		rest, more := strings.CutSuffix(line, `\`)
		if all = append(all, rest); !more {
			return strings.Join(all, "\n"), nil
		}
	}
}

// next takes a line of a message: what was set aside comes first.
func (p *plainChat) next(prompt string) (string, error) {
	if len(p.ahead) == 0 {
		return p.read(prompt)
	}
	line := p.ahead[0]
	p.ahead = p.ahead[1:]
	p.c.out.line("%s%s", prompt, line.text)
	return line.text, line.err
}

// read takes one line, io.EOF at their end. Only a person is prompted.
func (p *plainChat) read(prompt string) (string, error) {
	if p.c.proc.In == Terminal {
		p.c.out.raw(prompt)
	}
	line, err := p.lines.Get(p.reading)
	switch {
	case errors.Is(err, clock.ErrClosed):
		return "", io.EOF
	case err != nil || p.c.stop.stopped():
		return "", errInterrupted
	case line.err != nil:
		return "", fmt.Errorf("read a line: %w", line.err)
	}
	return line.text, nil
}

// setAside keeps what a person has typed already: it was not written for what is printed now.
func (p *plainChat) setAside() {
	if p.c.proc.In != Terminal {
		return
	}
	for {
		line, ok := p.lines.TryGet()
		if !ok {
			return
		}
		p.ahead = append(p.ahead, line)
	}
}

func (p *plainChat) command(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	switch name {
	case "/quit", "/exit":
		p.left = true
	case "/help":
		p.c.out.raw(p.c.T(plainHelp) + "\n")
	case "/model":
		arg = strings.TrimSpace(arg)
		if arg == "" {
			p.c.out.line("Name the model: /model NAME; vitrine models lists them.")
			return
		}
		if err := p.app.Agent.Set(ctx, p.id, runtime.Setting{Model: &arg}); err != nil {
			p.c.out.line("The model stays: %s", p.c.lang.Tell(strings.Join(describe(err), " ")))
			return
		}
		p.c.out.line("Model %s from the next turn on.", arg)
	default:
		p.c.out.line("There is no command %s here; /help lists them. A blank before it sends it as text.", name)
	}
}

// ask runs one turn and prints it. What goes wrong with it is told, and the chat goes on.
func (p *plainChat) ask(ctx context.Context, text string) error {
	f := newFollower(p.c, p.app, p.id, false, 0)
	defer f.close()
	f.plain, f.user = p, p.o.user
	typed := strings.TrimPrefix(text, " ")
	if err := p.submit(ctx, p.attached(ctx, typed), typed); err != nil {
		if errors.Is(err, errInterrupted) {
			return err
		}
		p.c.out.line("Not sent: %s", p.c.lang.Tell(strings.Join(describe(err), " ")))
		return nil
	}
	p.turn++
	p.c.out.line("Turn %d.", p.turn)
	err := f.follow(ctx)
	if p.c.stop.stopped() || ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil && !errors.Is(err, io.EOF) {
		p.c.out.line("The turn did not succeed: %s", p.c.lang.Tell(strings.Join(describe(err), " ")))
		return nil
	}
	return err
}

// attached is the text with the files that it names with @, each of which is told; what a program wrote names none.
func (p *plainChat) attached(ctx context.Context, text string) string {
	if p.app.Files == nil || p.c.proc.In != Terminal {
		return text
	}
	files := mention.Resolve(ctx, text, p.app.Files.Read, func(string) bool { return false })
	for _, f := range files {
		_, fact, _ := chat.FileFact(p.c.lang, f)
		p.c.out.line("File %s: %s.", f.Name, fact)
	}
	return attach.Compose(text, files)
}

// question puts a call before the user and hands the word on.
func (p *plainChat) question(ctx context.Context, d trace.ApprovalData) error {
	p.c.out.line("%s waits for your word. It would run with %s", d.Tool, paint.Reveal(string(d.Arguments)))
	for row := range strings.Lines(paint.RevealLines(d.Preview)) {
		p.c.out.line("  %s", strings.TrimSuffix(row, "\n"))
	}
	p.setAside()
	for {
		line, err := p.read(p.c.T("y once, a always here, n no, or n and why: "))
		if err != nil {
			p.app.Agent.Cancel(p.id)
			return err
		}
		answer, ok := wordOn(d.ID, line)
		if !ok {
			p.c.out.line("%q is no answer: y, a, or n.", line)
			continue
		}
		if err := p.app.Agent.Set(ctx, p.id, runtime.Setting{Decide: []runtime.Decision{answer}}); err != nil {
			p.c.out.line("The word was not taken: %s", p.c.lang.Tell(strings.Join(describe(err), " ")))
		}
		return nil
	}
}

// wordOn reads the word on a call. What lets it run is the whole line: a sentence that begins alike is none.
func wordOn(call, line string) (d runtime.Decision, ok bool) {
	line = strings.TrimSpace(line)
	word, why, _ := strings.Cut(line, " ")
	d = runtime.Decision{Call: call, Reason: strings.TrimSpace(why)}
	switch {
	case strings.EqualFold(line, "y"), strings.EqualFold(line, "yes"):
		d.Allow = true
	case strings.EqualFold(line, "a"), strings.EqualFold(line, "always"):
		d.Allow, d.Always = true, true
	case strings.EqualFold(word, "n"), strings.EqualFold(word, "no"):
	default:
		return d, false
	}
	return d, true
}

// lineBound is how many lines may wait to be taken.
const lineBound = 64

// readLines reads standard input line by line. The reading itself cannot be stopped, so it stands aside.
func (c *command) readLines(ctx context.Context) *clock.Queue[inputLine] {
	q := clock.NewQueue[inputLine](c.prog.Clock, lineBound)
	c.prog.Clock.Go(func() {
		defer q.Close()
		in := bufio.NewScanner(c.proc.Stdin)
		in.Buffer(nil, inputLimit)
		for in.Scan() {
			if q.Put(ctx, inputLine{text: strings.TrimSuffix(in.Text(), "\r")}) != nil {
				return
			}
		}
		if err := in.Err(); err != nil {
			_ = q.Put(ctx, inputLine{err: err}) // whoever does not wait any more need not know
		}
	})
	return q
}
