package paint

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetInput drops what was typed, or answered by the terminal, and not read.
func forgetInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }

// unread is how many bytes were typed and not read.
const unread = unix.TIOCINQ
