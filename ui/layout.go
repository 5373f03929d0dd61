package ui

// pane names what can have the focus.
type pane int

const (
	paneInput pane = iota
	paneQuestion
	paneChat
	paneTrace
	paneTodos
	paneNone
)

func (p pane) String() string {
	return [...]string{"input", "question", "chat", "trace", "todos", "none"}[p]
}

// Widths at which the screen changes its shape, and the least it works in.
const (
	wideWidth   = 120 // chat, trace and todos
	middleWidth = 100 // chat and one more
	leastWidth  = 40
	leastHeight = 10
	leastBody   = 4  // rows of the panes that input and dock leave them
	airyHeight  = 16 // from here blank rows stand around the panes and under the input
)

// rect is a place on the screen, in cells.
type rect struct{ x, y, w, h int }

func (r rect) has(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

func (r rect) empty() bool { return r.w <= 0 || r.h <= 0 }

// panes is which panes the user wants to see. It belongs to the window, not to a tab.
type panes struct {
	noTrace, noTodos bool // from wideWidth on
	right            pane // beside the chat, between middleWidth and wideWidth; paneNone: nothing
	covered          pane // what stood there before, and comes back; paneNone: nothing
	alone            pane // under middleWidth
	zoom             pane // alone at any width; paneNone: none
}

func defaultPanes() panes {
	return panes{right: paneTrace, covered: paneNone, alone: paneChat, zoom: paneNone}
}

// toggle shows or hides a pane in the shape that the width gives.
func (p *panes) toggle(which pane, width int) {
	if p.zoom != paneNone {
		p.zoom = paneNone
		if p.shows(which, width) {
			return
		}
	}
	switch {
	case width >= wideWidth && which == paneTrace:
		p.noTrace = !p.noTrace
	case width >= wideWidth:
		p.noTodos = !p.noTodos
	case width >= middleWidth:
		if p.right == which {
			p.right, p.covered = p.covered, paneNone
		} else {
			p.right, p.covered = which, p.right
		}
	default:
		p.alone = other(p.alone, which, paneChat)
	}
}

func other(now, which, rest pane) pane {
	if now == which {
		return rest
	}
	return which
}

// show makes a pane visible.
func (p *panes) show(which pane, width int) {
	if p.zoom != paneNone && p.zoom != which {
		p.zoom = paneNone
	}
	if p.shows(which, width) {
		return
	}
	if which == paneChat {
		p.alone = paneChat
		return
	}
	p.toggle(which, width)
}

// shows says whether a pane is on the screen.
func (p *panes) shows(which pane, width int) bool {
	switch {
	case which != paneChat && which != paneTrace && which != paneTodos:
		return which == paneInput
	case p.zoom != paneNone:
		return p.zoom == which
	case width < middleWidth:
		return p.alone == which
	case which == paneChat:
		return true
	case width < wideWidth:
		return p.right == which
	case which == paneTrace:
		return !p.noTrace
	}
	return !p.noTodos
}

// layout is where everything stands.
type layout struct {
	w, h                                                     int
	tiny                                                     bool
	tabs, meter, body, chat, trace, todos, dock, input, stat rect
	airy                                                     bool // blank rows around the panes and under the input
}

// arrange gives every part its place. inputRows and dockRows are what these want; both get at most a third of the screen.
func arrange(w, h, inputRows, dockRows int, p panes) layout {
	l := layout{w: w, h: h}
	if w < leastWidth || h < leastHeight {
		l.tiny = true
		return l
	}
	l.airy = h >= airyHeight
	third := max(h/3, 1)
	inputRows = min(max(inputRows, 1), third)
	dockRows = min(max(dockRows, 0), third)
	below := inputRows + 1
	if l.airy {
		below++
	}
	body := max(h-2-below-dockRows, min(leastBody, h-2-below))
	dockRows = h - 2 - below - body
	l.tabs = rect{0, 0, w, 1}
	l.meter = rect{0, 1, w, 1}
	l.dock = rect{0, 2 + body, w, dockRows}
	l.input = rect{0, 2 + body + dockRows, w, inputRows}
	l.stat = rect{0, h - 1, w, 1}
	l.body = rect{0, 2, w, body}
	if l.airy && body > leastBody {
		l.columns(3, body-2, p)
	} else {
		l.columns(2, body, p)
	}
	return l
}

// dockRoom is how many rows arrange gives a dock that wants all it can have.
func dockRoom(h, inputRows int) int { return arrange(leastWidth, h, inputRows, h, panes{}).dock.h }

// columns divides the body; between two panes stands one column of rule.
func (l *layout) columns(y, h int, p panes) {
	trace, todos := 0, 0
	switch {
	case p.zoom != paneNone:
		l.place(p.zoom, rect{0, y, l.w, h})
		return
	case l.w >= wideWidth:
		if !p.noTrace {
			trace = min(51+(l.w-160)*15/40, 72)
		}
		if !p.noTodos {
			todos = min(25+(l.w-160)/10, 32)
		}
	case l.w >= middleWidth:
		side := 44 + (l.w-middleWidth)*2/5
		switch p.right {
		case paneTrace:
			trace = side
		case paneTodos:
			todos = side
		}
	default:
		l.place(p.alone, rect{0, y, l.w, h})
		return
	}
	x := l.w
	if todos > 0 {
		x -= todos
		l.todos = rect{x, y, todos, h}
		x--
	}
	if trace > 0 {
		x -= trace
		l.trace = rect{x, y, trace, h}
		x--
	}
	l.chat = rect{0, y, x, h}
}

func (l *layout) place(which pane, r rect) {
	switch which {
	case paneTrace:
		l.trace = r
	case paneTodos:
		l.todos = r
	default:
		l.chat = r
	}
}

// at is the pane under a cell; paneNone when there is none.
func (l layout) at(x, y int) pane {
	switch {
	case l.chat.has(x, y):
		return paneChat
	case l.trace.has(x, y):
		return paneTrace
	case l.todos.has(x, y):
		return paneTodos
	case l.input.has(x, y):
		return paneInput
	case l.dock.has(x, y):
		return paneQuestion
	}
	return paneNone
}
