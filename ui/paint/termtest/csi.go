package termtest

import (
	"fmt"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// csi takes a control sequence.
func (t *Terminal) csi(cmd ansi.Cmd, params ansi.Params) {
	t.flush()
	switch {
	case cmd.Prefix() == '?' && cmd.Intermediate() == 0 && (cmd.Final() == 'h' || cmd.Final() == 'l'):
		t.privateModes(cmd, params)
	case t.cfg.Old && (cmd.Prefix() == '>' || cmd.Prefix() == '<' || cmd.Prefix() == '=' || cmd.Intermediate() != 0):
		t.odd(written(cmd, params), strings.TrimLeft(written(cmd, params), "\x1b["))
	case cmd.Prefix() != 0 || cmd.Intermediate() != 0:
		t.modern(cmd, params)
	case t.move(cmd.Final(), params), t.erase(cmd.Final(), params):
	case cmd.Final() == 'm':
		uv.ReadStyle(params, &t.pen)
	case cmd.Final() == 'r':
		t.margins(params)
	case cmd.Final() == 'n':
		t.queries = append(t.queries, "DSR")
	case cmd.Final() == 'c':
		t.queries = append(t.queries, "DA")
		t.answers = append(t.answers, "\x1b[?62;22c"...)
	case cmd.Final() == 't' && !t.cfg.Old:
		t.window(params)
	default:
		t.odd(written(cmd, params), strings.TrimLeft(written(cmd, params), "\x1b["))
	}
}

// written is a sequence as it came.
func written(cmd ansi.Cmd, params ansi.Params) string {
	var b strings.Builder
	b.WriteString("\x1b[")
	if p := cmd.Prefix(); p != 0 {
		b.WriteByte(p)
	}
	for i := range params {
		if i > 0 {
			b.WriteByte(';')
		}
		fmt.Fprint(&b, arg(params, i, 0))
	}
	if p := cmd.Intermediate(); p != 0 {
		b.WriteByte(p)
	}
	b.WriteByte(cmd.Final())
	return b.String()
}

// arg is a parameter, or what stands for one that is not given.
func arg(params ansi.Params, i, def int) int {
	n, _, ok := params.Param(i, def)
	if !ok {
		return def
	}
	return n
}

// count is a parameter that is at least 1.
func count(params ansi.Params) int { return max(arg(params, 0, 1), 1) }

// privateModes are set and taken back. A VT220 knows few, and leaves the others out.
func (t *Terminal) privateModes(cmd ansi.Cmd, params ansi.Params) {
	set := cmd.Final() == 'h'
	for i := range params {
		mode := arg(params, i, 0)
		if t.cfg.Old && mode > 25 {
			t.odd(written(cmd, params), "")
			continue
		}
		t.modes[mode] = set
		if mode == 1049 || mode == 1047 || mode == 47 {
			t.other1049(set)
		}
	}
}

// other1049 goes to the other screen, which is empty then, and back.
func (t *Terminal) other1049(set bool) {
	s := t.screens[0]
	if set {
		s.saved = [2]int{s.x, s.y}
		t.on = 1
		t.screens[1].buf.Clear()
		t.screens[1].x, t.screens[1].y = s.x, s.y
		return
	}
	t.on = 0
	s.x, s.y, s.wrapping = s.saved[0], s.saved[1], false
}

// modern sequences have a prefix or an intermediate.
func (t *Terminal) modern(cmd ansi.Cmd, params ansi.Params) {
	switch p, i, f := cmd.Prefix(), cmd.Intermediate(), cmd.Final(); {
	case p == '>' && f == 'u':
		t.kitty = append(t.kitty, arg(params, 0, 0))
	case p == '<' && f == 'u':
		t.kitty = t.kitty[:max(len(t.kitty)-count(params), 0)]
	case p == '=' && f == 'u' && len(t.kitty) > 0:
		t.kitty[len(t.kitty)-1] = arg(params, 0, 0)
	case p == '?' && f == 'u':
		t.queries = append(t.queries, "kitty")
	case p == '>' && f == 'm':
		t.other = arg(params, 1, 0)
	case i == ' ' && f == 'q':
		t.shape = arg(params, 0, 0)
	case p == '?' && i == '$' && f == 'p':
		mode := arg(params, 0, 0)
		t.queries = append(t.queries, fmt.Sprintf("mode %d", mode))
		state := 2
		if t.modes[mode] {
			state = 1
		}
		t.answers = fmt.Appendf(t.answers, "\x1b[?%d;%d$y", mode, state)
	default:
		t.odd(written(cmd, params), "")
	}
}

// window keeps the title, and brings it back.
func (t *Terminal) window(params ansi.Params) {
	switch arg(params, 0, 0) {
	case 22:
		t.titles = append(t.titles, t.title)
	case 23:
		if n := len(t.titles); n > 0 {
			t.title, t.titles = t.titles[n-1], t.titles[:n-1]
		}
	}
}

func (t *Terminal) margins(params ansi.Params) {
	s := t.now()
	top, bottom := max(arg(params, 0, 1), 1)-1, arg(params, 1, t.cfg.H)-1
	if bottom = min(bottom, t.cfg.H-1); bottom < 0 {
		bottom = t.cfg.H - 1
	}
	if top < bottom {
		s.top, s.bottom, s.x, s.y, s.wrapping = top, bottom, 0, 0, false
	}
}

// move takes the sequences that move the cursor.
func (t *Terminal) move(final byte, params ansi.Params) bool {
	s, n := t.now(), count(params)
	x, y := s.x, s.y
	switch final {
	case 'A':
		y -= n
	case 'B':
		y += n
	case 'C':
		x += n
	case 'D':
		x -= n
	case 'H', 'f':
		y, x = n-1, max(arg(params, 1, 1), 1)-1
	case 'G', '`':
		if t.cfg.Old {
			return false
		}
		x = n - 1
	case 'd':
		if t.cfg.Old {
			return false
		}
		y = n - 1
	default:
		return false
	}
	s.x, s.y, s.wrapping = min(max(x, 0), t.cfg.W-1), min(max(y, 0), t.cfg.H-1), false
	return true
}

// erase takes the sequences that erase, insert and delete.
func (t *Terminal) erase(final byte, params ansi.Params) bool {
	s, how := t.now(), arg(params, 0, 0)
	blank := func(y, from, to int) {
		c := uv.EmptyCell
		if !t.cfg.Old {
			c.Style.Bg = t.pen.Bg
		}
		for x := max(from, 0); x < min(to, t.cfg.W); x++ {
			s.buf.SetCell(x, y, &c)
		}
	}
	switch final {
	case 'J':
		for y := range t.cfg.H {
			switch {
			case how == 0 && y == s.y:
				blank(y, s.x, t.cfg.W)
			case how == 1 && y == s.y:
				blank(y, 0, s.x+1)
			case how == 2, how == 0 && y > s.y, how == 1 && y < s.y:
				blank(y, 0, t.cfg.W)
			}
		}
	case 'K':
		from, to := s.x, t.cfg.W
		switch how {
		case 1:
			from, to = 0, s.x+1
		case 2:
			from = 0
		}
		blank(s.y, from, to)
	case 'X':
		blank(s.y, s.x, s.x+count(params))
	case 'P':
		s.buf.DeleteCell(s.x, s.y, count(params), nil)
	case '@':
		s.buf.InsertCell(s.x, s.y, count(params), nil)
	default:
		return false
	}
	return true
}
