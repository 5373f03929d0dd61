//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/llm/llmtest"
)

// cursor is the cell where the terminal's cursor stands.
func (y *tty) cursor() (x, row int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	p := y.emu.CursorPosition()
	return p.X, p.Y
}

// at waits until the cursor stands in a column.
func (y *tty) at(x int) {
	y.t.Helper()
	y.until(fmt.Sprintf("the cursor in column %d", x), func() bool { now, _ := y.cursor(); return now == x })
}

// B005, B007: the terminal's cursor, which input methods go by, stands at the cell behind the text, in wide text too; a row that is full
// makes no empty one.
func TestTerminalCursorInTheInput(t *testing.T) {
	t.Parallel()
	y := startTTY(t, vitrine(t.TempDir()), 40, 12)
	y.wait("ready")
	const prompt = 2
	y.send("한글中文日本語ABC")
	y.at(prompt + 17)
	y.send("\x1b[D\x1b[D\x1b[D")
	y.at(prompt + 14)
	y.send("\x1b[3~")
	y.until("the text without A", func() bool { return y.input() == "❯ 한글中文日本語BC" })
	y.send("\x15\x0b") // both sides of the cursor
	y.until("no text", func() bool { return y.input() == "❯" })
	const room = 37 // of the input: the width without prompt and last column
	for _, c := range []struct {
		full, more string
		cells      int
	}{{strings.Repeat("x", room), "y", 1}, {strings.Repeat("中", room/2) + "x", "文", 2}} {
		y.send(c.full)
		y.at(prompt + room)
		y.send("\x1b[B\x1b[F" + c.more) // Down, End
		y.at(prompt + c.cells)
		rows := y.rows()
		for i, r := range rows {
			if strings.HasPrefix(r, "❯ "+c.full[:3]) {
				if rows[i] != "❯ "+c.full || rows[i+1] != "  "+c.more {
					t.Errorf("the input shows %q and %q", rows[i], rows[i+1])
				}
			}
		}
		y.send("\x1b[A\x1b[1;5F\x15") // and back: the row above, the end, away with it
		y.until("no text", func() bool { return y.input() == "❯" })
	}
	y.send("\x18q") // a second Ctrl+C could come when the terminal is the shell's again
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// B010: a byte 0x7F or 0x08 takes one character, whatever terminal it says it is; what the terminal's keyboard protocol tells as
// Ctrl+Backspace takes a word, and as Backspace one character.
func TestTerminalBackspace(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"xterm-256color", "screen"} {
		for _, b := range []string{"\x7f", "\x08"} {
			y := startTTY(t, vitrine(t.TempDir()).with("TERM="+term), 80, 24)
			y.wait("ready")
			y.send("你好，abcf这是什么啊")
			y.until("the text", func() bool { return y.input() == "❯ 你好，abcf这是什么啊" })
			y.send(b)
			y.until(fmt.Sprintf("%s: one character less after %q", term, b), func() bool { return y.input() == "❯ 你好，abcf这是什么" })
			y.send("\x1b[127;5u")
			y.until("a word less", func() bool { return y.input() == "❯ 你好，abcf" })
			y.send("\x1b[127u")
			y.until("a character less", func() bool { return y.input() == "❯ 你好，abc" })
			y.send("\x03\x03\x03")
			if code := y.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		}
	}
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// B008, B013, B014: a paste of format characters, of a hundred thousand control characters, of one with the beginning of another in it,
// or of line breaks that a terminal writes as keys, is taken in time and leaves nothing behind; it ends where it ends only, and the next
// key is answered.
func TestTerminalHostilePastes(t *testing.T) {
	t.Parallel()
	y := startTTY(t, vitrine(t.TempDir()), 80, 24)
	y.wait("ready")
	for name, c := range map[string]struct {
		paste string
		shows []string // rows of the input, the key behind the paste included
		limit time.Duration
	}{
		"U+0602": {"\u0602", nil, 100 * time.Millisecond}, "U+FEFF": {"\ufeff", []string{"❯ k"}, 100 * time.Millisecond}, "U+2066": {"\u2066", []string{"❯ k"}, 100 * time.Millisecond},
		"U+E0001": {"\U000E0001", []string{"❯ k"}, 100 * time.Millisecond}, "U+FFFE": {"\uFFFE", []string{"❯ k"}, 100 * time.Millisecond},
		"100,000 x U+001C": {strings.Repeat("\x1c", 100_000), []string{"❯ k"}, 500 * time.Millisecond},
		"100,000 x ESC":    {strings.Repeat("\x1b", 100_000), []string{"❯ k"}, 500 * time.Millisecond},
		"nested":           {"a" + pasteBegin + "b", []string{"❯ abk"}, 500 * time.Millisecond},
		"ctrl+j":           {"a\x1b[106;5ub", []string{"❯ a", "  bk"}, 500 * time.Millisecond}, "shift+enter": {"a\x1b[13;2ub", []string{"❯ a", "  bk"}, 500 * time.Millisecond},
		"old shift+enter": {"a\x1b[27;2;13~b", []string{"❯ a", "  bk"}, 500 * time.Millisecond}, "line ends": {"a\r\nb\rc", []string{"❯ a", "  b", "  ck"}, 500 * time.Millisecond},
	} {
		began := time.Now()
		y.send(pasteBegin + c.paste + pasteEnd + "k")
		y.until("the key behind "+name, func() bool { in := y.inputRows(len(c.shows)); return strings.HasSuffix(in, "k") })
		took := time.Since(began)
		if took > c.limit+busy {
			t.Errorf("%s took %v", name, took)
		}
		if got := y.inputRows(len(c.shows)); c.shows != nil && got != strings.Join(c.shows, "\n") {
			t.Errorf("%s: the input shows %q", name, got)
		}
		y.send("\x03")
		y.until("no text after "+name, func() bool { return y.input() == "❯" })
		if strings.HasPrefix(name, "U+") { // Ctrl+C twice is answered, and forgotten in two seconds
			y.send("\x03")
			y.wait("press Ctrl+C again to quit")
			time.Sleep(2100 * time.Millisecond)
		}
	}
	y.send("\x03\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	y.clean()
}

// busy is what a machine that has much else to do may take longer: what hangs takes longer by far.
const busy = time.Minute

// inputRows are the first rows of the input, n at least one.
func (y *tty) inputRows(n int) string {
	rows := y.rows()
	for i := len(rows) - 1; i > 2; i-- {
		if strings.HasPrefix(rows[i], "❯") {
			return strings.Join(rows[i:min(i+max(n, 1), len(rows))], "\n")
		}
	}
	return ""
}

// B011: 10,000 lines in pieces of 4 KiB are one row of the input, in time; what is sent is what was pasted, byte for byte, and the key
// behind it. The paste survives a kill, with what was typed around it.
func TestTerminalLargePaste(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewServer()
	t.Cleanup(srv.Close)
	srv.Push(llmtest.Answer("taken"))
	dir := t.TempDir()
	program := vitrine(dir).with("OPENAI_BASE_URL="+srv.URL(), "MODEL=m", "AGENT_MAX_CTX_TOKENS=10000000", "AGENT_MAX_RUN_TOKENS=100000000")
	y := startTTY(t, program, 100, 30)
	y.wait("ready")
	paste := func(lines int) time.Duration {
		text := pasted(lines)
		began := time.Now()
		for s := pasteBegin + text + pasteEnd; s != ""; {
			n := min(4<<10, len(s))
			y.send(s[:n])
			s = s[n:]
		}
		y.until("the label", func() bool { return strings.Contains(y.input(), fmt.Sprintf("%d,000 lines, ", lines/1000)) })
		return time.Since(began)
	}
	one := paste(10_000)
	y.send("\x7f")
	y.until("no text", func() bool { return y.input() == "❯" })
	two := paste(20_000)
	if one > time.Second+busy || two > 5*one/2+busy/2 {
		t.Errorf("10,000 lines took %v, 20,000 %v", one, two)
	}
	y.send("\x7f")
	y.until("no text", func() bool { return y.input() == "❯" })
	paste(10_000)
	y.send("x")
	y.until("the key", func() bool { return strings.HasSuffix(y.input(), "x") })
	time.Sleep(2500 * time.Millisecond) // a kill takes the last second of typing
	y.signal(os.Kill)
	_ = y.exit()
	y = startTTY(t, program, 100, 30)
	y.until("the draft", func() bool {
		return strings.HasPrefix(y.input(), "❯ [paste 1: 10,000 lines, ") && strings.HasSuffix(y.input(), "x")
	})
	y.send("\r")
	y.ended("taken")
	requests := srv.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	sent := requests[0].Messages[len(requests[0].Messages)-1]
	if got, want := sent.Text(), pasted(10_000)+"x"; got != want {
		t.Errorf("%d bytes were sent, want %d", len(got), len(want))
	}
	y.send("\x03\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// B013: over a slow line a paste comes with a character cut in two and a pause between, and holds an escape: nothing of it is lost, and it
// takes no longer for that, since the library would go through all of it again with every piece until the line rests.
func TestTerminalSlowPaste(t *testing.T) {
	t.Parallel()
	y := startTTY(t, vitrine(t.TempDir()), 100, 30)
	y.wait("ready")
	y.send(pasteBegin + "部\xe7\xbd")
	time.Sleep(120 * time.Millisecond)
	y.send("\xb2 \x1bx")
	text := strings.Repeat("汉字abc 部署", 20_000) // half a MB
	for s := text; s != ""; {
		n := min(100, len(s))
		y.send(s[:n])
		s = s[n:]
	}
	y.send("\nend" + pasteEnd)
	y.until("the paste", func() bool { return strings.HasSuffix(y.input(), "]") || strings.Contains(y.screen(), "end") })
	y.send("\x0f") // opens it here
	y.until("the opened paste", func() bool { return strings.Contains(y.screen(), "end") })
	y.send("\x1b[1;5H\x1b[1~")
	y.until("its beginning", func() bool { return strings.Contains(y.screen(), "部署 ") })
	y.send("\x18q")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// pasted are lines of 80 characters, Chinese and others.
func pasted(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%06d %s\n", i, strings.Repeat("汉字abc 部署", 9)+"x")
	}
	return b.String()
}

// @ offers files of the folder, and the request holds what the chosen one holds; after a restart the same is sent again.
func TestTerminalFilesInAMessage(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewServer()
	t.Cleanup(srv.Close)
	srv.Push(llmtest.Answer("first answer"), llmtest.Answer("second answer"))
	dir := t.TempDir()
	for name, text := range map[string]string{"笔记 一.md": "你好 from the notes", "other.txt": "unread", ".gitignore": "other.txt\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := vitrine(dir).with("OPENAI_BASE_URL="+srv.URL(), "MODEL=m")
	y := startTTY(t, program, 100, 30)
	y.wait("ready")
	y.send("see @")
	y.wait("@笔记 一.md")
	if strings.Contains(y.screen(), "other.txt") {
		t.Error("what .gitignore leaves out is offered")
	}
	y.send("笔")
	y.wait("@笔记 一.md")
	y.send("\r")
	y.wait(`see @"笔记 一.md"`)
	y.wait("@ 笔记 一.md   ")
	y.send("\r")
	y.wait("first answer")
	if strings.Contains(y.screen(), "from the notes") {
		t.Error("the chat shows the content")
	}
	y.signal(os.Kill)
	_ = y.exit()
	y = startTTY(t, program, 100, 30)
	y.wait("first answer", "@ 笔记 一.md   ")
	y.send("and now\r")
	y.ended("second answer")
	y.send("\x03\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	requests := srv.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	first, second := requests[0].Messages, requests[1].Messages
	content := first[len(first)-1].Text()
	if !strings.Contains(content, "你好 from the notes") || !strings.Contains(content, `"name":"笔记 一.md"`) {
		t.Errorf("the request holds %q", content)
	}
	if again := second[len(first)-1].Text(); again != content {
		t.Errorf("after a restart it is %q", again)
	}
}

// What is typed before the program takes the keys, or has opened its session, is sent like any input: nobody waits for a program to be ready.
func TestTerminalTypedAhead(t *testing.T) {
	t.Parallel()
	y := startTTY(t, vitrine(t.TempDir()), 100, 30)
	y.send("what is 2+2?\r")
	y.ended("2+2 = 4")
	y.send("\x03\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	y.clean()
}
