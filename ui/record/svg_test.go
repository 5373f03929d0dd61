package record

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"pgregory.net/rapid"

	"vitrine/ui/emulator"
)

// strip is what an SVG shows in a row, from when on.
type strip struct {
	at   []float64 // percent
	rows []string  // the ids of definitions, "" for nothing
}

// picture is an SVG as a browser reads it.
type picture struct {
	length time.Duration
	defs   map[string]string // by id: its letters at their columns
	strips map[int]strip     // by the row of the screen
}

var keyframe = regexp.MustCompile(`([\d.]+)%\{transform:translateY\((-?\d+)px\)\}`)

// parseSVG reads what writeSVG wrote, without a window, w columns wide.
func parseSVG(t testing.TB, path string, w int) picture {
	t.Helper()
	p := picture{defs: map[string]string{}, strips: map[int]strip{}}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data := string(b)
	moves := map[string][]float64{} // by class: percent of each step
	for _, line := range strings.Split(data, "\n") {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "@keyframes "), "{"); ok && strings.HasPrefix(line, "@keyframes ") {
			for i, m := range keyframe.FindAllStringSubmatch(rest, -1) {
				at, _ := strconv.ParseFloat(m[1], 64)
				if y, _ := strconv.Atoi(m[2]); y != -i*cellH {
					t.Fatalf("step %d of %s moves by %d", i, name, y)
				}
				moves[name] = append(moves[name], at)
			}
		}
		if _, rest, ok := strings.Cut(line, "{animation:"); ok {
			s, _ := strconv.ParseFloat(strings.TrimSuffix(strings.Fields(rest)[1], "s"), 64)
			p.length = time.Duration(s * float64(time.Second))
		}
	}
	d := xml.NewDecoder(strings.NewReader(data))
	var def, class string
	row, depth := -1, 0
	var text *xml.StartElement
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			switch id := attr(tok, "id"); {
			case tok.Name.Local == "svg":
				if depth++; depth == 2 {
					y, _ := strconv.Atoi(attr(tok, "y"))
					row, class = y/cellH, ""
				}
			case tok.Name.Local == "g" && id != "":
				def = id
				p.defs[def] = strings.Repeat(" ", w)
			case tok.Name.Local == "g" && row >= 0 && def == "":
				class = attr(tok, "class")
				s := strip{at: []float64{0}, rows: []string{""}}
				if class != "" {
					s = strip{at: moves[class], rows: make([]string, len(moves[class]))}
				}
				p.strips[row] = s
			case tok.Name.Local == "use" && row >= 0:
				y, _ := strconv.Atoi(attr(tok, "y"))
				p.strips[row].rows[y/cellH] = strings.TrimPrefix(attr(tok, "href"), "#")
			case tok.Name.Local == "text":
				text = &tok
			}
		case xml.EndElement:
			switch tok.Name.Local {
			case "svg":
				depth--
				row = -1
			case "g":
				if strings.HasPrefix(def, "r") && row < 0 {
					def = ""
				}
			case "text":
				text = nil
			}
		case xml.CharData:
			if text != nil {
				x, _ := strconv.Atoi(attr(*text, "x"))
				n, _ := strconv.Atoi(attr(*text, "textLength"))
				cells := []rune(p.defs[def])
				if got := ansi.StringWidth(string(tok)); got*cellW != n {
					t.Fatalf("%q is %d wide and has %d cells", tok, n, got)
				}
				for i, r := range []rune(string(tok)) {
					cells[x/cellW+i*(n/cellW)/len([]rune(string(tok)))] = r
				}
				p.defs[def] = string(cells)
			}
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// row is the letters that a row shows at a time.
func (p picture) row(y int, at time.Duration, w int) string {
	s, ok := p.strips[y]
	if !ok {
		return strings.Repeat(" ", w)
	}
	k := 0
	for k+1 < len(s.at) && s.at[k+1] <= 100*at.Seconds()/p.length.Seconds() {
		k++
	}
	if s.rows[k] == "" {
		return strings.Repeat(" ", w)
	}
	return p.defs[s.rows[k]]
}

// Any frames: the SVG is whole XML, each text stands in its columns, and at each moment every row shows the letters of the screen.
func TestSVGShowsEveryScreen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const w, h = 24, 5
		term := emulator.New(w, h, ansi.GraphemeWidth)
		var b strings.Builder
		fmt.Fprintf(&b, `{"version":2,"width":%d,"height":%d}`+"\n", w, h)
		var want []string
		n := rapid.IntRange(1, 6).Draw(rt, "frames")
		for i := range n {
			out := ansi.SetModeUnicodeCore
			for range rapid.IntRange(0, 4).Draw(rt, "writes") {
				out += fmt.Sprintf("\x1b[%d;%dH\x1b[0;%dm%s", rapid.IntRange(1, h).Draw(rt, "y"), rapid.IntRange(1, w).Draw(rt, "x"),
					rapid.SampledFrom([]int{0, 1, 4, 31, 36, 44}).Draw(rt, "style"), rapid.SampledFrom([]string{"a", "two words", "<&>\"'", "部署 了", "x  y", "\x1b[K", "\x1b[2J"}).Draw(rt, "text"))
			}
			fmt.Fprintf(&b, "[%d,\"o\",%s]\n", i, quote(out))
			feed(term, out)
			var rows []string
			s := term.Screen()
			for y := range h {
				var row strings.Builder
				for x := range w {
					c := s.Cell(x, y)
					if c == "" {
						c = " "
					}
					row.WriteString(c)
				}
				rows = append(rows, row.String())
			}
			want = append(want, strings.Join(rows, "\n"))
		}
		to := filepath.Join(t.TempDir(), "out.svg")
		if err := Export(t.Context(), castFile(t, b.String()), Files{SVG: to}, Look{NoFrame: true}); err != nil {
			rt.Fatal(err)
		}
		p := parseSVG(t, to, w)
		if total := time.Duration(n-1)*time.Second + 2*time.Second; p.length != 0 && p.length != total {
			rt.Fatalf("it lasts %v, not %v", p.length, total)
		}
		for i, text := range want {
			for y, row := range strings.Split(text, "\n") {
				if got := p.row(y, time.Duration(i)*time.Second+500*time.Millisecond, w); got != row {
					rt.Fatalf("row %d of screen %d shows\n%q, not\n%q", y, i, got, row)
				}
			}
		}
	})
}

// Rows that look the same are in the file once, wherever and whenever they are shown.
func TestSVGSharesRows(t *testing.T) {
	to := filepath.Join(t.TempDir(), "out.svg")
	var b strings.Builder
	b.WriteString(head)
	for i := range 20 {
		fmt.Fprintf(&b, "[%d,\"o\",%s]\n", i, quote(fmt.Sprintf("\x1b[?25l\x1b[2J\x1b[%dHshared row \x1b[31m⣿⣿\x1b[m", i%4+1)))
	}
	if err := Export(t.Context(), castFile(t, b.String()), Files{SVG: to}, Look{}); err != nil {
		t.Fatal(err)
	}
	got := read(t, to)
	for _, c := range []struct {
		text string
		n    int
	}{{"shared row", 1}, {`<path id="c`, 1}, {`<g id="r`, 1}, {`href="#r1"`, 20}, {"<circle", 3}, {"@font-face", 1}} {
		if n := strings.Count(got, c.text); n != c.n {
			t.Errorf("%q stands there %d times, not %d", c.text, n, c.n)
		}
	}
}

// What XML cannot hold is replaced, and what a browser may draw otherwise stands alone.
func TestSVGIsSafe(t *testing.T) {
	to := filepath.Join(t.TempDir(), "out.svg")
	body := quote(ansi.SetModeUnicodeCore + "a\uFFFEb </text>\U0001FAE8x ]]>")
	if err := Export(t.Context(), castFile(t, head+"[0,\"o\","+body+"]\n"), Files{SVG: to}, Look{}); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal([]byte(read(t, to)), new(struct{})); err != nil {
		t.Error(err)
	}
	if got := read(t, to); strings.ContainsRune(got, 0xfffe) || !strings.Contains(got, `<use href="#p2" x="90"/>`) || !strings.Contains(got, "&lt;/text&gt;</text>") {
		t.Error(got)
	}
}

// An emoji is drawn, not written: a browser would take a font of the viewer's for it. So is a Korean syllable, in each weight once.
func TestSVGDrawsEmojiB188(t *testing.T) {
	to := filepath.Join(t.TempDir(), "out.svg")
	body := quote(ansi.SetModeUnicodeCore + "a\U0001F389b\U0001F389\U0001F44D\U0001F3FD한한\x1b[1m한")
	if err := Export(t.Context(), castFile(t, head+"[0,\"o\","+body+"]\n"), Files{SVG: to}, Look{Missing: func(s string) { t.Error(s) }}); err != nil {
		t.Fatal(err)
	}
	got := read(t, to)
	if strings.ContainsAny(got, "\U0001F389\U0001F44D한") || !strings.Contains(got, ">a</text>") {
		t.Error("a letter is written that is to be drawn")
	}
	for what, want := range map[string]int{`<path id="k`: 2, `<path id="c`: 1, `<path id="b`: 1, `<use href="#k`: 3, `<use href="#c`: 2, `<use href="#b`: 1} {
		if n := strings.Count(got, what); n != want {
			t.Errorf("%d times %s, not %d", n, what, want)
		}
	}
}

// B187, B188: the SVG brings its letters along: the fonts in it draw what the GIF shows, as wide as the cells, and it names no font of the
// viewer's but for a viewer that takes none; what no font has is a frame over its cells, and letters with marks are drawn.
func TestSVGBringsItsFontsB187(t *testing.T) {
	to := filepath.Join(t.TempDir(), "out.svg")
	const text = "gé部\U0001FAE8\u0915x\u0323 \x1b[1mg部\x1b[m\x1b[3mg部\x1b[m\x1b[1;3mg\x1b[m ｱ"
	missing := 0
	gif := filepath.Join(t.TempDir(), "out.gif")
	if err := Export(t.Context(), castFile(t, head+"[0,\"o\","+quote(ansi.SetModeUnicodeCore+text)+"]\n"), Files{SVG: to, GIF: gif}, Look{NoFrame: true, Missing: func(string) { missing++ }}); err != nil {
		t.Fatal(err)
	}
	got := read(t, to)
	if missing != 1 {
		t.Errorf("what is missing is told %d times", missing)
	}
	for _, want := range []string{`<use href="#p2" x="36"/>`, `<use href="#p1" x="54"/>`, `<path id="k`, "text{font:15px v,monospace;", ">gé</text>"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(got, "http") && strings.Count(got, "http") != 1 || strings.Contains(got, "url(") && strings.Count(got, "url(") != strings.Count(got, "url(data:font/ttf;base64,") {
		t.Error("it asks for something else")
	}
	faces := regexp.MustCompile(`@font-face\{font-family:v;([^}]*)src:url\(data:font/ttf;base64,([^)]*)\)\}`).FindAllStringSubmatch(got, -1)
	if len(faces) != 4 {
		t.Fatalf("%d fonts", len(faces))
	}
	fonts, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	for i, has := range []string{"gé部ｱ", "g部", "g部", "g"} {
		data, err := base64.StdEncoding.DecodeString(faces[i][2])
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := opentype.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		made, err := newFace(parsed, monoSize)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range has {
			g := glyph{text: string(r), width: int8(ansi.StringWidth(string(r))), bold: i%2 == 1, italic: i > 1}
			w := int(g.width) * cellW
			if advance, ok := made.face.GlyphAdvance(r); !ok || advance != fixed.I(w) {
				t.Errorf("%q advances by %v, not by %d", r, advance, w)
			}
			cell := image.NewAlpha(image.Rect(0, 0, w, cellH))
			(&font.Drawer{Dst: cell, Src: image.Opaque, Face: made.face, Dot: fixed.P(0, baseline)}).DrawString(string(r))
			ink, most := 0, 48
			if g.bold && r == '部' { // its bold look is made: of the pixels there, of the outline here
				most = 128
			}
			for at, v := range fonts.draw(g) {
				ink += int(v)
				if d := int(v) - int(cell.Pix[at]); max(d, -d) > most {
					t.Errorf("%q, font %d: pixel %d is %d, and %d in the GIF", r, i, at, cell.Pix[at], v)
					break
				}
			}
			if ink == 0 {
				t.Errorf("%q is not drawn", r)
			}
		}
	}
}

// The text file has the screen of each mark and of the end; a screen that is as it was is not written again.
func TestTextHasTheMarks(t *testing.T) {
	dir := t.TempDir()
	r, err := New(Config{Width: 40, Height: 2, Start: began, Text: filepath.Join(dir, "a.txt")})
	if err != nil {
		t.Fatal(err)
	}
	r.Frame(began, "\x1b[?2027hhello 部署")
	r.Mark(after(61.5), "the text \"hello\"")
	r.Mark(after(61.6), "again")
	r.Frame(after(62), "\r\nmore")
	r.Mark(after(62), "more")
	r.Frame(after(63), "\x1b[2J")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `--- 1:01.500 the text "hello" ----------
hello 部署

--- 1:01.600 again ---------------------

--- 1:02.000 more ----------------------
hello 部署
more

--- 1:03.000 end -----------------------


`
	if got := read(t, filepath.Join(dir, "a.txt")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A program that leaves its screen wipes it: its last picture stays when nothing comes after that.
func TestLastPictureStays(t *testing.T) {
	leave := quote("\x1b[m\x1b[2J\x1b[?1049l")
	cast := head + "[0,\"o\",\"\\u001b[?1049hthe end\"]\n[1,\"o\"," + leave + "]\n"
	for more, want := range map[string]string{"": "the end\n\n\n\n", "[2,\"o\",\"\"]\n": "the end\n\n\n\n", "[2,\"o\",\"$ \"]\n[3,\"o\",\"ls\"]\n": "$ ls\n\n\n\n"} {
		to := filepath.Join(t.TempDir(), "out.txt")
		if err := Export(t.Context(), castFile(t, cast+more), Files{Text: to}, Look{}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, to); !strings.HasSuffix(got, "---\n"+want) {
			t.Errorf("after %q the end is %q", more, got)
		}
	}
}
