package openai

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"vitrine/llm"
)

// maxCalls bounds the calls of one reply.
const maxCalls = 512

// piece is what one delta says of one call.
type piece struct {
	index *int
	id    string
	name  string
	args  string // may hold halves, see joiner
	whole bool   // args is an object, not a piece of text
	extra map[string]json.RawMessage
}

// blank says whether the piece brings no arguments.
func (p piece) blank() bool { return strings.Trim(p.args, " \t\r\n") == "" }

// call is one call as it grows.
type call struct {
	id, name string
	args     strings.Builder
	shape    object
	join     joiner
	extra    map[string]json.RawMessage
	ord      int
	whole    bool // args came as an object
	told     int  // how much of args went to the screen
	// twin is an earlier call with the same id that was complete when this one began. At the end this one turns out to be
	// a repetition, a continuation, or another call whose id was used twice.
	twin *call
	// collided says that the call took an index that another one had; contested, that the other one was not complete.
	collided, contested bool
}

func (c *call) closed() bool { return c.shape.closed() }

// calls assembles the calls of one reply. Servers disagree about index and id: calls without an index, all with index 0,
// one call under several indexes, ids that repeat, and arguments before the name all exist. Which call a piece belongs to
// is decided by id first, then by index, then by order; a piece that could belong to two calls is an error, because
// arguments in the wrong call would be executed.
type calls struct {
	list []*call
	ids  map[string]*call
	at   map[int]*call
	last *call
}

func newCalls() *calls { return &calls{ids: map[string]*call{}, at: map[int]*call{}} }

// add takes in the calls of one delta and tells the growth to tell.
func (cs *calls) add(pieces []piece, tell func(llm.CallDelta) error) error {
	var before *call // opened by an earlier piece of this delta that had neither id nor index
	for _, p := range pieces {
		c, err := cs.route(p, before)
		if err != nil {
			return err
		}
		if before = nil; p.id == "" && p.index == nil {
			before = c
		}
		cs.last = c
		c.grow(p)
		if c.name == "" || c.twin != nil || c.told == c.args.Len() && p.name == "" {
			continue
		}
		if err := c.tell(tell); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) grow(p piece) {
	if c.id == "" {
		c.id = p.id
	}
	switch {
	case p.name == "" || p.name == c.name:
	case strings.HasPrefix(p.name, c.name):
		c.name = p.name // sent as far as it is known, each time
	default:
		c.name += p.name
	}
	if c.whole = c.whole || p.whole; p.whole {
		c.args.Reset()
		c.shape, c.told = object{}, 0
	}
	text := c.join.add(p.args)
	c.args.WriteString(text)
	c.shape.feed([]byte(text))
	for k, v := range p.extra {
		if c.extra == nil {
			c.extra = map[string]json.RawMessage{}
		}
		c.extra[k] = v
	}
}

func (cs *calls) route(p piece, before *call) (*call, error) {
	if p.id != "" {
		return cs.byID(p)
	}
	if p.index != nil {
		return cs.byIndex(p)
	}
	c := cs.last
	switch {
	case c == nil:
	case p.name == "":
		return c, nil
	case c == before: // two entries of one list are two calls
	case c.name == "" || !c.closed() || p.blank() && p.name == c.name:
		return c, nil
	}
	return cs.open(p)
}

// byID routes a piece with an id.
func (cs *calls) byID(p piece) (*call, error) {
	c, known := cs.ids[p.id]
	var here *call
	if p.index != nil {
		here = cs.at[*p.index]
	}
	if known {
		elsewhere := p.index != nil && here != c
		other := elsewhere && p.name != "" && c.name != "" && !strings.HasPrefix(p.name, c.name)
		again := p.whole && c.whole && p.index != nil && !elsewhere // an object replaces the one before
		if other || c.closed() && (elsewhere || !p.blank()) && !again {
			return cs.openTwin(p, c)
		}
		if p.index != nil {
			cs.at[*p.index] = c
		}
		return c, nil
	}
	if p.index == nil {
		here = cs.last
	}
	switch {
	case here == nil:
	case here.id == "" && !(here.closed() && here.name != "" && p.name != ""):
		if p.index != nil || here.name == "" || p.name == "" { // the id comes after the arguments
			cs.ids[p.id] = here
			return here, nil
		}
	case p.name == "" && !here.closed() && here.id != "":
		cs.ids[p.id] = here // a server that makes a new id for each piece
		return here, nil
	}
	n, err := cs.open(p)
	if err == nil && here != nil && p.index != nil {
		n.collided, n.contested = true, here.args.Len() > 0 && !here.closed()
	}
	return n, err
}

// byIndex routes a piece with an index only.
func (cs *calls) byIndex(p piece) (*call, error) {
	c := cs.at[*p.index]
	switch {
	case c == nil:
		return cs.open(p)
	case c.contested && !p.blank():
		return nil, errAmbiguous()
	case p.name != "" && c.name != "" && c.closed() && (!p.blank() || p.name != c.name):
		return cs.open(p)
	}
	return c, nil
}

func (cs *calls) open(p piece) (*call, error) {
	if len(cs.list) >= maxCalls {
		return nil, &llm.Error{Kind: llm.ErrTooLarge, Message: fmt.Sprintf("more than %d tool calls in one reply", maxCalls)}
	}
	c := &call{ord: len(cs.list)}
	cs.list = append(cs.list, c)
	if p.id != "" {
		cs.ids[p.id] = c
	}
	if p.index != nil {
		cs.at[*p.index] = c
	}
	return c, nil
}

func (cs *calls) openTwin(p piece, of *call) (*call, error) {
	c, err := cs.open(p)
	if err == nil {
		c.twin = of
	}
	return c, err
}

func errAmbiguous() error {
	return &llm.Error{Kind: llm.ErrProtocol, Retryable: true, Message: "the server sent a piece of a tool call that may belong to two calls"}
}

// finish gives the calls in order, with ids that are unique and not empty.
func (cs *calls) finish() ([]llm.ToolCall, error) {
	if err := cs.settle(); err != nil {
		return nil, err
	}
	var out []llm.ToolCall
	used := map[string]bool{}
	for _, c := range cs.list {
		used[c.id] = true
	}
	taken := map[string]bool{}
	for _, c := range cs.list {
		if c.id == "" || taken[c.id] {
			for n := len(out); c.id == "" || used[c.id]; n++ {
				c.id = "call_" + strconv.Itoa(n)
			}
			used[c.id] = true
		}
		taken[c.id] = true
		out = append(out, llm.ToolCall{ID: c.id, Name: c.name, Arguments: c.args.String(), Extra: encodeExtra(c.extra)})
	}
	return out, nil
}

// settle decides what was left open: repetitions and pieces without a name.
func (cs *calls) settle() error {
	var kept []*call
	for _, c := range cs.list {
		c.args.WriteString(c.join.flush())
		if t := c.twin; t != nil && c.name != "" && c.name != t.name {
			t = nil
		} else if t != nil && (c.args.Len() == 0 || c.args.String() == t.args.String()) {
			continue
		} else if t != nil && c.name == "" {
			t.args.WriteString(c.args.String()) // no longer JSON, and so never executed
			continue
		}
		if c.name == "" && c.args.Len() == 0 {
			continue
		}
		kept = append(kept, c)
	}
	cs.list = kept
	return cs.adopt()
}

// adopt gives arguments that came under an index of their own, without a name, to the call that lacks them.
func (cs *calls) adopt() error {
	var named, orphans, open, collided []*call
	for _, c := range cs.list {
		switch {
		case c.name == "" && c.id == "":
			orphans = append(orphans, c)
			continue
		case !c.closed():
			open = append(open, c)
			if c.collided {
				collided = append(collided, c)
			}
		}
		named = append(named, c)
	}
	if len(orphans) == 0 || len(named) == 0 {
		return nil
	}
	if len(collided) > 0 {
		open = collided
	}
	if len(orphans) > 1 || len(open) != 1 {
		return errAmbiguous()
	}
	open[0].args.WriteString(orphans[0].args.String())
	cs.list = named
	return nil
}

// encodeExtra gives the fields as one object with sorted keys, nil when there are none.
func encodeExtra(fields map[string]json.RawMessage) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	b, err := marshal(fields)
	if err != nil {
		return nil // fields come out of a decoder, so that they can be encoded
	}
	return b
}
