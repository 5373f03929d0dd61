//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"vitrine/runtime/clock"
	"vitrine/runtime/config"
)

// stopLimit is how long a process may take to stop that has asked for it. One that nobody could wake (the leader of a terminal
// without a shell) does not stop at all: then it goes on.
const stopLimit = 200 * time.Millisecond

// Suspendable makes Ctrl+Z wait for the App that open makes: the process stops when App.Quiet says so, hence never within a
// transaction, or half opened, or half closed, for which others would have to wait.
func Suspendable(open OpenFunc) OpenFunc {
	return func(ctx context.Context, cfg config.Config, clk clock.Clock, o OpenOptions) (*App, error) {
		if signal.Ignored(syscall.SIGTSTP) {
			return open(ctx, cfg, clk, o)
		}
		s := &suspender{asked: make(chan os.Signal, 1), opened: make(chan struct{}), closed: make(chan struct{}), done: make(chan struct{})}
		signal.Notify(s.asked, syscall.SIGTSTP)
		go s.watch()
		app, err := open(ctx, cfg, clk, o)
		if err != nil {
			s.end()
			return nil, err
		}
		s.quiet = app.Quiet
		close(s.opened)
		inner := app.Close
		app.Close = func(ctx context.Context) error {
			defer s.end()
			return inner(ctx)
		}
		return app, nil
	}
}

// suspender stops the process when that is asked for and nothing is under way.
type suspender struct {
	asked  chan os.Signal
	opened chan struct{} // closed when there is quiet
	closed chan struct{} // closed when nothing can be under way any more
	done   chan struct{} // closed when watch has returned
	quiet  func(ctx context.Context, f func()) error
}

func (s *suspender) watch() {
	defer close(s.done)
	for {
		select {
		case <-s.closed:
			return
		case <-s.asked:
		}
		select {
		case <-s.opened:
			if s.quiet(context.Background(), s.stop) == nil {
				continue
			}
			<-s.closed // it closes just now
		case <-s.closed:
		}
		s.stop()
	}
}

// stop stops the process, as the signal would have, and returns when it was woken. What else waits for that is told also when it
// did not stop. Go's runtime keeps its handler of a signal that was once asked for, so another one is sent of those that the
// system stops a process with, under the same rules.
func (s *suspender) stop() {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	_ = syscall.Kill(os.Getpid(), syscall.SIGTTIN) // to oneself it does not fail
	select {
	case <-woken:
	case <-time.After(stopLimit):
		_ = syscall.Kill(os.Getpid(), syscall.SIGCONT)
	}
}

// end gives the signal back.
func (s *suspender) end() {
	close(s.closed)
	<-s.done
	signal.Stop(s.asked)
}
