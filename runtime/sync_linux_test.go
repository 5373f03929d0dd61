package runtime_test

import (
	"os"
	"syscall"
)

// dataSync is what SQLite waits for at a commit.
func dataSync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
