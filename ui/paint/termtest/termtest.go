// Package termtest plays terminals for tests: a modern one, and an old one of the kind of the VT220, which knows little, and may
// show what it does not know. Either counts wide clusters as a whole or code point by code point. They keep count of every mode
// that is set, so that a test can say what a program left behind.
package termtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
)

// Config is what a terminal is like.
type Config struct {
	W, H int
	// Old is a VT220: no second screen, no title, no mouse, no queries, no absolute columns; sequences beyond its own are left out.
	Old bool
	// Shows makes an old terminal show the rest of what it does not know, as some do.
	Shows bool
	// Wc counts code point by code point, else by cluster.
	Wc bool
	// Widths are characters that it counts otherwise than others do.
	Widths map[rune]int
}

// Terminal is a terminal. It is safe for concurrent use.
type Terminal struct {
	mu       sync.Mutex
	cfg      Config
	parser   *ansi.Parser
	screens  [2]*screen // the first one, and the other one
	on       int
	cluster  []rune // not drawn yet: more may belong to it
	str      []byte // an OSC that has not ended
	pen      uv.Style
	link     uv.Link
	modes    map[int]bool // private modes that are set
	kitty    []int        // keyboard flags, pushed
	other    int          // modifyOtherKeys
	shape    int          // of the cursor
	title    string
	titles   []string
	unknown  []string
	queries  []string
	answers  []byte
	clipped  []string // what was put on the clipboard, encoded
	notified []string
}

// screen is one of the two screens.
type screen struct {
	buf         *uv.Buffer
	x, y        int
	top, bottom int // of the part that scrolls
	saved       [2]int
	wrapping    bool // the last cell was written: the next character wraps
	scrolled    int  // rows that left at the top
}

// usual are the private modes of a terminal that was just switched on.
func usual() map[int]bool { return map[int]bool{7: true, 25: true} }

// New makes a terminal.
func New(cfg Config) *Terminal {
	t := &Terminal{cfg: cfg, parser: ansi.NewParser(), modes: usual(), title: "before"}
	for i := range t.screens {
		t.screens[i] = &screen{buf: uv.NewBuffer(cfg.W, cfg.H), bottom: cfg.H - 1}
	}
	t.parser.SetHandler(ansi.Handler{
		Print: t.print, Execute: t.control, HandleCsi: t.csi, HandleEsc: t.esc,
		HandleDcs: func(cmd ansi.Cmd, _ ansi.Params, data []byte) { t.text("DCS", string(rune(cmd.Final()))+string(data)) },
		HandleApc: func(data []byte) { t.text("APC", string(data)) },
		HandlePm:  func(data []byte) { t.text("PM", string(data)) },
		HandleSos: func(data []byte) { t.text("SOS", string(data)) },
	})
	return t
}

// Write takes what a program writes. It takes all of it.
func (t *Terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range b {
		t.take(c)
	}
	t.flush()
	return len(b), nil
}

// take takes a byte. A string is read here: the parser takes a byte of a Chinese character in it for the string's end.
func (t *Terminal) take(c byte) {
	switch {
	case t.str != nil:
		if t.str = append(t.str, c); c == 0x07 || bytes.HasSuffix(t.str, []byte("\x1b\\")) {
			data := bytes.TrimRight(bytes.TrimSuffix(t.str, []byte("\x1b\\")), "\a")
			cmd, _, _ := bytes.Cut(data, []byte(";"))
			n, _ := strconv.Atoi(string(cmd)) // 0 when it is none
			t.str = nil
			t.osc(n, data)
		}
	case c == ']' && t.parser.State() == parser.EscapeState:
		t.parser.Reset()
		t.flush()
		t.str = []byte{}
	default:
		t.parser.Advance(c)
	}
}

// Resize gives it another size.
func (t *Terminal) Resize(w, h int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cfg.W, t.cfg.H = w, h
	for _, s := range t.screens {
		s.buf.Resize(w, h)
		s.top, s.bottom = 0, h-1
		s.x, s.y = min(s.x, w-1), min(s.y, h-1)
	}
}

// CellAt is a cell of the screen that is shown.
func (t *Terminal) CellAt(x, y int) *uv.Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now().buf.CellAt(x, y)
}

// Cursor is where the next character goes, and whether that is shown.
func (t *Terminal) Cursor() (x, y int, shown bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now().x, t.now().y, t.modes[25]
}

// Rows are the rows that are shown, without blanks at their ends.
func (t *Terminal) Rows() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([]string, t.cfg.H)
	for y := range rows {
		rows[y] = strings.TrimRight(t.now().buf.Line(y).String(), " ")
	}
	return rows
}

// Screen is the rows as one text.
func (t *Terminal) Screen() string { return strings.Join(t.Rows(), "\n") }

// Scrolled is how many rows left the first screen at its top.
func (t *Terminal) Scrolled() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screens[0].scrolled
}

// Answers takes what the terminal has to say to what it was asked.
func (t *Terminal) Answers() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.answers
	t.answers = nil
	return a
}

// Queries are the questions that it was asked.
func (t *Terminal) Queries() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.queries)
}

// Unknown are the sequences that it does not know.
func (t *Terminal) Unknown() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.unknown)
}

// Left says what is not as it was when the terminal was switched on; nothing is what a program should leave.
func (t *Terminal) Left() (left []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	note := func(format string, args ...any) { left = append(left, fmt.Sprintf(format, args...)) }
	for _, mode := range slices.Sorted(maps.Keys(t.modes)) {
		if t.modes[mode] != usual()[mode] {
			note("mode %d is %v", mode, t.modes[mode])
		}
	}
	s := t.now()
	if t.on != 0 {
		note("the other screen is shown")
	}
	if s.top != 0 || s.bottom != t.cfg.H-1 {
		note("rows %d to %d scroll", s.top, s.bottom)
	}
	if len(t.kitty) > 0 || t.other != 0 {
		note("keyboard flags %v, modifyOtherKeys %d", t.kitty, t.other)
	}
	if t.shape != 0 {
		note("the cursor's shape is %d", t.shape)
	}
	if !t.pen.IsZero() || t.link.URL != "" {
		note("text is written as %q with link %q", t.pen.String(), t.link.URL)
	}
	if t.title != "before" || len(t.titles) > 0 {
		note("the title is %q, with %d kept", t.title, len(t.titles))
	}
	return left
}

func (t *Terminal) now() *screen { return t.screens[t.on] }

func (t *Terminal) print(r rune) {
	t.cluster = append(t.cluster, r)
	if len(t.cluster) > 1 && r < 0x80 { // begins a cluster in any case
		t.cluster = t.cluster[:len(t.cluster)-1]
		t.flush()
		t.cluster = append(t.cluster, r)
	}
}

// flush draws the characters that were held back.
func (t *Terminal) flush() {
	text := string(t.cluster)
	t.cluster = t.cluster[:0]
	for text != "" {
		c, w := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		text = text[len(c):]
		if !t.cfg.Wc {
			t.put(c, t.width([]rune(c)[0], w))
			continue
		}
		for _, r := range c {
			t.put(string(r), t.width(r, ansi.StringWidthWc(string(r))))
		}
	}
}

func (t *Terminal) width(r rune, usual int) int {
	if w, other := t.cfg.Widths[r]; other {
		return w
	}
	return usual
}

// put draws one character of w cells; one without any joins the one before it.
func (t *Terminal) put(c string, w int) {
	s := t.now()
	if w == 0 {
		if x := s.x - 1; s.wrapping || x >= 0 {
			if s.wrapping {
				x = s.x
			}
			for x > 0 && s.buf.CellAt(x, s.y).Width == 0 {
				x--
			}
			before := *s.buf.CellAt(x, s.y)
			before.Content += c
			s.buf.SetCell(x, s.y, &before)
		}
		return
	}
	if s.wrapping && t.modes[7] {
		s.x = 0
		t.index()
	}
	s.wrapping = false
	if s.x+w > t.cfg.W {
		if !t.modes[7] {
			s.x = t.cfg.W - w
		} else {
			s.x = 0
			t.index()
		}
	}
	s.buf.SetCell(s.x, s.y, &uv.Cell{Content: c, Width: w, Style: t.pen, Link: t.link})
	s.x += w
	if s.x >= t.cfg.W {
		s.x, s.wrapping = t.cfg.W-1, true
	}
}

// index goes a row down; at the bottom the rows scroll.
func (t *Terminal) index() {
	s := t.now()
	switch {
	case s.y == s.bottom:
		s.buf.DeleteLine(s.top, 1, nil)
		if s.bottom < t.cfg.H-1 {
			s.buf.InsertLine(s.bottom, 1, nil)
		}
		s.scrolled++
	case s.y < t.cfg.H-1:
		s.y++
	}
}

func (t *Terminal) control(b byte) {
	t.flush()
	s := t.now()
	s.wrapping = s.wrapping && b != '\r' && b != '\b'
	switch b {
	case '\r':
		s.x = 0
	case '\n', 0x0b, 0x0c:
		t.index()
	case '\b':
		s.x = max(s.x-1, 0)
	case '\t':
		s.x = min((s.x/8+1)*8, t.cfg.W-1)
	}
}

// text is a string sequence, which an old terminal does not know.
func (t *Terminal) text(kind, data string) {
	t.flush()
	t.odd(kind+" "+data, data)
}

// odd notes a sequence that is not known, and shows its rest on a terminal that does.
func (t *Terminal) odd(seq, rest string) {
	t.unknown = append(t.unknown, strconv.QuoteToASCII(seq))
	if t.cfg.Old && t.cfg.Shows {
		for _, r := range rest {
			if r >= ' ' {
				t.put(string(r), 1)
			}
		}
	}
}

func (t *Terminal) osc(cmd int, data []byte) {
	t.flush()
	if t.cfg.Old {
		t.text("OSC", string(data))
		return
	}
	_, rest, _ := strings.Cut(string(data), ";")
	switch cmd {
	case 0, 2:
		t.title = rest
	case 8:
		_, url, _ := strings.Cut(rest, ";")
		t.link = uv.Link{URL: url}
	case 9, 777:
		t.notified = append(t.notified, rest)
	case 11:
		t.queries = append(t.queries, "OSC 11")
		t.answers = append(t.answers, "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"...)
	case 52:
		t.clipped = append(t.clipped, rest)
	default:
		t.odd("OSC "+string(data), "")
	}
}

func (t *Terminal) esc(cmd ansi.Cmd) {
	t.flush()
	s := t.now()
	switch {
	case cmd.Intermediate() != 0: // character sets
	case cmd.Final() == '7':
		s.saved = [2]int{s.x, s.y}
	case cmd.Final() == '8':
		s.x, s.y = s.saved[0], s.saved[1]
	case cmd.Final() == 'D':
		t.index()
	case cmd.Final() == 'E':
		s.x = 0
		t.index()
	case cmd.Final() == '\\', cmd.Final() == '=', cmd.Final() == '>':
	default:
		t.odd("ESC "+string(rune(cmd.Final())), "")
	}
}
