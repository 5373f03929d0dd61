//go:build unix

package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// locks says that there are locks that end with their process.
const locks = true

// tryLock locks a file until it is closed; errLocked when another one has it.
func tryLock(file *os.File) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	failed := conn.Control(func(fd uintptr) {
		for {
			if err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return errors.Join(err, failed)
}

// nonblock keeps the opening of a pipe or of a device from waiting, and of a terminal from becoming ours.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

// keepOwner gives file the owner of the one that it replaces.
func keepOwner(file *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("look at the new file: %w", err)
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == was.Uid && now.Gid == was.Gid {
		return nil
	}
	return file.Chown(int(was.Uid), int(was.Gid))
}

// keepMode gives file the mode of the one that it replaces.
func keepMode(file *os.File, old fs.FileInfo) error { return file.Chmod(old.Mode()) }

// syncFolder makes a rename in a folder last, where the file system can.
func syncFolder(dir *os.File) error {
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// linkedTwice says that a file has another name, or may have.
func linkedTwice(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink > 1
}
