package runtime

import (
	"os"
	goruntime "runtime"
	"syscall"
)

// signalSelf kills or stops this process. The signal goes to the calling thread, which so does not get any further: one to the
// process waits for a thread that takes it, and until then the point is passed.
func signalSelf(kind string) error {
	sig := syscall.SIGKILL
	if kind == "stop" {
		sig = syscall.SIGSTOP
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	return syscall.Tgkill(os.Getpid(), syscall.Gettid(), sig)
}
