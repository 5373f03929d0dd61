//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package paint

import (
	"os"

	"golang.org/x/sys/unix"
)

// reading names the queue of what was typed.
const reading = 1

// forgetInput drops what was typed, or answered by the terminal, and not read.
func forgetInput(f *os.File) { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, reading) }

// unread is how many bytes were typed and not read; the library lacks the name.
const unread = 0x4004667f
