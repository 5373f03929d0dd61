//go:build !linux

package runtime_test

import "os"

// dataSync is what SQLite waits for at a commit, or more.
func dataSync(f *os.File) error { return f.Sync() }
