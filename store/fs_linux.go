//go:build linux

package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// detectFS names the file system of path when it is one that SQLite's locks and shared memory cannot be trusted on, "" else.
func detectFS(path string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "", fmt.Errorf("statfs %s: %w", path, err)
	}
	return unsafeFS(int64(st.Type)), nil
}

// unsafeFS names an unsafe file system by its magic number.
func unsafeFS(magic int64) string {
	const (
		cifs  = 0xFF534D42
		smb2  = 0xFE534D42
		lustr = 0x0BD00BD0
		ceph  = 0x00C36400
		gpfs  = 0x47504653
	)
	switch magic & 0xFFFFFFFF {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case cifs, smb2, unix.SMB_SUPER_MAGIC:
		return "SMB/CIFS"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.FUSE_SUPER_MAGIC:
		return "FUSE"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS"
	case unix.CODA_SUPER_MAGIC:
		return "Coda"
	case unix.NCP_SUPER_MAGIC:
		return "NCP"
	case lustr, ceph, gpfs:
		return "a cluster file system"
	}
	return ""
}
