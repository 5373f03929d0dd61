//go:build unix

package openai

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used of the processors, which other programs of the machine do not change.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
