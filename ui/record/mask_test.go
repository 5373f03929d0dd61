package record

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vitrine/ui/emulator"
	"vitrine/ui/paint"
)

const key = "sk-proj-Zq81LmX0wYvT5uRkP3sHc7"

// played gives the screen after each event of a cast.
func played(t interface {
	Helper()
	Fatal(...any)
}, cast string) (screens []emulator.Screen) {
	t.Helper()
	r, err := NewCastReader(strings.NewReader(cast))
	if err != nil {
		t.Fatal(err)
	}
	term := emulator.New(r.Header().Width, r.Header().Height, ansi.WcWidth)
	for {
		e, err := r.Next()
		if err != nil {
			return screens
		}
		switch e.Code {
		case Output:
			feed(term, e.Data)
		case Resize:
			w, h, _ := parseSize(e.Data)
			term.Resize(w, h)
		}
		screens = append(screens, term.Screen())
	}
}

// showsPart finds more of a secret than may be seen, also where a pane's row ends: most characters in a row.
func showsPart(screen, secret string, most int) string {
	screen = strings.NewReplacer(" ", "", "\n", "", "❯", "", "⡇", "").Replace(screen)
	for i := range len(secret) - most {
		if strings.Contains(screen, secret[i:i+most+1]) {
			return secret[i : i+most+1]
		}
	}
	return ""
}

// stage paints frames into a recorder as the program does.
type stage struct {
	r     *Recorder
	paint *paint.Painter
	at    time.Time
}

func newStage(r *Recorder, w, h int) *stage {
	s := &stage{r: r, paint: paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor}), at: began}
	s.paint.SetMethod(ansi.GraphemeWidth)
	s.paint.Resize(w, h)
	return s
}

func (s *stage) show(content string) {
	s.at = s.at.Add(100 * time.Millisecond)
	s.r.Frame(s.at, string(s.paint.Frame(tea.View{Content: content, Cursor: tea.NewCursor(1, 1)})))
}

// B191: a secret is in no frame and in no bytes of the recording, however it comes onto the screen.
func TestSecretsAreMaskedB191(t *testing.T) {
	pane := func(rows ...string) string { // a pane between two others, 12 wide
		var b strings.Builder
		for _, r := range rows {
			fmt.Fprintf(&b, "chat line   ⡇%-12s⡇ todos\n", r)
		}
		return b.String()
	}
	for name, frames := range map[string]func(s *stage){
		"at once": func(s *stage) { s.show("OPENAI_API_KEY=" + key + " next") },
		"typed and deleted": func(s *stage) {
			for i := range key {
				s.show("❯ " + key[:i+1])
			}
			for i := range key {
				s.show("❯ " + key[:len(key)-i-1])
			}
		},
		"pasted and deleted": func(s *stage) { s.show("❯ "); s.show("❯ " + key); s.show("❯ ") },
		"in colours":         func(s *stage) { s.show("\x1b[31m" + key[:9] + "\x1b[32m" + key[9:] + "\x1b[m") },
		"wrapped":            func(s *stage) { s.show(pane(key[:12], key[12:24], key[24:])) },
		"wrapped at the head": func(s *stage) {
			s.show(pane("the key "+key[:4], key[4:16], key[16:28], key[28:]))
			s.show(pane("the key "+key[:3], key[3:15], key[15:27], key[27:]))
		},
		"cut":      func(s *stage) { s.show("sent " + key[:14] + "⋯"); s.show("⋯" + key[10:]) },
		"scrolled": func(s *stage) { s.show(key[11:23] + "  moved") },
		"repainted in part": func(s *stage) {
			s.show("x: " + key[:10] + strings.Repeat("-", len(key)-10))
			s.show("x: " + key)
			s.show("x: " + key + " and on")
		},
		"split over frames": func(s *stage) {
			s.r.Frame(s.at, "\x1b[2J\x1b[H"+key[:7])
			s.r.Frame(s.at, key[7:15]+"\x1b[")
			s.r.Frame(s.at, "1m"+key[15:])
		},
		"written and wiped": func(s *stage) { s.r.Frame(s.at, "\x1b[H"+key+"\x1b[2Kdone") },
		"moves between": func(s *stage) {
			s.r.Frame(s.at, "\x1b[H")
			for i := range key {
				s.r.Frame(s.at, fmt.Sprintf("\x1b[1;%dH%s\x1b[9;1H", i+1, key[i:i+1]))
			}
		},
		"in the title":     func(s *stage) { s.r.Frame(s.at, ansi.SetWindowTitle("key "+key)+"ok") },
		"in a link":        func(s *stage) { s.show(ansi.SetHyperlink("http://x/"+key) + "here" + ansi.ResetHyperlink()) },
		"in the clipboard": func(s *stage) { s.r.Frame(s.at, ansi.SetSystemClipboard(key)+"ok") },
		"in base64": func(s *stage) {
			s.show(base64.StdEncoding.EncodeToString([]byte("user:" + key)))
		},
		"in a mark": func(s *stage) { s.show("x"); s.r.Mark(s.at, "shows "+key) },
		"resized": func(s *stage) {
			s.show("a " + key)
			s.r.Resize(s.at, 50, 12)
			s.paint.Resize(50, 12)
			s.show("b " + key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var last emulator.Screen
			cast := recorded(t, func(c *Config) { c.Width, c.Height, c.Title, c.Secrets = 60, 10, "run with "+key, []string{key, ""} }, func(r *Recorder) {
				s := newStage(r, 60, 10)
				frames(s)
				s.r.Frame(s.at, "\x1b[5;1H\x1b[mend")
				last = r.censor.real.Screen()
			})
			if strings.Contains(cast, key) {
				t.Errorf("the cast holds it: %s", cast)
			}
			if b := base64.StdEncoding.EncodeToString([]byte(key)); strings.Contains(cast, b[:20]) || strings.Contains(cast, base64.StdEncoding.EncodeToString([]byte("user:" + key))[8:30]) {
				t.Error("the cast holds it in base64")
			}
			all := played(t, cast)
			for i, s := range all {
				if part := showsPart(s.String(), key, mostPart-1); part != "" {
					t.Errorf("screen %d shows %q:\n%s", i, part, s)
				}
			}
			if name == "resized" && !strings.Contains(cast, `"50x12"]`+"\n"+`[0.200000,"o","\u001b[m\u001b[2J`) {
				t.Errorf("after a change of the size the screen is not cleared: %s", cast)
			}
			// What is no secret is shown, and what ends a secret ends its mask.
			end := all[len(all)-1]
			if !end.Has("end") {
				t.Errorf("the last screen is\n%s", end)
			}
			if masked, _ := newMasker([]string{key}).screen(last); masked.Diff(end) != "" {
				t.Error(masked.Diff(end))
			}
			if n := strings.Count(end.String(), "*"); name == "at once" && n != len(key) {
				t.Errorf("%d stars stand for %d characters", n, len(key))
			}
		})
	}
}

func TestMasksAreAsWide(t *testing.T) {
	term := emulator.New(40, 2, ansi.GraphemeWidth)
	term.Write("密码是正确的马电池钉书 ok\r\n\x1b[31mthe word ollama, not ollamas")
	s, found := newMasker([]string{"正确的马电池钉书", "ollama", "abc"}).screen(term.Screen())
	if want := "密码是＊＊＊＊＊＊＊＊ ok\nthe word ******, not ollamas\n"; !found || s.String() != want {
		t.Errorf("%q", s.String())
	}
	if s.Style(12, 1).Fg == nil {
		t.Error("the mask lost its colour")
	}
	term.Write("\x1b[2J")
	before := term.Screen()
	if after, found := newMasker([]string{"ollama"}).screen(before); found || after.Diff(before) != "" {
		t.Error("something is masked where nothing is")
	}
	if newMasker([]string{"", "abc"}) != nil {
		t.Error("nothing is to be hidden")
	}
}

// Frames without secrets are recorded as they were written, also after one that held some.
func TestOtherFramesStayAsTheyAre(t *testing.T) {
	var frames []string
	cast := recorded(t, func(c *Config) { c.Secrets = []string{key} }, func(r *Recorder) {
		for i, text := range []string{"hello", "he " + key, "and on", "and on: more", "中 end"} {
			out := "\x1b[H\x1b[2K" + text
			if i == 2 {
				out += "\x1b[?25l"
			}
			frames = append(frames, out)
			r.Frame(after(float64(i)), out)
		}
	})
	_, all := events(t, cast)
	if len(all) != 5 || all[0].Data != frames[0] || all[1].Data == frames[1] || all[3].Data != frames[3] || all[4].Data != frames[4] {
		t.Errorf("%q", all)
	}
	last := played(t, cast)[4]
	if _, _, ok := last.Cursor(); ok || last.Row(0) != "中 end" {
		t.Errorf("%q", last.Row(0))
	}
}

// B191: frames of random panes with a secret in them, painted as differences: no screen of the cast shows a part of it, and the
// screen is otherwise the real one.
func TestSecretsAreMaskedInAnyFrames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		secret := rapid.StringMatching(`[a-zA-Z0-9_.-]{16,40}`).Draw(rt, "secret")
		cfg := Config{Width: 60, Height: 8, Start: began, Cast: dir + "/a.cast", Secrets: []string{secret}}
		r, err := New(cfg)
		if err != nil {
			rt.Fatal(err)
		}
		s := newStage(r, 60, 8)
		for range rapid.IntRange(1, 8).Draw(rt, "frames") {
			width := rapid.IntRange(9, 30).Draw(rt, "pane")
			from := rapid.IntRange(0, len(secret)).Draw(rt, "from")
			to := rapid.IntRange(from, len(secret)).Draw(rt, "to")
			words := rapid.SampledFrom([]string{"", "@@@: ", "中文 ", "@ @ @ @ "}).Draw(rt, "before") + secret[from:to] + rapid.SampledFrom([]string{"", " ~", "⋯"}).Draw(rt, "behind")
			var b strings.Builder
			for _, line := range strings.Split(ansi.Hardwrap(words, width, true), "\n") {
				b.WriteString(" ====  ⡇" + line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line))) + "⡇ =\n")
			}
			s.show(b.String())
		}
		if err := r.Close(t.Context()); err != nil {
			rt.Fatal(err)
		}
		want, _ := newMasker(cfg.Secrets).screen(r.censor.real.Screen())
		all := played(rt, read(t, cfg.Cast))
		for _, screen := range all {
			if part := showsPart(strings.NewReplacer(" ====  ⡇", "", "⡇ =", "").Replace(screen.String()), secret, mostPart-1); part != "" {
				rt.Fatalf("a screen shows %q:\n%s", part, screen)
			}
		}
		if diff := all[len(all)-1].Diff(want); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// B191: what is made of a cast of somebody else is masked too.
func TestExportsAreMaskedB191(t *testing.T) {
	dir := t.TempDir()
	cast := castFile(t, head+"[0,\"o\",\"key "+key[:9]+"\"]\n[1,\"o\",\""+key[9:]+"\"]\n[2,\"m\",\"has "+key+"\"]\n[3,\"r\",\"60x3\"]\n[4,\"o\",\"\\u001b[H"+key+"\"]\n")
	files := Files{SVG: dir + "/a.svg", Text: dir + "/a.txt"}
	if err := Export(t.Context(), cast, files, Look{Masked: []string{key}}); err != nil {
		t.Fatal(err)
	}
	text := read(t, files.Text)
	if part := showsPart(text, key, mostPart-1); part != "" || !strings.Contains(text, "key ****") || !strings.Contains(text, "has ****") {
		t.Errorf("it shows %q:\n%s", part, text)
	}
	if part := showsPart(read(t, files.SVG), key, mostPart-1); part != "" {
		t.Errorf("the SVG shows %q", part)
	}
}

// What no cell shows leaves nothing on the screen of a cast, however it ends.
func TestCommandsShowNothing(t *testing.T) {
	for _, out := range []string{"\x1b]0;在 a title\x1b\\", "\x1b]2;在 title\a", "\x1bPq在 picture\x1b\\", "\x1b_G在\x1b\\", "\x1b]8;;http://在\x1b\\", "\x1b]11;#fff\a"} {
		all := played(t, head+"[0,\"o\","+quote("one "+out+"two")+"]\n")
		if got := all[0].Row(0); got != "one two" {
			t.Errorf("%q shows %q", out, got)
		}
	}
}

// BenchmarkCensor records frames of a screen at work while a key is to be hidden.
func BenchmarkCensor(b *testing.B) {
	path := b.TempDir() + "/a.cast"
	busy(b, path, 120, 36, 10*time.Second)
	in, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	r, err := NewCastReader(in)
	if err != nil {
		b.Fatal(err)
	}
	var frames []string
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		frames = append(frames, e.Data)
	}
	c := newCensor([]string{key}, 120, 36)
	for i := 0; b.Loop(); i++ {
		c.frame(frames[i%len(frames)])
	}
}
