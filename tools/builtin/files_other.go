//go:build !unix

package builtin

import (
	"io/fs"
	"os"
)

const nonblock = 0

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func keepMode(*os.File, fs.FileInfo) error { return nil }

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(*os.File) error { return nil }
