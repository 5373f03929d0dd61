package record

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

// recorded plays f into a recorder of a cast, 80x24 unless changed, and gives the file's text.
func recorded(t *testing.T, change func(*Config), f func(*Recorder)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.cast")
	cfg := Config{Width: 80, Height: 24, Start: began, Cast: path}
	if change != nil {
		change(&cfg)
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f(r)
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// events reads a cast.
func events(t *testing.T, cast string) (h Header, all []Event) {
	t.Helper()
	r, err := NewCastReader(strings.NewReader(cast))
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header(), all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func TestCastIsWritten(t *testing.T) {
	got := recorded(t, func(c *Config) {
		c.Title, c.Idle, c.Term = "a \"title\"\nof two <lines>", 2*time.Second, "xterm-kitty"
	}, func(r *Recorder) {
		r.Frame(after(0.5), "hi <b> & \"q\" \\ \x1b[1m中\r\n")
		r.Mark(after(0.75), "greets")
		r.Frame(after(0.25), "late") // times never decrease
		r.Resize(after(1), 80, 24)   // it has this size
		r.Resize(after(1), 100, 30)
		r.Until(after(3.0000004))
	})
	want := `{"version":2,"width":80,"height":24,"timestamp":1772805720,"idle_time_limit":2,"title":"a \"title\" of two <lines>","env":{"TERM":"xterm-kitty"}}
[0.500000,"o","hi <b> & \"q\" \\ \u001b[1m中\r\n"]
[0.750000,"m","greets"]
[0.750000,"o","late"]
[1.000000,"r","100x30"]
[3.000000,"o",""]
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var b strings.Builder
	c, err := NewCastWriter(&b, Header{Width: 1, Height: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Duration{2, 1} {
		if err := c.Event(Event{at * time.Second, Output, "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasSuffix(b.String(), "[2.000000,\"o\",\"x\"]\n[2.000000,\"o\",\"x\"]\n") {
		t.Errorf("times decrease: %s", b.String())
	}
	if plain := recorded(t, func(c *Config) { c.Start = time.Time{} }, func(r *Recorder) { r.Frame(after(7), "x"); r.Frame(after(8), "y") }); plain !=
		"{\"version\":2,\"width\":80,\"height\":24,\"env\":{\"TERM\":\"xterm-256color\"}}\n[0.000000,\"o\",\"x\"]\n[1.000000,\"o\",\"y\"]\n" {
		t.Errorf("%s", plain)
	}
}

// B185: a speed holds for the cast too, with the limit of its pauses; a picture that is made with it takes as long as the cast.
func TestCastKeepsToSpeedB185(t *testing.T) {
	for speed, want := range map[float64]string{
		4:   `"idle_time_limit":0.5,"env":{"TERM":"xterm-256color"}}|[0.000000,"o","a"]|[0.250000,"m","seen"]|[7.750000,"r","10x3"]|[8.000000,"o","b"]|[8.500000,"o","half "]|[8.500000,"o","�"]|`,
		0.5: `"idle_time_limit":4,"env":{"TERM":"xterm-256color"}}|[0.000000,"o","a"]|[2.000000,"m","seen"]|[62.000000,"r","10x3"]|[64.000000,"o","b"]|[68.000000,"o","half "]|[68.000000,"o","�"]|`,
	} {
		gif := filepath.Join(t.TempDir(), "a.gif")
		cast := recorded(t, func(c *Config) {
			c.Start, c.GIF, c.NoFrame, c.Hold = time.Time{}, gif, true, -1
			c.Speed, c.Idle = speed, 2*time.Second
		}, func(r *Recorder) {
			r.Frame(after(10), "a")
			r.Mark(after(11), "seen")
			r.Resize(after(41), 10, 3)
			r.Frame(after(42), "b")
			r.Frame(after(44), "half \xe4")
		})
		if _, got, _ := strings.Cut(strings.ReplaceAll(cast, "\n", "|"), `"height":24,`); got != want {
			t.Errorf("at %v\n%s\nwant\n%s", speed, got, want)
		}
		shown := time.Duration(float64(6*time.Second) / speed) // 1, 2, 1 and 2 s
		if d := decode(t, gif).total - shown; d < 0 || d > 40*time.Millisecond {
			t.Errorf("at %v the GIF lasts %v, not %v", speed, decode(t, gif).total, shown)
		}
	}
}

// Whatever is cut where: the text together is the same, each event is whole, and nothing switches character sets (B193).
func TestOutputIsJoined(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"中|文", "中文"},
		{"\xe4|\xb8|\xad.", "中."},
		{"a\xff\xfeb", "a\uFFFD\uFFFDb"},
		{"a\xe4b", "a\uFFFDb"},
		{"end \xe4\xb8", "end \uFFFD"},
		{"a\x1b|[1|mb", "a\x1b[1mb"},
		{"test\x0ehello\x0fworld\x05\x07", "testhelloworld\x07"},
		{"\x1b|(0qqq\x1b(|B\x1bn\x1b)0.", "qqq."},
		{"\x1b]2;a\xff|title\x07b", "\x1b]2;a\uFFFDtitle\x07b"},
		{"\x1b]8;;x\x1b\\l|\x1b]8;;\x1b|\\", "\x1b]8;;x\x1b\\l\x1b]8;;\x1b\\"},
		{"a\x1b7b\x1b8\x1bM", "a\x1b7b\x1b8\x1bM"},
		{"a\x1b]52;c;aGk|=\x07b", "ab"},
		{"x\x1b[99999999|99b\x1b[38;2;100;200;255m\x1b[?2027h\x1b[1234567;1000H", "x\x1b[9999b\x1b[38;2;100;200;255m\x1b[?2027h\x1b[1234;1000H"},
		{"cut \x1b[3", "cut "},
		{"\x1b]0;" + strings.Repeat("x", maxHeld) + "|x", "\x1b]0;" + strings.Repeat("x", maxHeld) + "x"},
	} {
		cast := recorded(t, nil, func(r *Recorder) {
			for i, s := range strings.Split(c.in, "|") {
				r.Frame(after(float64(i)), s)
			}
		})
		_, all := events(t, cast)
		var got strings.Builder
		for _, e := range all {
			got.WriteString(e.Data)
		}
		if got.String() != c.want {
			t.Errorf("%.60q becomes %.60q, not %.60q", c.in, got.String(), c.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		in := rapid.StringOfN(rapid.RuneFrom([]rune("ab中é\x1b[]m;12(0B\x0e\a\\😀")), 0, 40, -1).Draw(rt, "text")
		whole, parts := joiner{}, joiner{}
		want := whole.take(in)
		var got strings.Builder
		for rest := in; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "cut")
			piece := parts.take(rest[:n])
			if !utf8.ValidString(piece) {
				rt.Fatalf("%q is no UTF-8", piece)
			}
			got.WriteString(piece)
			rest = rest[n:]
		}
		if got.String() != want || parts.rest() != whole.rest() {
			rt.Fatalf("%q gives %q in parts and %q at once", in, got.String(), want)
		}
	})
}

func TestCastIsRead(t *testing.T) {
	h, all := events(t, "{\"version\": 2, \"width\": 80, \"height\": 24, \"env\": {\"SHELL\": \"/bin/sh\"}, \"theme\": {}}\n\n[0.1, \"i\", \"key\"]\n[1.000000, \"o\", \"a\\u001b[m\"]\r\n"+
		"[0.5,\"o\",\"back\"]\n[1e1,\"x\",\"new\"]\n[11,\"o\",\""+strings.Repeat("long", 50_000)+"\"]")
	if h.Width != 80 || h.Height != 24 || len(all) != 5 {
		t.Fatalf("%+v %d", h, len(all))
	}
	for i, want := range []Event{{100 * time.Millisecond, "i", "key"}, {time.Second, Output, "a\x1b[m"}, {time.Second, Output, "back"}, {10 * time.Second, "x", "new"}} {
		if all[i] != want {
			t.Errorf("%+v, not %+v", all[i], want)
		}
	}
	if len(all[4].Data) != 200_000 {
		t.Errorf("a long line has %d characters", len(all[4].Data))
	}
}

// B190: what is wrong with a cast is told in one line, with the line of the cast.
func TestWrongCastsB190(t *testing.T) {
	const head = "{\"version\":2,\"width\":80,\"height\":24}\n"
	for _, c := range []struct{ in, want string }{
		{"", "line 1: the cast is empty"},
		{"\n", "line 1: this is no asciicast"},
		{"hello", "line 1: this is no asciicast"},
		{"[]", "line 1: this is no asciicast"},
		{`{"version":1,"width":80,"height":24,"stdout":[]}`, "line 1: asciicast version 1 cannot be read, only version 2"},
		{`{"version":3,"term":{"cols":80,"rows":24}}`, "line 1: asciicast version 3 cannot be read, only version 2"},
		{`{"version":2,"width":0,"height":24}`, "line 1: a terminal of 0x24 cells cannot be recorded"},
		{`{"version":2,"width":80,"height":-1}`, "line 1: a terminal of 80x-1 cells"},
		{`{"version":2,"width":80,"height":100000}`, "line 1: a terminal of 80x100000 cells"},
		{`{"version":2,"width":"80","height":24}`, "line 1: the header is wrong"},
		{`{"version":2,"width":80,"height":24,"idle_time_limit":-1}`, "line 1: idle_time_limit is -1"},
		{head + "[0,\"o\",\"a\"]\n[1,\"o\",\"b\"]\n\n{bad\n[2,\"o\",\"c\"]\n", "line 5: this is no JSON array"},
		{head + "[1,\"o\"]\n", "line 2: an event has 3 parts, this one 2"},
		{head + "[\"1\",\"o\",\"x\"]\n", "line 2: the time of the event is no number of seconds: \"1\""},
		{head + "[-1,\"o\",\"x\"]\n", "line 2: the time of the event is no number of seconds: -1"},
		{head + "[1e99,\"o\",\"x\"]\n", "line 2: the time of the event"},
		{head + "[1,1,\"x\"]\n", "line 2: the kind of the event is no text: 1"},
		{head + "[1,\"o\",{\"a\":1}]\n", "line 2: the data of the event is no text"},
		{head + "[1,\"r\",\"80\"]\n", "line 2: a size is WIDTHxHEIGHT, not 80"},
		{head + "[1,\"r\",\"0x5\"]\n", "line 2: a terminal of 0x5 cells"},
		{head + "[1,\"o\",\"" + strings.Repeat("x", maxLine+200_000) + "\"]\n", "line 2: the line is longer than 16 MB"},
	} {
		r, err := NewCastReader(strings.NewReader(c.in))
		for err == nil {
			_, err = r.Next()
		}
		var wrong *CastError
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q gives %v, not %s", c.in, err, c.want)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := NewCastReader(io.MultiReader(strings.NewReader(head[:10]), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A cast that grows can be read at every moment, also when the last line is cut in the middle.
func TestLiveCastIsPlayableWhenKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.cast")
	r, err := New(Config{Width: 80, Height: 24, Cast: path, Live: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, all := events(t, read(t, path)); len(all) != i {
			t.Errorf("after %d frames %d can be read", i, len(all))
		}
		r.Frame(after(float64(i)), "frame 中 "+strings.Repeat("x", i))
	}
	whole := read(t, path)
	for n := range len(whole) {
		if strings.Count(whole[:n], "\n") == 0 {
			continue
		}
		c, err := NewCastReader(strings.NewReader(whole[:n]))
		for err == nil {
			_, err = c.Next()
		}
		if !errors.Is(err, io.EOF) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		if tail := whole[strings.LastIndexByte(whole[:n], '\n')+1 : n]; c.Cut() != (tail != "" && !strings.HasSuffix(tail, "]")) {
			t.Fatalf("cut after %d bytes: cut is %v", n, c.Cut())
		}
	}
	if _, err := New(Config{Width: 80, Height: 24, Cast: path, Live: true}); err == nil || !strings.Contains(err.Error(), "file exists") {
		t.Errorf("a recording that is there is written over: %v", err)
	}
	r.Abort()
	if read(t, path) != whole {
		t.Error("the cast that grew is gone")
	}
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// A full disk takes no part of a line into a cast that grows, and is told.
func TestLiveCastOnAFullDisk(t *testing.T) {
	cfg := Config{Width: 80, Height: 24, Cast: filepath.Join(t.TempDir(), "live.cast"), Live: true}
	cfg.Disk = full(150)
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r.Frame(after(float64(i)), "a frame of some length")
	}
	if r.Err() == nil || !strings.HasSuffix(r.Err().Error(), "live.cast: no space left on device") {
		t.Error(r.Err())
	}
	if err := r.Close(t.Context()); err == nil {
		t.Error("it was closed as if it were whole")
	}
	if got := read(t, cfg.Cast); !strings.HasSuffix(got, "]\n") || strings.Count(got, "\n") != 3 {
		t.Errorf("it holds %q", got)
	}
}
