//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

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

// leadsTo says whether the path still leads to the file. It is os.Stat and os.SameFile without what each transaction would throw away.
func leadsTo(path string, file os.FileInfo) (bool, error) {
	was, ok := file.Sys().(*syscall.Stat_t)
	if !ok {
		return false, &fs.PathError{Op: "stat", Path: path, Err: errors.ErrUnsupported}
	}
	var now syscall.Stat_t
	for {
		err := syscall.Stat(path, &now)
		if err == nil {
			return now.Dev == was.Dev && now.Ino == was.Ino, nil
		}
		if err != syscall.EINTR {
			return false, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
	}
}
