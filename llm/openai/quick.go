package openai

import (
	"unicode/utf8"

	"vitrine/llm"
)

// quick takes in an event of the usual shape: one choice with a piece of text, of reasoning or of a call's arguments, and
// nothing else that says anything. It reads the bytes once and keeps only the piece. Everything else it leaves to chunk, so
// that what both make of an event is the same; a test and a fuzz test compare them. It reports whether it took the event in.
func (d *decoder) quick(data []byte) (taken bool, err error) {
	if !d.seen || d.slow || d.choiceAt != 0 || d.text.high != 0 || d.reasoning.high != 0 {
		return false, nil
	}
	q := &d.scan
	q.reset(data)
	if !d.form.read(q) {
		if !utf8.Valid(data) || !q.event(d.model) {
			return false, nil
		}
		d.form.note(q)
	}
	if q.index >= 0 && !d.calls.takes(q.index) {
		return false, nil
	}
	d.short++
	if q.field != "" {
		if d.field == "" {
			d.field = q.field
		}
		if d.field == q.field {
			if err := d.thought(string(q.bytes(q.reasoning))); err != nil {
				return true, err
			}
		}
	}
	if text := q.bytes(q.content); len(text) > 0 {
		d.deltas++
		if err := d.say(string(text)); err != nil {
			return true, err
		}
	}
	if q.index < 0 {
		return true, nil
	}
	d.deltas++
	args := q.bytes(q.args)
	if err := d.grow(len(args)); err != nil {
		return true, err
	}
	return true, d.calls.more(q.index, args, d.growth)
}

// form is the last event that was read. Most events of a stream differ from the one before in their piece, and maybe in a
// time or another value that says nothing, so that comparing is all there is to do with the rest.
type form struct {
	bytes      []byte
	values     [maxValues + 1]value // in order, the piece among them
	n, piece   int
	field      string
	index      int
	reasoning  bool
	args, know bool
}

// note keeps the form of an event that was read, when it has one piece.
func (f *form) note(q *scanner) {
	f.know = false
	var piece span
	for _, s := range []span{q.content, q.reasoning, q.args} {
		if s.to > s.from {
			if piece.stop > 0 {
				return
			}
			piece = s
		}
	}
	if piece.stop == 0 || q.index >= 0 && piece != q.args || q.found > maxValues {
		return
	}
	f.bytes = append(f.bytes[:0], q.b...)
	f.field, f.index, f.reasoning, f.args, f.know = q.field, q.index, piece == q.reasoning, piece == q.args, true
	f.n, f.piece = 0, -1
	for _, v := range q.values[:q.found] {
		if f.piece < 0 && v.start > piece.start {
			f.piece = f.n
			f.values[f.n] = value{piece.start, piece.stop, true}
			f.n++
		}
		f.values[f.n] = v
		f.n++
	}
	if f.piece < 0 {
		f.piece = f.n
		f.values[f.n] = value{piece.start, piece.stop, true}
		f.n++
	}
}

// read reads an event of the same form; it leaves q as it was when it is another one.
func (f *form) read(q *scanner) bool {
	if !f.know {
		return false
	}
	piece, ok := f.follow(q)
	if !ok || piece.to == piece.from {
		q.pos, q.buf = 0, q.buf[:0]
		return false
	}
	q.field, q.index = f.field, f.index
	switch {
	case f.args:
		q.args = piece
	case f.reasoning:
		q.reasoning = piece
	default:
		q.content = piece
	}
	return true
}

// follow walks along the last event and this one. Where they differ there must be a value, which may be another one of its
// kind.
func (f *form) follow(q *scanner) (piece span, ok bool) {
	old, at := 0, 0 // how far in the last event, and in this one
	for i := 0; i <= f.n; i++ {
		next := value{start: len(f.bytes), stop: len(f.bytes)}
		if i < f.n {
			next = f.values[i]
		}
		size := next.start - old
		if len(q.b)-at < size || string(q.b[at:at+size]) != string(f.bytes[old:next.start]) {
			return span{}, false
		}
		at, old = at+size, next.stop
		if i == f.n {
			return piece, at == len(q.b)
		}
		q.pos = at
		switch {
		case i == f.piece:
			q.pos--
			if !q.text(&piece) {
				return span{}, false
			}
			q.pos--
		case next.text:
			q.pos = stretch(q.b, at)
		case !q.number():
			return span{}, false
		}
		if !utf8.Valid(q.b[at:q.pos]) {
			return span{}, false
		}
		at = q.pos
	}
	return span{}, false
}

// takes says whether more arguments can go to the call of an index without another look.
func (cs *calls) takes(index int) bool {
	c := cs.at[index]
	return c != nil && !c.contested && c.join.high == 0
}

// more appends valid UTF-8 to the arguments of a call that takes them.
func (cs *calls) more(index int, args []byte, tell func(llm.CallDelta) error) error {
	c := cs.at[index]
	cs.last = c
	c.args.Write(args)
	c.shape.feed(args)
	if c.name == "" || c.twin != nil || c.told == c.args.Len() {
		return nil
	}
	return c.tell(tell)
}

// tell tells what of the arguments was not told yet.
func (c *call) tell(tell func(llm.CallDelta) error) error {
	delta := llm.CallDelta{Index: c.ord, Name: c.name, Arguments: c.args.String()[c.told:]}
	c.told = c.args.Len()
	return tell(delta)
}
