package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vitrine/runtime/clock"
	"vitrine/trace"
	"vitrine/ui"
)

// Stage opens the program that a script plays in.
type Stage interface {
	// Open opens it with its data in dir. It is called by a participant of the clock. Again says that it was open before on the same
	// data: the tabs that were kept open without a question.
	Open(ctx context.Context, clk *clock.Sim, dir string, again bool) (Program, error)
}

// Program is an open program without its screen.
type Program struct {
	Options ui.Options
	// Close ends it in order. It is called by a participant.
	Close func(ctx context.Context) error
}

// Play is what a script is played with. Script, Stage and Dir are needed.
type Play struct {
	Script Script
	Stage  Stage
	// Dir is an empty folder for the data. It is the caller's to remove.
	Dir string
	// Start is the time of day at the beginning; the zero value is the same for each play.
	Start time.Time
	// Light is a terminal with a light background.
	Light bool
	// Plain is a terminal that counts code points, not graphemes.
	Plain bool
	// Output gets what is written to the terminal, at the end what gives it back, Resized its new size before anything is drawn for it, Met the screen on which an
	// expect was met. Each may be nil.
	Output  func(at time.Time, out string)
	Resized func(at time.Time, w, h int)
	Met     func(at time.Time, name string, s Screen)
	// Progress is told before each step.
	Progress func(step, of int)
}

// StepError is a step that failed.
type StepError struct {
	Script string
	// Step counts from 1; Line and Column are where it stands.
	Step, Line, Column int
	What               string
	Screen             string
	Err                error
}

// Error tells where, what, and what the screen shows.
func (e *StepError) Error() string {
	where := fmt.Sprintf("%s:%d:%d: step %d: ", e.Script, e.Line, e.Column, e.Step)
	if e.Err != nil {
		return where + e.Err.Error()
	}
	return where + e.What + "; the screen shows:\n" + e.Screen
}

// Headline is the error without the screen.
func (e *StepError) Headline() string {
	if e.Err != nil {
		return e.Error()
	}
	return fmt.Sprintf("%s:%d:%d: step %d: %s", e.Script, e.Line, e.Column, e.Step, e.What)
}

// Unwrap is the cause, if another part failed.
func (e *StepError) Unwrap() error { return e.Err }

// playStart is when a play begins, unless told otherwise.
func playStart() time.Time { return time.Date(2026, time.March, 6, 14, 2, 0, 0, time.UTC) }

// Times of what a person does, and of what stands on the screen between two starts of the program.
const (
	keyTime      = 250 * time.Millisecond // after a key that is pressed by itself
	leastGap     = 35 * time.Millisecond  // between two letters that are typed
	mostGap      = 120 * time.Millisecond
	shellTime    = 900 * time.Millisecond
	closeLimit   = 30 * time.Second
	leaveLimit   = time.Minute
	expectLimit  = 2 * FrameTime
	pollInterval = 20 * time.Millisecond
)

// player plays one script.
type player struct {
	Play
	ctx   context.Context
	clk   *clock.Sim
	dir   string
	prog  Program
	drive *Driver
	sub   *trace.Subscription
	past  history
	rng   *rand.Rand
	w, h  int
	say   string // the caption
	opens int
	idle  time.Duration // since the last step that did something
}

// seenAfter is how long a question takes no key: longer than a person needs to see it.
const seenAfter = 600 * time.Millisecond

// Run plays the script to its end, or to the first step that fails, which is a *StepError. The same script gives the same output
// at the same times, whatever the machine does. Cancelling ctx ends it between two frames.
func (p Play) Run(ctx context.Context) (err error) {
	if p.Start.IsZero() {
		p.Start = playStart()
	}
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(p.Script.Name))
	a := &player{Play: p, ctx: ctx, clk: clock.NewSim(p.Start), dir: filepath.Join(p.Dir, "data-1"), w: p.Script.Width, h: p.Script.Height,
		rng: rand.New(rand.NewPCG(seed.Sum64(), 1))}
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		return fmt.Errorf("make the demo's data folder: %w", err)
	}
	if p.Resized != nil {
		p.Resized(p.Start, a.w, a.h)
	}
	if err := a.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	for i, s := range p.Script.Steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p.Progress != nil {
			p.Progress(i+1, len(p.Script.Steps))
		}
		if err := a.step(s); err != nil {
			var failed *StepError
			if !errors.As(err, &failed) {
				failed = &StepError{Err: err}
			}
			failed.Script, failed.Step, failed.Line, failed.Column = cmp.Or(p.Script.File, p.Script.Name), i+1, s.Line, s.Column
			return failed
		}
	}
	a.drive.Show()
	if p.Output != nil {
		p.Output(a.clk.Now(), a.drive.Leave()) // the pause at the end counts too
	}
	return nil
}

// open starts the program and its screen.
func (p *player) open() (err error) {
	p.clk.Run(func() { p.prog, err = p.Stage.Open(p.ctx, p.clk, p.dir, p.opens > 0) })
	if err != nil {
		return fmt.Errorf("open the program for the demo: %w", err)
	}
	p.opens++
	p.sub = p.prog.Options.Feed.Subscribe(mostEvents)
	p.drive = New(Config{
		Clock: p.clk, Options: p.prog.Options, Width: p.w, Height: p.h, Grapheme: !p.Plain, Light: p.Light, Captions: p.Script.Captions, Bare: true, Output: p.Output,
	})
	p.drive.Caption(p.say)
	return nil
}

// close ends the program in order.
func (p *player) close() (err error) {
	if p.drive == nil {
		return nil
	}
	p.drive.Close()
	p.sub.Close()
	p.clk.Run(func() {
		ctx, cancel := p.clk.WithTimeout(context.WithoutCancel(p.ctx), closeLimit)
		defer cancel()
		err = p.prog.Close(ctx)
	})
	p.drive = nil
	if err != nil {
		return fmt.Errorf("close the program of the demo: %w", err)
	}
	return nil
}

// step plays one step.
func (p *player) step(s Step) error {
	d := p.drive
	if d.Ended() && s.Do != DoRestart && s.Do != DoExpect && s.Do != DoPause {
		return p.failed("the screen was left before this step")
	}
	idle := p.idle
	if p.idle = 0; s.Do == DoPause || s.Do == DoCaption || s.Do == DoExpect {
		p.idle = idle + s.For
	}
	switch s.Do {
	case DoType:
		d.TypeAt(s.Text, p.gap)
	case DoPaste:
		d.Paste(s.Text)
		d.Advance(keyTime)
	case DoKey:
		if d.Front().Waits && idle < seenAfter {
			d.Advance(seenAfter - idle)
		}
		for _, k := range s.Keys {
			d.Press(k)
			d.Advance(keyTime)
		}
	case DoCaption:
		p.say = s.Text
		d.Caption(s.Text)
		d.Advance(s.For)
	case DoPause:
		d.Advance(s.For)
	case DoResize:
		p.w, p.h = s.Width, s.Height
		if p.Resized != nil {
			p.Resized(p.clk.Now(), p.w, p.h)
		}
		d.Resize(p.w, p.h)
		d.Advance(keyTime)
	case DoWait:
		return p.wait(s)
	case DoExpect:
		return p.expect(s)
	case DoRestart:
		return p.restart()
	case DoCrash:
		return p.crash()
	}
	p.listen()
	return nil
}

// gap is how long a person takes to the next letter.
func (p *player) gap() time.Duration {
	return leastGap + time.Duration(p.rng.Int64N(int64(mostGap-leastGap)))
}

// listen takes what has happened.
func (p *player) listen() {
	for {
		b, ok := p.sub.TryNext()
		if !ok {
			return
		}
		p.past.add(b.Events)
	}
}

// look is what there is to see now.
func (p *player) look(from int) view {
	p.listen()
	return view{screen: p.drive.Screen(), front: p.drive.Front(), past: &p.past, from: from}
}

// wait lets time go by until what is looked for is there.
func (p *player) wait(s Step) error {
	end := p.clk.Now().Add(s.Limit)
	for {
		missing, ok := s.Find.met(p.look(p.past.waited))
		if ok {
			if s.Find.Event != "" {
				p.past.waited = p.past.find(s.Find, p.past.waited)
			}
			p.drive.Show()
			return nil
		}
		if left := end.Sub(p.clk.Now()); left <= 0 || p.drive.Ended() || p.ctx.Err() != nil {
			return p.missed(fmt.Sprintf("%s did not come within %v", missing, s.Limit))
		}
		p.drive.Advance(min(pollInterval, end.Sub(p.clk.Now())))
	}
}

// expect wants what is looked for on the painted screen of now.
func (p *player) expect(s Step) error {
	p.drive.Show()
	p.drive.Advance(expectLimit)
	if missing, ok := s.Find.met(p.look(0)); !ok {
		return p.missed("expected " + missing)
	}
	if p.Met != nil {
		p.Met(p.clk.Now(), s.Find.what(), p.drive.Screen())
	}
	return nil
}

func (p *player) missed(what string) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	return p.failed(what)
}

func (p *player) failed(what string) error {
	return &StepError{What: what, Screen: p.drive.Screen().String()}
}

// restart leaves the program as a user does and starts it again on the same data.
func (p *player) restart() error {
	if !p.drive.Ended() {
		p.drive.Press("ctrl+x", "q")
		for range int(leaveLimit / pollInterval) {
			if p.drive.Ended() {
				break
			}
			p.drive.Advance(pollInterval)
		}
		if !p.drive.Ended() {
			return p.failed("the program does not end by Ctrl+X q")
		}
	}
	p.listen()
	farewell := p.drive.Farewell()
	if err := p.close(); err != nil {
		return err
	}
	p.shell(farewell, "$ vitrine --continue")
	return p.open()
}

// crash ends the program where it stands, as kill -9 does, and starts it on what is on the disk: on a copy, since the locks of the
// dead one live as long as this process.
func (p *player) crash() error {
	p.listen()
	p.clk.Halt()
	p.drive = nil // nothing of it can be ended in order any more
	at := p.clk.Now()
	next := filepath.Join(p.Dir, fmt.Sprintf("data-%d", p.opens+1))
	if err := copyData(p.dir, next); err != nil {
		return fmt.Errorf("copy what the crash left: %w", err)
	}
	p.clk, p.dir = clock.NewSim(at), next
	p.shell("Killed", "$ vitrine --continue")
	return p.open()
}

// shell shows what stands on the terminal while the program does not run.
func (p *player) shell(lines ...string) {
	if p.Output != nil {
		p.Output(p.clk.Now(), "\x1b[0m\x1b[2J\x1b[H\x1b[?25h"+strings.Join(lines, "\r\n"))
	}
	p.clk.Advance(shellTime)
	if p.Output != nil {
		p.Output(p.clk.Now(), "\x1b[2J\x1b[H\x1b[?25l")
	}
}

// copyData copies a data folder but for the shared memory of who had it open.
func copyData(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case strings.HasSuffix(path, "-shm") || !e.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}
