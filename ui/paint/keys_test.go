package paint_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"vitrine/runtime/clock"
	"vitrine/ui/paint"
)

// typist writes to a terminal, with pauses, and reads what comes through.
type typist struct {
	clk  *clock.Sim
	w    *os.File
	keys *paint.Keys
	left []piece
	got  strings.Builder
}

// piece is written so long after the one before it.
type piece struct {
	text  string
	after time.Duration
}

func newTypist(t interface{ Fatal(...any) }) *typist {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	y := &typist{clk: clock.NewSim(start), w: w}
	y.keys = &paint.Keys{File: r, Clock: y.clk, Ready: y.ready}
	return y
}

func (y *typist) send(s string, after time.Duration) { y.left = append(y.left, piece{s, after}) }

// ready writes the next piece, when it comes within a time; else the time passes.
func (y *typist) ready(most time.Duration) bool {
	if len(y.left) == 0 || y.left[0].after > most {
		if len(y.left) > 0 {
			y.left[0].after -= most
		}
		y.clk.Advance(most)
		return false
	}
	y.clk.Advance(y.left[0].after)
	_, _ = y.w.WriteString(y.left[0].text)
	y.left = y.left[1:]
	return true
}

// text is all that came through, with the Esc key as the byte that it was.
func (y *typist) text() string {
	buf := make([]byte, 4096)
	for len(y.left) > 0 {
		y.ready(time.Hour)
		n, _ := y.keys.Read(buf)
		y.got.Write(buf[:n])
	}
	return strings.ReplaceAll(y.got.String(), "\x1b[27u", "\x1b")
}

func (y *typist) close() {
	_ = y.w.Close()
	_ = y.keys.Close()
}

var answers = []string{"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "\x1b]11;rgb:1e1e/1e1e/2e2e\a", "\x1b[?2027;2$y", "\x1b[?62;22c", "\x1b[?1u", "\x1bP>|XTerm(388)\x1b\\", "\x1b[12;40R"}

// B034: wherever an answer is cut, and whatever time its rest takes, nothing of it comes through as text: it comes whole. What is typed
// around it comes as it is.
func TestAnswersInPieces(t *testing.T) {
	for _, a := range answers {
		for cut := 1; cut < len(a); cut++ {
			for _, pause := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
				if cut == 1 && pause > 50*time.Millisecond {
					continue // an escape alone is the Esc key
				}
				if cut == 2 && pause > 50*time.Millisecond {
					continue // and so is Alt with a sign
				}
				if pause > 50*time.Millisecond && strings.HasSuffix(a, "R") {
					continue // it is asked for by nobody, and might be a key of old terminals
				}
				y := newTypist(t)
				y.send("ab", 0)
				y.send(a[:cut], 0)
				y.send(a[cut:]+"c", pause)
				got := y.text()
				if got != "ab"+a+"c" {
					t.Errorf("%q cut at %d with a pause of %v comes through as %q", a, cut, pause, got)
				}
				y.close()
			}
		}
		// Byte by byte, as slowly as a key may come, it comes whole; so does what looks like a key.
		for _, pause := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 49 * time.Millisecond} {
			want := "ab" + a + "c"
			y := newTypist(t)
			for _, c := range []byte("ab" + a + "c") {
				y.send(string([]byte{c}), pause)
			}
			if got := y.text(); got != want {
				t.Errorf("%q byte by byte with %v in between comes through as %q", a, pause, got)
			}
			y.close()
		}
		// One whose rest never comes takes nothing of what is typed later.
		y := newTypist(t)
		y.send(a[:len(a)-1], 0)
		y.send("typed", 2*time.Second)
		if got := y.text(); got != "typed" && !strings.HasSuffix(a, "R") {
			t.Errorf("after a part of %q %q comes through", a, got)
		}
		y.close()
	}
}

// Keys and pastes come through unchanged, however they are cut; a paste that holds an answer too.
func TestKeysComeThrough(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "部署", "\x1b[A", "\x1bOP", "\x1b[13;2u", "\x1b", "\x1bx", "\x1b]x", "\x1b[106;5u", "\r", "\x7f",
		"\x1b[200~text \x1b]11;rgb:0/0/0\x1b\\ and \x1b[?62c more\x1b[201~", "\x1b[I"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "typed"), "")
		y := newTypist(t)
		defer y.close()
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			y.send(rest[:n], time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms"))*time.Millisecond)
			rest = rest[n:]
		}
		if got := paint.Pasted(y.text()); got != text {
			t.Fatalf("%q comes through as %q", text, got)
		}
	})
}

// B013: whatever is within a paste, and however it is cut, the library gets whole characters and no escape but that of the end: at half a
// character or an escape it would wait, and look through all of the paste again with each piece.
func TestPastesComeWhole(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom([]string{"a\n", "部署", "\x1b", "\x1b[", "\x1b[20", "\x1b[200~", "\x1bx", "\x1b[31m", "\x1b]0;t\a", "\x9b", "\xe6\xb1", "\xff", "\x00", "👍🏽", "\x7f"}),
		rapid.StringMatching(`[a-z]{0,3}`))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pasted"), ""), "\x1b[201~", "")
		y := newTypist(t)
		defer y.close()
		for rest := "\x1b[200~" + text + "\x1b[201~"; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			y.send(rest[:n], time.Duration(rapid.IntRange(0, 200).Draw(t, "ms"))*time.Millisecond)
			rest = rest[n:]
			for len(y.left) > 0 {
				y.ready(time.Hour)
				buf := make([]byte, 4096)
				n, _ := y.keys.Read(buf)
				y.got.Write(buf[:n])
				if !utf8.ValidString(y.got.String()) {
					t.Fatalf("half a character is handed on: %q", y.got.String())
				}
			}
		}
		got, ok := strings.CutPrefix(y.text(), "\x1b[200~")
		got, whole := strings.CutSuffix(got, "\x1b[201~")
		if !ok || !whole || strings.Contains(got, "\x1b") {
			t.Fatalf("%q comes through as %q", text, got)
		}
		if want := string([]rune(text)); paint.Pasted(got) != want {
			t.Fatalf("%q comes through as %q", want, got)
		}
	})
}

// A character whose halves come one by one is handed on whole.
func TestCharactersComeWhole(t *testing.T) {
	y := newTypist(t)
	defer y.close()
	y.send("a\xe9\x83", 0)
	y.send("\xa8", time.Second)
	y.send("\xe9", time.Second)
	y.send("b\x1b", time.Second)
	if got := y.text(); got != "a部\xe9b\x1b" {
		t.Errorf("%q comes through", got)
	}
}

// B041: a report of the mouse may be cut anywhere, with any pause, and nothing of it is typed text; behind other reports an escape that
// begins one is no Esc key either. An escape alone stays the Esc key.
func TestMouseReportsInPieces(t *testing.T) {
	const report = "\x1b[<35;72;19M"
	for cut := 1; cut < len(report); cut++ {
		for _, pause := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 400 * time.Millisecond} {
			y := newTypist(t)
			y.send("a", 0)
			y.send(report[:cut], time.Second)
			if cut > 2 {
				if got := y.text(); got != "a" {
					t.Errorf("cut at %d: %q is handed on before the rest is there", cut, got)
				}
			}
			y.send(report[cut:], pause)
			y.send("q", 0)
			switch got := y.text(); {
			case got == "a"+report+"q":
			case got == "a"+report[:min(cut, 2)]+"q" && pause > 50*time.Millisecond && cut <= 2: // a key: the rest is forgotten
			default:
				t.Errorf("cut at %d, %v: %q", cut, pause, got)
			}
			y.close()
		}
	}
	y := newTypist(t)
	defer y.close()
	y.send(report, 0)
	y.send("\x1b", 0)
	y.send("[<35;1;1M", 150*time.Millisecond) // the escape is held so long behind a report
	if got := y.text(); got != report+"\x1b[<35;1;1M" {
		t.Errorf("behind a report: %q", got)
	}
	y.send("\x1b", time.Second)
	if got := y.text(); !strings.HasSuffix(got, "M\x1b") {
		t.Errorf("the Esc key: %q", got)
	}
}

// What was typed before keys came one by one had its Enter keys made line feeds: they are Enter keys again. A line feed behind it stays one.
func TestKeysTypedAhead(t *testing.T) {
	y := newTypist(t)
	defer y.close()
	y.keys.Ahead = len("one\ntwo\n")
	y.send("one\nt", 0)
	y.send("wo\nthree\n", time.Second)
	if got := y.text(); got != "one\rtwo\rthree\n" {
		t.Errorf("%q comes through", got)
	}
}
