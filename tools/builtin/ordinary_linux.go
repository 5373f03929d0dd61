package builtin

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"vitrine/tools"
)

// ordinary refuses files that the kernel makes while they are read. They say that they are regular, and some of them, such as
// /proc/kmsg, keep a reader waiting for ever.
func ordinary(name string, file *os.File) error {
	var fs syscall.Statfs_t
	conn, err := file.SyscallConn()
	if err == nil {
		if failed := conn.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &fs) }); failed != nil {
			err = failed
		}
	}
	if err != nil {
		return fmt.Errorf("look at the file system of %s: %w", shownName(name), err)
	}
	kernel := []int64{0x9fa0, 0x62656572, 0x64626720, 0x74726163} // proc, sysfs, debugfs, tracefs
	if !slices.Contains(kernel, int64(fs.Type)) {
		return nil
	}
	return &tools.Error{Code: tools.CodeInvalidArgument, Field: "path", Expected: "a regular file",
		Message: shownName(name) + " is no regular file but one that the kernel makes"}
}
