//go:build unix && !linux

package runtime

import (
	"os"
	"syscall"
)

// signalSelf kills or stops this process.
func signalSelf(kind string) error {
	sig := syscall.SIGKILL
	if kind == "stop" {
		sig = syscall.SIGSTOP
	}
	return syscall.Kill(os.Getpid(), sig)
}
