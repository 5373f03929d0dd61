//go:build unix

package paint

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// Own says that the system's terminals can be painted on by a Terminal.
const Own = true

// busy says that a terminal would have to be waited for.
func busy(err error) bool { return errors.Is(err, syscall.EAGAIN) }

// readable waits until there is something to read, at most for a time.
func readable(f *os.File, most time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, int(most.Milliseconds()))
	return err == nil && n > 0
}

// typedAhead is how many bytes wait to be read.
func typedAhead(f *os.File) int {
	n, err := unix.IoctlGetInt(int(f.Fd()), unread)
	if err != nil {
		return 0
	}
	return n
}

// Watch sends new sizes, and takes the terminal over again when the process goes on after it was stopped by somebody else. It
// ends with stop.
func (t *Terminal) Watch(send func(tea.Msg)) (stop func()) {
	in, done := make(chan os.Signal, 8), make(chan struct{})
	signal.Notify(in, syscall.SIGWINCH, syscall.SIGCONT)
	go func() {
		defer close(done)
		for s := range in {
			if s == syscall.SIGCONT && t.isActive() {
				t.note(t.Restore())
			}
			f, ok := t.cfg.Out.(term.File)
			if !ok {
				continue
			}
			if w, h, err := term.GetSize(f.Fd()); err == nil && w > 0 && h > 0 {
				send(tea.WindowSizeMsg{Width: w, Height: h})
			}
		}
	}()
	return func() {
		signal.Stop(in)
		close(in)
		<-done
	}
}

func (t *Terminal) isActive() bool {
	t.own.Lock()
	defer t.own.Unlock()
	return t.active
}
