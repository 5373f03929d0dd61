package input

// Bounds of undo: so many states, of so many bytes together.
const (
	mostStates     = 500
	mostStateBytes = 8 << 20
)

// state is a text and the cursor in it.
type state struct {
	text string
	at   int
}

// step is what a change is; typing goes on in one step until a word begins, deleting until something else is done.
type step int

const (
	stepOther step = iota
	stepTyping
	stepDeleting
)

// step keeps the text before a change, unless the change goes on with the one before.
func (e *Editor) step(kind step) {
	if kind != stepOther && kind == e.last && len(e.back) > 0 && e.lastAt == e.at {
		e.ahead = nil
		return
	}
	e.last, e.ahead = kind, nil
	e.back = append(e.back, state{e.text, e.at})
	n := 0
	for i := len(e.back) - 1; i >= 0; i-- {
		if n += len(e.back[i].text); n > mostStateBytes || len(e.back)-i > mostStates {
			e.back = append([]state(nil), e.back[i+1:]...)
			break
		}
	}
	if e.hoard() {
		e.forget()
	}
}

// Undo takes the last change back, Redo does it again. They report false when there is none.
func (e *Editor) Undo() bool { return e.travel(&e.back, &e.ahead) }

// Redo is Undo's counterpart.
func (e *Editor) Redo() bool { return e.travel(&e.ahead, &e.back) }

func (e *Editor) travel(from, to *[]state) bool {
	n := len(*from)
	if n == 0 {
		return false
	}
	s := (*from)[n-1]
	*from = (*from)[:n-1]
	*to = append(*to, state{e.text, e.at})
	e.text, e.at, e.last = s.text, s.at, stepOther
	e.changed()
	return true
}

// Reset is SetText for another text, which the one before has nothing to do with: nothing can be undone.
func (e *Editor) Reset(marked string) {
	e.text, e.at, e.chips = "", 0, nil
	e.back, e.ahead, e.last = nil, nil, stepOther
	e.killed = ""
	e.changed()
	e.SetText(marked)
	e.back = nil
}
