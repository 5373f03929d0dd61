//go:build !unix

package builtin

import (
	"errors"
	"io/fs"
	"os"
)

const (
	nonblock = 0
	locks    = false
)

func tryLock(*os.File) error { return errors.ErrUnsupported }

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func keepMode(*os.File, fs.FileInfo) error { return nil }

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(*os.File) error { return nil }

// linkedTwice cannot be told here.
func linkedTwice(fs.FileInfo) bool { return true }
