//go:build !unix

package store

import (
	"os"
)

// writable says whether this process may write path, which exists.
func writable(path string, info os.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return os.ErrPermission
	}
	return nil
}

// leadsTo says whether the path still leads to the file.
func leadsTo(path string, file os.FileInfo) (bool, error) {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(file, now), err
}
