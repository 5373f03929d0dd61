package record

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vitrine/ui/emulator"
)

// head is the header of a cast of ours, 20x4.
const head = `{"version":2,"width":20,"height":4}` + "\n"

// castFile writes a cast.
func castFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.cast")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// animation is a GIF as a player shows it.
type animation struct {
	config image.Config
	frames []*image.Paletted
	shown  []*image.RGBA   // after each frame
	at     []time.Duration // when each is shown
	total  time.Duration
}

func (a animation) last() *image.RGBA { return a.shown[len(a.shown)-1] }

func decode(t testing.TB, path string) (a animation) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := gif.DecodeAll(f)
	if err != nil {
		t.Fatal(err)
	}
	a.config, a.frames = g.Config, g.Image
	canvas := image.NewRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	for i, m := range g.Image {
		if g.Disposal[i] != gif.DisposalNone {
			t.Errorf("frame %d is disposed of by %d", i, g.Disposal[i])
		}
		draw.Draw(canvas, m.Bounds(), m, m.Bounds().Min, draw.Over)
		a.shown = append(a.shown, &image.RGBA{Pix: append([]uint8(nil), canvas.Pix...), Stride: canvas.Stride, Rect: canvas.Rect})
		a.at = append(a.at, a.total)
		a.total += time.Duration(g.Delay[i]) * tick
	}
	return a
}

// exported makes a GIF of a cast without the window, and with no hold at the end unless changed.
func exported(t testing.TB, cast string, change func(*Look)) animation {
	t.Helper()
	look := Look{NoFrame: true, Hold: -1}
	if change != nil {
		change(&look)
	}
	to := filepath.Join(t.TempDir(), "out.gif")
	if err := Export(t.Context(), castFile(t, cast), Files{GIF: to}, look); err != nil {
		t.Fatal(err)
	}
	return decode(t, to)
}

// drawn is a screen drawn at once, without a window, in w by h cells.
func drawn(t testing.TB, term *emulator.Terminal, w, h int) *image.RGBA {
	t.Helper()
	fonts, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	p := &painter{fonts: fonts, theme: Theme{}.filled(), w: w, h: h}
	all := &pairs{}
	grids := &gridder{theme: p.theme, w: w, h: h, drawn: all.cell}
	g := grids.look(term)
	colors := newPalette(all.list)
	s := newSurface(nil, image.Rect(0, 0, w*cellW, h*cellH), 0)
	m := image.NewRGBA(s.rect)
	for i := range g.cells {
		if g.cells[i].width > 0 {
			p.cell(&s, i%w, i/w, &g.cells[i], colors)
		}
	}
	for i, v := range s.pix {
		m.SetRGBA(i%(w*cellW), i/(w*cellW), colors.colors[v])
	}
	return m
}

// apart is how much two pictures differ at most, in steps of a colour; a large number when their sizes do.
func apart(a, b *image.RGBA) (most int, where image.Point) {
	if a.Rect != b.Rect {
		return 1 << 20, image.Point{}
	}
	for i := range a.Pix {
		d := int(a.Pix[i]) - int(b.Pix[i])
		if d = max(d, -d); d > most {
			most, where = d, image.Pt(i/4%a.Rect.Dx(), i/4/a.Rect.Dx())
		}
	}
	return most, where
}

// B184: sizes are recorded before what is drawn for them, the replay ends on the live screen, and the picture has room for the
// largest.
func TestResizesB184(t *testing.T) {
	live := emulator.New(80, 24, ansi.WcWidth)
	cast := recorded(t, nil, func(r *Recorder) {
		s := newStage(r, 80, 24)
		show := func(at float64, w, h int, content string) {
			r.Resize(after(at), w, h)
			live.Resize(w, h)
			s.paint.Resize(w, h)
			out := string(s.paint.Frame(tea.View{Content: content, Cursor: tea.NewCursor(0, 0)}))
			feed(live, out)
			r.Frame(after(at+0.01), out)
		}
		show(0, 80, 24, "eighty wide\nsecond row")
		show(2, 120, 40, strings.Repeat("wide ", 24)+strings.Repeat("\nrow", 39))
		show(4, 60, 20, strings.Repeat("x", 60)+"\n\x1b[44mnarrow\x1b[m 部署")
	})
	_, all := events(t, cast)
	var order []string
	for _, e := range all {
		order = append(order, string(e.Code)+" "+ansi.Strip(e.Data[:min(len(e.Data), 7)]))
	}
	if all[1].Code != Resize || all[1].Data != "120x40" || all[1].At != 2*time.Second || all[3].Code != Resize || all[3].Data != "60x20" || all[3].At != 4*time.Second || len(all) != 5 ||
		!strings.Contains(all[2].Data, "wide") || !strings.Contains(all[4].Data, "narrow") {
		t.Errorf("the events are %q", order)
	}
	end := played(t, cast)
	if diff := end[len(end)-1].Diff(live.Screen()); diff != "" {
		t.Error(diff)
	}
	a := exported(t, cast, nil)
	if a.config.Width != 120*cellW || a.config.Height != 40*cellH {
		t.Errorf("the picture is %dx%d", a.config.Width, a.config.Height)
	}
	if d, at := apart(a.last(), drawn(t, live, 120, 40)); d > 24 {
		t.Errorf("the last picture is another one at %v, by %d", at, d)
	}
}

// B185: pauses are capped as the header or the look says, times never decrease, and the times of a GIF add up.
func TestIdleB185(t *testing.T) {
	const body = `[0,"o","a"]
[0.5,"o","b"]
[30.5,"o","c"]
[30.4,"o","out of order"]
[30.5,"o","\r\nat the same time"]
[31,"o","end"]
`
	limited := strings.Replace(head, "}", `,"idle_time_limit":2}`, 1)
	for name, c := range map[string]struct {
		cast string
		look Look
		want time.Duration
	}{
		"header":      {limited + body, Look{}, 3 * time.Second},
		"look":        {head + body, Look{Idle: 2 * time.Second}, 3 * time.Second},
		"look over":   {limited + body, Look{Idle: time.Second}, 2 * time.Second},
		"none":        {head + body, Look{}, 31 * time.Second},
		"speed":       {limited + body, Look{Speed: 2}, 1500 * time.Millisecond},
		"slow":        {limited + body, Look{Speed: 0.5}, 6 * time.Second},
		"to the end":  {limited + body + "[33,\"o\",\"\"]\n", Look{}, 5 * time.Second},
		"long pause":  {head + "[0,\"o\",\"a\"]\n[2000,\"o\",\"b\"]\n", Look{}, 2000 * time.Second},
		"with a hold": {limited + body, Look{Hold: 700 * time.Millisecond}, 3700 * time.Millisecond},
	} {
		look := c.look
		look.NoFrame = true
		if look.Hold == 0 {
			look.Hold = -1
		}
		a := exported(t, c.cast, func(l *Look) { *l = look })
		if d := a.total - c.want; d < 0 || d > 40*time.Millisecond {
			t.Errorf("%s: it lasts %v, not %v", name, a.total, c.want)
		}
	}
	if a := exported(t, limited+body, func(l *Look) { l.Hold = 0 }); a.total != 5*time.Second {
		t.Errorf("with the hold that it has by itself it lasts %v", a.total)
	}
	// Many events: no rounding adds up.
	var b strings.Builder
	for i := range 1800 {
		fmt.Fprintf(&b, "[%.6f,\"o\",\"\\r%d\"]\n", float64(i)/30+0.000_7, i)
	}
	a := exported(t, head+b.String()+"[60,\"o\",\"\"]\n", nil)
	if d := a.total - time.Minute; d < 0 || d > leastDelay*tick { // the last picture is seen too
		t.Errorf("a minute lasts %v", a.total)
	}
	for i := 1; i < len(a.at); i++ {
		if gap := a.at[i] - a.at[i-1]; gap < leastDelay*tick {
			t.Fatalf("picture %d stays %v", i-1, gap)
		}
	}
	// The header of what we record has the limit.
	if h, _ := events(t, recorded(t, func(c *Config) { c.Idle = 2 * time.Second }, func(r *Recorder) { r.Frame(began, "x") })); h.Idle != 2 {
		t.Errorf("%+v", h)
	}
}

// B187: what stands in a box, the right edge is straight and every character as wide as its cells; what no font has is a frame, and
// one warning lists it.
func TestGlyphsB187(t *testing.T) {
	rows := []string{"日本語", "\U0001FAE8", "\U0001F1E9\U0001F1EA", "e\u0301", "\uE0B0", "\u0633\u0644\u0627\u0645", "ab"}
	fonts, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	fonts.draw(glyph{text: "a\u20E3", width: 1})
	if got := fonts.lacking(); got != "a\u20E3 (U+0061 U+20E3)" {
		t.Errorf("of a mark that is not drawn it says %q", got)
	}
	var b strings.Builder
	b.WriteString(ansi.SetModeUnicodeCore + "┌────────┐\r\n")
	for _, r := range rows {
		b.WriteString("│" + r + strings.Repeat(" ", 8-ansi.StringWidth(r)) + "│\r\n")
	}
	b.WriteString("└────────┘\x1b[?25l")
	var missing []string
	header := `{"version":2,"width":20,"height":10}` + "\n"
	a := exported(t, header+"[0,\"o\","+quote(b.String())+"]\n[1,\"o\","+quote("\x1b[12H\U0001FAE8")+"]\n", func(l *Look) {
		l.Missing = func(s string) { missing = append(missing, s) }
	})
	m, theme := a.shown[0], Theme{}.filled()
	for y := cellH / 2; y < (len(rows)+1)*cellH; y++ {
		for _, x := range []int{midX, 9*cellW + midX} { // the edges
			if got := m.RGBAAt(x, y); got != theme.Text {
				t.Fatalf("the edge at %d,%d is %v", x, y, got)
			}
		}
		for _, x := range []int{9*cellW + midX - 2, 9*cellW + midX + 2} {
			if got := m.RGBAAt(x, y); y > cellH && y < len(rows)*cellH && got != theme.Ground {
				t.Fatalf("beside the edge at %d,%d is %v", x, y, got)
			}
		}
	}
	ink := func(row, from, to int) (lo, hi int) { // the columns in which something is drawn
		lo, hi = -1, -1
		for x := from * cellW; x < to*cellW; x++ {
			for y := row * cellH; y < (row+1)*cellH; y++ {
				if m.RGBAAt(x, y) != theme.Ground {
					if lo < 0 {
						lo = x
					}
					hi = x
				}
			}
		}
		return lo, hi
	}
	for _, c := range []struct{ row, cells int }{{1, 6}, {2, 2}, {3, 2}, {4, 1}, {5, 1}, {6, 4}, {7, 2}} {
		lo, hi := ink(c.row, 1, 9)
		if lo < cellW || hi >= (1+c.cells)*cellW || hi < c.cells*cellW {
			t.Errorf("row %d reaches from %d to %d, it has %d cells", c.row, lo, hi, c.cells)
		}
	}
	for _, row := range []int{2, 3} { // two cells each
		if lo, hi := ink(row, 1, 9); lo != cellW+1 || hi != 3*cellW-2 {
			t.Errorf("the placeholder in row %d reaches from %d to %d", row, lo, hi)
		}
	}
	if ink := drawnText(t, "e\u0301"); ink == drawnText(t, "e") || ink != drawnText(t, "é") {
		t.Error("the accent is not drawn")
	}
	seen := map[string]string{}
	for _, text := range []string{"q", "q\u0301", "q\u0308", "x", "x\u0308", "\uE0B0", "✅", "❌", "⚠", "⚠\uFE0F", "★", "✓"} {
		ink := drawnText(t, text)
		if was, ok := seen[ink]; ok {
			t.Errorf("%q looks like %q", text, was)
		}
		seen[ink] = text
	}
	if len(missing) != 1 {
		t.Fatalf("%d warnings", len(missing))
	}
	for _, want := range []string{"\U0001FAE8 (U+1FAE8)", "(U+1F1E9 U+1F1EA)", "(U+E0B0)", "س (U+0633)"} {
		if strings.Count(missing[0], want) != 1 {
			t.Errorf("the warning %q lacks %q", missing[0], want)
		}
	}
	if strings.Contains(missing[0], "日") || strings.Contains(missing[0], "é") {
		t.Errorf("the warning is %q", missing[0])
	}
}

func quote(s string) string {
	var b strings.Builder
	c := CastWriter{w: &b}
	if err := c.line(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// drawnText is a picture of a text in 8x1 cells, as a hash.
func drawnText(t testing.TB, text string) string {
	t.Helper()
	term := emulator.New(8, 1, ansi.GraphemeWidth)
	term.Write("\x1b[?25l" + text)
	return fmt.Sprintf("%x", sha256.Sum256(drawn(t, term, 8, 1).Pix))
}

// gallery is a screen with what can be drawn.
const gallery = "\x1b[?2027h┌─┬╔═╦╗╭─╮┏┳┓ 日本語 \U0001F600 ⣏⣻⣿⣶⣤⣀ ▀▄█▌▐░▒▓▖▙▚▟ ❯▸▾✓✗⚑◦◉⋯\r\n" +
	"\x1b[1mbold 部署\x1b[m \x1b[3mitalic\x1b[m \x1b[4munder\x1b[m \x1b[21mtwo\x1b[m \x1b[9mout\x1b[m \x1b[7mreverse\x1b[m \x1b[2mdim\x1b[m\r\n" +
	"\x1b[31mred\x1b[92mgreen\x1b[44mon blue\x1b[m \x1b[38;5;208m256\x1b[48;5;17mcolours\x1b[m \x1b[38;2;255;100;0mtrue\x1b[48;2;0;60;90mcolour\x1b[m \x1b[8mhid\x1b[m ελληνικά\r\n"

// galleryHash is of the GIF of gallery: change it with what is drawn, after a look at the picture.
const galleryHash = "8862d45e3f3d709bb9207ff462c5535bd5462ec09329815a3c630997cdadb03e"

func makeGallery(t *testing.T, dir string) string {
	t.Helper()
	cast := filepath.Join(dir, "in.cast")
	body := `{"version":2,"width":60,"height":5}` + "\n[0,\"o\"," + quote(gallery) + "]\n[1,\"o\",\"end\"]\n"
	if err := os.WriteFile(cast, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "out.gif")
	if err := Export(t.Context(), cast, Files{GIF: to}, Look{}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, to))))
}

// B188: without fonts, home and network the same bytes come out, and they are those of every machine.
func TestEmbeddedFontsB188(t *testing.T) {
	const child = "RECORD_GALLERY"
	if dir := os.Getenv(child); dir != "" {
		makeGallery(t, dir)
		return
	}
	if got := makeGallery(t, t.TempDir()); got != galleryHash {
		t.Errorf("the gallery is %s", got)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEmbeddedFontsB188$")
	cmd.Env = []string{child + "=" + dir, "HOME=" + t.TempDir(), "PATH="}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, filepath.Join(dir, "out.gif"))))); got != galleryHash {
		t.Errorf("in an empty environment the gallery is %s", got)
	}
}

// full fails as a full disk does, after some bytes.
func full(room int) Disk {
	return func(w io.Writer) io.Writer { return &fullDisk{w, room} }
}

type fullDisk struct {
	w    io.Writer
	room int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	n, err := f.w.Write(p[:min(len(p), f.room)])
	f.room -= n
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: "a temporary name", Err: syscall.ENOSPC}
	}
	return n, err
}

// B190: whatever goes wrong, one line names the cause, nothing is left, and what was there is as it was.
func TestFailuresLeaveNothingB190(t *testing.T) {
	var long strings.Builder
	for i := range 1000 { // more than is read at once
		fmt.Fprintf(&long, "[%d,\"o\",\"%s\\u001b[2J\\u001b[H%d %s\"]\n", i, strings.Repeat("\\u001b[m", 50), i, strings.Repeat("ab中", i%20))
	}
	good := head + long.String()
	outputs := map[string]func(*Files, string){
		"gif":  func(f *Files, p string) { f.GIF = p },
		"svg":  func(f *Files, p string) { f.SVG = p },
		"text": func(f *Files, p string) { f.Text = p },
	}
	for kind, set := range outputs {
		for name, c := range map[string]struct {
			cast string
			to   string // in the folder
			look func(*Look, context.CancelFunc)
			want string
		}{
			"no folder":   {good, "none/out", nil, "none/out: no such file or directory"},
			"no file":     {good, ".", nil, "it is no file"},
			"empty":       {"", "out", nil, "in.cast: line 1: the cast is empty"},
			"header only": {head, "out", nil, "in.cast: line 1: nothing is shown in it"},
			"bad line":    {head + "[0,\"o\",\"a\"]\n[1,\"o\",\"b\"]\n[2,\"o\",\"c\"]\n{\n[3,\"o\",\"d\"]\n", "out", nil, "in.cast: line 5: this is no JSON array"},
			"width 0":     {`{"version":2,"width":0,"height":5}` + "\n", "out", nil, "in.cast: line 1: a terminal of 0x5 cells"},
			"full":        {good, "out", func(l *Look, _ context.CancelFunc) { l.Disk = full(30) }, "out: no space left on device"},
			"interrupted": {good, "out", func(l *Look, stop context.CancelFunc) {
				l.Progress = func(_ string, done float64) {
					if done > 0.5 {
						stop()
					}
					if done > 0.9 {
						t.Error("it goes on")
					}
				}
			}, "context canceled"},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				for _, before := range []string{"", "what was there"} {
					dir := t.TempDir()
					in := castFile(t, c.cast)
					to := filepath.Join(dir, c.to)
					if before != "" && c.to == "out" {
						if err := os.WriteFile(to, []byte(before), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					var files Files
					var look Look
					set(&files, to)
					if c.look != nil {
						c.look(&look, stop)
					}
					err := Export(ctx, in, files, look)
					if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
						t.Errorf("%v, not %s", err, c.want)
					}
					left, _ := os.ReadDir(dir)
					if before == "" && len(left) > 0 || before != "" && c.to == "out" && (len(left) != 1 || read(t, to) != before) {
						t.Errorf("it leaves %v", left)
					}
				}
			})
		}
	}
	if err := Export(t.Context(), filepath.Join(t.TempDir(), "none.cast"), Files{GIF: "x.gif"}, Look{}); err == nil || !strings.Contains(err.Error(), "none.cast: no such file") {
		t.Errorf("%v", err)
	}
}

// B190 for what is recorded: files that cannot be written are told before it begins, and one that fails takes none of the others.
func TestRecordingFailsWholeB190(t *testing.T) {
	dir := t.TempDir()
	if _, err := New(Config{Width: 20, Height: 4, Cast: filepath.Join(dir, "a.cast"), GIF: filepath.Join(dir, "none", "a.gif")}); err == nil || !strings.Contains(err.Error(), "none/a.gif: no such file") {
		t.Errorf("%v", err)
	}
	for name, c := range map[string]struct {
		room int
		stop bool
		want string
	}{"full": {room: 6000, want: "no space left"}, "interrupted": {room: 1 << 30, stop: true, want: "context canceled"}, "good": {room: 1 << 30}} {
		cast, picture := filepath.Join(dir, name+".cast"), filepath.Join(dir, name+".gif")
		cfg := Config{Width: 20, Height: 4, Cast: cast, GIF: picture}
		cfg.Disk = full(c.room)
		r, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			r.Frame(after(float64(i)), fmt.Sprintf("\x1b[H%d %s", i, strings.Repeat("ab中", i%20)))
		}
		ctx, stop := context.WithCancel(t.Context())
		if c.stop {
			stop()
		}
		err = r.Close(ctx)
		stop()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*"+name+"*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
		if want := 0; c.want == "" && len(left) != 2 || c.want != "" && len(left) != want || len(hidden) > 0 {
			t.Errorf("%s leaves %v %v", name, left, hidden)
		}
	}
	r, err := New(Config{Width: 20, Height: 4, SVG: filepath.Join(dir, "e.svg")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err == nil || err.Error() != "the recording: line 1: nothing is shown in it" {
		t.Errorf("of a recording of nothing it says %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r, err = New(Config{Width: 20, Height: 4, Cast: filepath.Join(dir, "c.cast")})
	if err != nil {
		t.Fatal(err)
	}
	r.Frame(began, "x")
	if err := r.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*c.cast*")); len(left) > 0 {
		t.Errorf("an interrupted recording leaves %v", left)
	}
	r, err = New(Config{Width: 20, Height: 4, GIF: filepath.Join(dir, "b.gif")})
	if err != nil {
		t.Fatal(err)
	}
	r.Frame(began, "x")
	r.Abort()
	if left, _ := filepath.Glob(filepath.Join(dir, "*b.gif*")); len(left) > 0 {
		t.Errorf("what was given up leaves %v", left)
	}
}

// What changes after pictures that looked like the one before is shown, however many these were.
func TestChangeAfterNoneIsShown(t *testing.T) {
	for n := range 7 {
		var b strings.Builder
		b.WriteString(head + "[0,\"o\",\"a\"]\n")
		for i := range n {
			fmt.Fprintf(&b, "[%d,\"o\",\"\\u001b[m\"]\n", i+1)
		}
		fmt.Fprintf(&b, "[%d,\"o\",\"b\"]\n[99,\"o\",\"\"]\n", n+1)
		if a := exported(t, b.String(), nil); len(a.shown) != 2 {
			t.Errorf("after %d pictures without a change there are %d", n, len(a.shown))
		}
	}
}

// Any frames: after each of them the animation shows what the screen drawn at once shows.
func TestChangesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const w, h = 24, 6
		term := emulator.New(w, h, ansi.GraphemeWidth)
		var b strings.Builder
		fmt.Fprintf(&b, `{"version":2,"width":%d,"height":%d}`+"\n", w, h)
		var want []*image.RGBA
		many := rapid.Bool().Draw(rt, "many colours")
		for i := range rapid.IntRange(1, 6).Draw(rt, "frames") {
			out := ""
			if i == 0 {
				out = ansi.SetModeUnicodeCore
			}
			for range rapid.IntRange(0, 5).Draw(rt, "writes") {
				style := fmt.Sprintf("\x1b[0;%d;%dm", rapid.SampledFrom([]int{1, 3, 4, 7, 9, 22}).Draw(rt, "style"), rapid.SampledFrom([]int{31, 36, 39, 44, 49}).Draw(rt, "colour"))
				if many {
					style += fmt.Sprintf("\x1b[38;2;%d;%d;99m", rapid.IntRange(0, 255).Draw(rt, "r"), rapid.IntRange(0, 255).Draw(rt, "g"))
				}
				out += fmt.Sprintf("\x1b[%d;%dH%s%s", rapid.IntRange(1, h).Draw(rt, "y"), rapid.IntRange(1, w).Draw(rt, "x"), style,
					rapid.SampledFrom([]string{"a", "text", "部署", "\U0001F600x", " ", "\x1b[K", "╔═╗⣿", "\x1b[2J", "\x1b[?25l", "\x1b[?25h"}).Draw(rt, "text"))
			}
			fmt.Fprintf(&b, "[%d,\"o\",%s]\n", i, quote(out))
			feed(term, out)
			want = append(want, drawn(rt2{t, rt}, term, w, h))
		}
		b.WriteString("[99,\"o\",\"\"]\n")
		a := exported(t, b.String(), nil)
		for i, m := range want {
			at := time.Duration(i)*time.Second + 500*time.Millisecond
			k := len(a.at) - 1
			for a.at[k] > at {
				k--
			}
			if d, where := apart(a.shown[k], m); d > 0 && !many || d > 60 {
				rt.Fatalf("after frame %d the picture differs at %v by %d", i, where, d)
			}
		}
	})
}

// rt2 fails a property in the place of its test.
type rt2 struct {
	testing.TB
	rt *rapid.T
}

func (t rt2) Fatal(args ...any) { t.rt.Fatal(args...) }

// More colours than one picture has: each has its own, and at worst those that are nearest.
func TestManyColours(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm\x1b[48;2;%d;0;%dmx", i, 255-i, i, i, 200-i)
	}
	cast := `{"version":2,"width":50,"height":4}` + "\n[0,\"o\"," + quote(b.String()) + "]\n[1,\"o\",\"\\u001b[H\\u001b[m\\u001b[2J\\u001b[38;2;1;200;3mfew\"]\n"
	a := exported(t, cast, nil)
	if got := a.shown[0].RGBAAt(1, 17); !near(got, color.RGBA{0, 0, 200, 255}, 40) {
		t.Errorf("the first ground is %v", got)
	}
	if !contains(a.last(), color.RGBA{1, 200, 3, 255}) {
		t.Error("a picture of few colours has others")
	}
}

func near(a, b color.RGBA, by int) bool {
	for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
		if max(d, -d) > by {
			return false
		}
	}
	return true
}

func contains(m *image.RGBA, c color.RGBA) bool {
	for i := 0; i < len(m.Pix); i += 4 {
		if m.Pix[i] == c.R && m.Pix[i+1] == c.G && m.Pix[i+2] == c.B {
			return true
		}
	}
	return false
}

// Only what changed is in a picture, and a clock at the top and one at the bottom are two.
func TestOnlyWhatChangedIsWritten(t *testing.T) {
	a := exported(t, `{"version":2,"width":40,"height":20}`+"\n"+`[0,"o","\u001b[?25lone\u001b[20Hend"]
[1,"o","\u001b[5;10Hx"]
[2,"o","\u001b[1;1HO\u001b[20;3HD"]
[3,"o","\u001b[5;10Hx"]
[4,"o","\u001b[5;9H部"]
`, nil)
	want := []image.Rectangle{image.Rect(0, 0, 40, 20), image.Rect(9, 4, 10, 5), image.Rect(0, 0, 1, 1), image.Rect(2, 19, 3, 20), image.Rect(8, 4, 10, 5)}
	for i, r := range want {
		r = image.Rect(r.Min.X*cellW, r.Min.Y*cellH, r.Max.X*cellW, r.Max.Y*cellH)
		if i >= len(a.frames) || a.frames[i].Bounds() != r {
			t.Errorf("picture %d of %d is not %v", i, len(a.frames), r)
		}
	}
	if a.at[3]-a.at[2] != 20*time.Millisecond || a.at[4] != 4*time.Second {
		t.Errorf("they are shown at %v", a.at)
	}
}

func TestFailsAtTheEnd(t *testing.T) {
	broken := errors.New("gone")
	_, err := NewCastWriter(writerFunc(func([]byte) (int, error) { return 0, broken }), Header{Width: 1, Height: 1})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The same cast gives the same bytes, whatever else the processors do; and a busy screen is no large file.
func TestSameBytes(t *testing.T) {
	dir := t.TempDir()
	cast := filepath.Join(dir, "a.cast")
	busy(t, cast, 100, 30, 4*time.Second)
	var first [3]string
	for i, n := range []int{1, 2, 8} {
		before := runtime.GOMAXPROCS(n)
		files := Files{GIF: filepath.Join(dir, "a.gif"), SVG: filepath.Join(dir, "a.svg"), Text: filepath.Join(dir, "a.txt")}
		err := Export(t.Context(), cast, files, Look{})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		now := [3]string{read(t, files.GIF), read(t, files.SVG), read(t, files.Text)}
		if i == 0 {
			first = now
		}
		if now != first {
			t.Errorf("with %d processors other bytes come out", n)
		}
	}
	if n := len(first[0]); n > 115_000 {
		t.Errorf("four seconds are a GIF of %d bytes", n)
	}
}
