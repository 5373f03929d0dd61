//go:build linux || darwin

package main

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// databaseFree says whether nobody has a transaction open on the database of dir: another connection writes at once, without
// waiting, and moves the whole log into the database, which no reader holds back.
func databaseFree(dir string) (err error) {
	u := url.URL{Path: filepath.Join(dir, "data", dbFiles[0])}
	db, err := sql.Open("sqlite", "file:"+u.EscapedPath()+"?_pragma=busy_timeout(0)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE; UPDATE meta SET value = value; COMMIT"); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	var busy, frames, moved int
	if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil || busy != 0 {
		return fmt.Errorf("somebody reads or writes: %d, %w", busy, err)
	}
	return nil
}

// A run that is stopped by Ctrl+Z again and again, at any instant, never has a transaction open meanwhile: each time another
// process writes at once. Woken up each time, it comes to its right answer.
func TestSuspendedRunHoldsNothing(t *testing.T) {
	m := newMatrix(t)
	tr := m.trial(askAll, unharmed)
	f := &frozen{t: t, cmd: vitrine(tr.dir, "run", "--session", "s", "--json", tr.prompt).with(crewEnviron(tr.ledger.dir)...).command(t)}
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.errs
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a job of its own, as a shell makes it
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.cmd.Process.Kill() })
	stops := 0
	for ; ; stops++ {
		time.Sleep(time.Duration(tr.rng.IntN(4000)) * time.Microsecond) // an instant of the run, any
		if err := f.cmd.Process.Signal(syscall.SIGTSTP); err != nil {
			break
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(f.cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
		if !ws.Stopped() {
			if ws.ExitStatus() != 0 {
				t.Fatalf("exit code %d: %s", ws.ExitStatus(), f.errs.String())
			}
			break // it had ended
		}
		now, err := look(tr.dir)
		if err != nil {
			t.Fatal(err)
		}
		if now.run == "" { // the database is still to be made
		} else if err := databaseFree(tr.dir); err != nil {
			t.Fatalf("stop %d: %v", stops+1, err)
		} else if stops%8 == 0 {
			vitrine(tr.dir, "run", "--session", "other", "hello").with(crewEnviron(tr.ledger.dir)...).ok(t)
		}
		if err := f.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	_ = f.cmd.Wait() // it was waited for
	if err := tr.play(); err != nil {
		t.Error(err)
	}
	t.Logf("seed %d; stopped %d times", m.seed, stops)
	if stops < 5 {
		t.Errorf("stopped %d times only", stops)
	}
}

// B038: Ctrl+Z in the screen stops the program: the terminal is the shell's again and clean, the database is free, in the middle of a
// run too. fg brings the screen back, at the size that the terminal has by then, with the text that was being typed; the modes are
// set again, and the run goes on to its end.
func TestTerminalSuspended(t *testing.T) {
	dir := t.TempDir()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	cmd := vitrine(dir).with("PS1=shell> ", "ENV=").command(t)
	program := cmd.Path
	cmd.Path, cmd.Args = sh, []string{"sh", "-i"}
	y := startOnTTY(t, cmd, 120, 30)
	y.wait("shell>")
	y.send("'" + program + "' --user ann\r")
	y.wait("ready")
	y.send("stream 150 tokens\r")
	y.wait("streaming")
	y.send("typed meanwhile")
	y.wait("❯ typed meanwhile")
	y.send("\x1a")
	y.until("the shell", func() bool { return strings.Contains(y.last(), "shell>") && !y.emu.IsAltScreen() })
	if left := leftovers(y.output(0)); len(left) > 0 {
		t.Errorf("left on the terminal: %v", left)
	}
	y.send("jobs; echo al''ive; stty -a | grep -c ' icanon'; ps -o stat= -o args= | grep -c '^T.*--user ann$'\r")
	y.wait("alive\n1\n1")
	if !strings.Contains(y.last(), "Stopped") {
		t.Errorf("it is no stopped job:\n%s", y.last())
	}
	if err := databaseFree(dir); err != nil {
		t.Error(err)
	}
	vitrine(dir, "run", "--user", "ann", "--session", "other", "1+1").ok(t)
	y.resize(96, 26)
	from := len(y.output(0))
	y.send("fg\r")
	y.wait("❯ typed meanwhile", "✓ done")
	for _, mode := range []string{"\x1b[?1049h", "\x1b[?2004h", "\x1b[?1002h", "\x1b[>1u"} {
		if !strings.Contains(y.output(from), mode) {
			t.Errorf("%q is not set again", mode)
		}
	}
	if rows := y.rows(); len(rows) != 26 || !strings.HasSuffix(rows[25], "? help") || len([]rune(rows[25])) > 96 {
		t.Errorf("after fg the screen is not one of 96x26:\n%s", y.screen())
	}
	y.send("\x03\x03\x03")
	y.until("the shell again", func() bool { return strings.Contains(y.last(), "tab kept") })
	y.send("exit\r")
	y.exit()
	if closings := checkTurns(t, messagesOfAnn(t, dir, "ann-window-1")); len(closings) != 1 || strings.Contains(closings[0], "[interrupted]") {
		t.Errorf("closings %q", closings)
	}
}

// Where no shell could wake it Ctrl+Z does not stop the program, and the screen stays.
func TestTerminalCannotBeSuspended(t *testing.T) {
	y := startTTY(t, vitrine(t.TempDir()), 100, 30)
	y.wait("ready")
	from := len(y.output(0))
	y.send("\x1a")
	y.until("the screen given up and taken again", func() bool {
		out := y.output(from)
		return strings.Contains(out, "\x1b[?1049l") && strings.Contains(out[strings.LastIndex(out, "\x1b[?1049l"):], "\x1b[?1049h")
	})
	y.send("what is 2+2?\r")
	y.wait("2+2 = 4", "✓ done")
}
