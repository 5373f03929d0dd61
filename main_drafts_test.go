package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The real program in a terminal: what was typed into two tabs is there again after SIGKILL, up to the last second of it; after
// SIGTERM all of it; and sent, it is not there any more.
func TestTerminalDrafts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	y := startTTY(t, vitrine(dir), 120, 30)
	y.wait("ready")
	y.send("of the first tab")
	y.wait("of the first tab")
	y.send("\x18n")
	y.wait("2 new")
	y.send("第二个 tab")
	y.wait("第二个 tab")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "data", "sessions.db")+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	y.until("kept", func() bool { return len(rowsOf(t, db, "SELECT text FROM drafts")) == 2 })
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	y.signal(syscall.SIGKILL)
	y.exit()
	z := startTTY(t, vitrine(dir), 120, 30)
	z.wait("第二个 tab")
	z.send("\x1b1")
	z.wait("of the first tab")
	z.send(", and more")
	z.wait("and more")
	z.signal(syscall.SIGTERM)
	z.exit()
	z = startTTY(t, vitrine(dir), 120, 30)
	z.wait("❯ of the first tab, and more")
	z.send("\r")
	z.wait("done")
	z.send("\x03\x03")
	if code := z.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	z = startTTY(t, vitrine(dir), 120, 30)
	z.wait("of the first tab, and more", "✓ done")
	if in := strings.TrimSpace(z.input()); in != "❯" {
		t.Errorf("the input holds %q", in)
	}
}

// Killed while another program has the database locked: what was entered, what was entered behind it and what was typed then is in
// the input of the next start, and is not kept twice.
func TestTerminalKilledWhileLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	y := startTTY(t, vitrine(dir), 120, 30)
	y.wait("ready")
	free := lockDB(t, filepath.Join(dir, "data", "sessions.db"))
	y.send("what is 1+1?\r")
	y.wait("what is 1+1?")
	y.send("and 2+2?\r")
	y.send("half 一半")
	asides := func() string {
		files, err := filepath.Glob(filepath.Join(dir, "data", "sessions.db-unsaved-*.json"))
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
		return string(all)
	}
	y.until("kept aside", func() bool { return strings.Contains(asides(), "half 一半") })
	y.signal(syscall.SIGKILL)
	y.exit()
	free()
	z := startTTY(t, vitrine(dir), 120, 30)
	z.wait("what is 1+1?", "and 2+2?", "half 一半")
	z.until("nothing aside", func() bool { return asides() == "" })
	z.send("\x15\r") // the last line taken out, the rest is sent
	z.wait("✓ done")
	z.ended()
	z.send("\x03\x03")
	if code := z.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
