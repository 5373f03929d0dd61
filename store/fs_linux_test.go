package store

import "testing"

// B116: the file systems that SQLite cannot be trusted on, by their magic numbers; ordinary ones pass.
func TestUnsafeFileSystems(t *testing.T) {
	for magic, want := range map[int64]string{
		0x6969: "NFS", 0xFF534D42: "SMB/CIFS", 0xFE534D42: "SMB/CIFS", 0x517B: "SMB/CIFS", 0x01021997: "9p", 0x65735546: "FUSE",
		0x5346414F: "AFS", 0x6B414653: "AFS", 0x73757245: "Coda", 0x564C: "NCP", 0x00C36400: "a cluster file system",
		-0xACB2BE: "SMB/CIFS", // CIFS as 32 bit systems sign it
		0xEF53:    "", 0x9123683E: "", 0x58465342: "", 0x01021994: "", 0x794C7630: "",
	} {
		if got := unsafeFS(magic); got != want {
			t.Errorf("%#x: %q, want %q", magic, got, want)
		}
	}
	if name, err := detectFS(t.TempDir()); err != nil || name != "" {
		t.Errorf("the folder of tests: %q, %v", name, err)
	}
	if _, err := detectFS("/nonexistent/folder"); err == nil {
		t.Error("a missing folder has a file system")
	}
}
