//go:build unix

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// writable says whether this process may write path, which exists. A path without any write bit counts as read-only even
// for root: whoever took the bits away meant it.
func writable(path string, info os.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return unix.EACCES
	}
	return unix.Access(path, unix.W_OK)
}
