package openai

// scanner reads an event of the usual shape in one pass, without allocating. Its methods report false when the event is of
// another shape, or no JSON.
type scanner struct {
	b   []byte
	pos int
	buf []byte // what the texts with escapes mean

	content, reasoning, args span
	field                    string // the field that reasoning came in
	index                    int    // of the call that args belong to
	values                   [maxValues]value
	found                    int // values; more than maxValues when there were too many to note
}

// value is where a text or a number stands that says nothing here, such as a time. Texts are without their quotes.
type value struct {
	start, stop int
	text        bool
}

const maxValues = 12

func (q *scanner) noteValue(v value) {
	if q.found < maxValues {
		q.values[q.found] = v
	}
	q.found++
}

func (q *scanner) reset(b []byte) {
	q.b, q.pos, q.buf = b, 0, q.buf[:0]
	q.content, q.reasoning, q.args = span{}, span{}, span{}
	q.field, q.index, q.found = "", -1, 0
}

// span is a text within an event: a part of its bytes, or of buf when it had escapes.
type span struct {
	from, to int
	decoded  bool
	// start and stop are where it stands in the event, without its quotes.
	start, stop int
}

func (q *scanner) bytes(s span) []byte {
	if s.decoded {
		return q.buf[s.from:s.to]
	}
	return q.b[s.from:s.to]
}

// Which keys of one object were there, since the last of two equal ones would count.
const (
	keyModel = 1 << iota
	keyChoices
	keyUsage
	keyObject
	keyIndex
	keyDelta
	keyFinish
	keyContent
	keyReasoning
	keyReasoningContent
	keyCalls
	keyFunction
	keyArguments
	keyID
	keyName
	keyRole
)

// once notes a key.
func once(seen *int, key int) bool {
	first := *seen&key == 0
	*seen |= key
	return first
}

// event reads a whole event. model is the one that the events before it named.
func (q *scanner) event(model string) bool {
	seen := 0
	ok := q.object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			return once(&seen, keyChoices) && q.choices()
		case "model":
			s, ok := q.plain()
			return ok && once(&seen, keyModel) && string(s) == model
		case "object":
			s, ok := q.plain()
			return ok && once(&seen, keyObject) && string(s) == "chat.completion.chunk"
		case "usage":
			return once(&seen, keyUsage) && q.null()
		case "error", "type", "x_groq":
			return false
		}
		return q.scalar()
	})
	q.blanks()
	return ok && q.pos == len(q.b) && seen&keyChoices != 0
}

// choices reads a list of one choice.
func (q *scanner) choices() bool { return q.char('[') && q.choice() && q.char(']') }

func (q *scanner) choice() bool {
	seen := 0
	return q.object(func(key []byte) bool {
		switch string(key) {
		case "delta":
			return once(&seen, keyDelta) && q.delta()
		case "index":
			n, ok := q.small()
			return ok && once(&seen, keyIndex) && n == 0
		case "finish_reason":
			return once(&seen, keyFinish) && q.null()
		case "message", "text", "usage", "error":
			return false
		}
		return q.scalar()
	})
}

func (q *scanner) delta() bool {
	seen := 0
	return q.object(func(key []byte) bool {
		switch string(key) {
		case "content":
			return once(&seen, keyContent) && q.text(&q.content)
		case "reasoning_content":
			return once(&seen, keyReasoningContent) && q.thought("reasoning_content")
		case "reasoning":
			return once(&seen, keyReasoning) && q.thought("reasoning")
		case "tool_calls":
			return once(&seen, keyCalls) && (q.null() || q.char('[') && q.call() && q.char(']'))
		case "role":
			return once(&seen, keyRole) && q.scalar()
		case "refusal", "function_call", "extra_content", "reasoning_details":
			return q.null()
		}
		return q.scalar()
	})
}

// thought reads reasoning, which only one field may bring.
func (q *scanner) thought(field string) bool {
	if q.field != "" {
		return q.null()
	}
	if !q.text(&q.reasoning) {
		return false
	}
	if q.reasoning.to > q.reasoning.from {
		q.field = field
	}
	return true
}

// call reads one more piece of the arguments of a call that an index names.
func (q *scanner) call() bool {
	seen := 0
	ok := q.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			n, ok := q.small()
			q.index = n
			return ok && once(&seen, keyIndex)
		case "function":
			return once(&seen, keyFunction) && q.function()
		case "type":
			return q.scalar()
		case "id":
			return once(&seen, keyID) && q.null()
		}
		return false
	})
	return ok && seen&keyIndex != 0 && seen&keyFunction != 0
}

func (q *scanner) function() bool {
	seen := 0
	ok := q.object(func(key []byte) bool {
		switch string(key) {
		case "arguments":
			q.blanks()
			return once(&seen, keyArguments) && q.at('"') && q.text(&q.args)
		case "name":
			return once(&seen, keyName) && q.null()
		}
		return false
	})
	return ok && seen&keyArguments != 0
}

func (q *scanner) blanks() {
	if q.pos < len(q.b) && q.b[q.pos] > ' ' {
		return
	}
	for q.pos < len(q.b) {
		switch q.b[q.pos] {
		case ' ', '\t', '\n', '\r':
			q.pos++
		default:
			return
		}
	}
}

func (q *scanner) at(c byte) bool { return q.pos < len(q.b) && q.b[q.pos] == c }

// char reads one character behind blanks.
func (q *scanner) char(c byte) bool {
	q.blanks()
	if !q.at(c) {
		return false
	}
	q.pos++
	return true
}

// object reads an object, whose values field reads. Keys are small letters, digits and _, so that none of them means the
// same as another one.
func (q *scanner) object(field func(key []byte) bool) bool {
	if !q.char('{') {
		return false
	}
	if q.char('}') {
		return true
	}
	for {
		if !q.char('"') {
			return false
		}
		b, from := q.b, q.pos
		i := from
		for i < len(b) && (b[i] >= 'a' && b[i] <= 'z' || b[i] == '_' || b[i] >= '0' && b[i] <= '9') {
			i++
		}
		key := b[from:i]
		q.pos = i
		if !q.at('"') {
			return false
		}
		q.pos++
		if !q.char(':') || !field(key) {
			return false
		}
		if q.char('}') {
			return true
		}
		if !q.char(',') {
			return false
		}
	}
}

// word reads one of the three.
func (q *scanner) word(w string) bool {
	if len(q.b)-q.pos < len(w) || string(q.b[q.pos:q.pos+len(w)]) != w {
		return false
	}
	q.pos += len(w)
	return true
}

func (q *scanner) null() bool {
	q.blanks()
	return q.word("null")
}

// scalar reads a value that is neither object nor list.
func (q *scanner) scalar() bool {
	q.blanks()
	switch {
	case q.at('"'):
		start := q.pos + 1
		_, ok := q.plain()
		q.noteValue(value{start, q.pos - 1, true})
		return ok
	case q.at('n'):
		return q.word("null")
	case q.at('t'):
		return q.word("true")
	case q.at('f'):
		return q.word("false")
	}
	start := q.pos
	ok := q.number()
	q.noteValue(value{start, q.pos, false})
	return ok
}

// plain reads a string without escapes.
func (q *scanner) plain() ([]byte, bool) {
	if !q.char('"') {
		return nil, false
	}
	from := q.pos
	end := stretch(q.b, from)
	q.pos = end
	if !q.at('"') {
		return nil, false
	}
	q.pos++
	return q.b[from:end], true
}

// stretch gives the end of what needs no look within a string.
func stretch(b []byte, i int) int {
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	return i
}

// text reads a string or null. Escapes of half a character are left to unquote.
func (q *scanner) text(s *span) bool {
	q.blanks()
	if !q.at('"') {
		return q.word("null")
	}
	from := q.pos + 1
	q.pos = stretch(q.b, from)
	switch {
	case q.at('"'):
		*s = span{from: from, to: q.pos, start: from, stop: q.pos}
		q.pos++
		return true
	case q.at('\\'):
		return q.escaped(from, s)
	}
	return false
}

// escaped goes on with a string whose first escape has been reached.
func (q *scanner) escaped(from int, s *span) bool {
	start := len(q.buf)
	for at := from; ; {
		q.buf = append(q.buf, q.b[at:q.pos]...)
		switch {
		case q.at('"'):
			*s = span{from: start, to: len(q.buf), decoded: true, start: from, stop: q.pos}
			q.pos++
			return true
		case !q.at('\\'):
			return false
		}
		q.pos++
		if !q.escape() {
			return false
		}
		at = q.pos
		q.pos = stretch(q.b, at)
	}
}

// escape reads what stands behind a backslash.
func (q *scanner) escape() bool {
	if q.pos >= len(q.b) {
		return false
	}
	c := q.b[q.pos]
	q.pos++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		q.buf = append(q.buf, unescape(c))
		return true
	}
	return false // \u is rare enough
}

// number reads a number as JSON writes it.
func (q *scanner) number() bool {
	digits := func() bool {
		from := q.pos
		for q.pos < len(q.b) && q.b[q.pos] >= '0' && q.b[q.pos] <= '9' {
			q.pos++
		}
		return q.pos > from
	}
	if q.at('-') {
		q.pos++
	}
	if q.at('0') {
		q.pos++
	} else if !digits() {
		return false
	}
	if q.at('.') {
		q.pos++
		if !digits() {
			return false
		}
	}
	if q.at('e') || q.at('E') {
		q.pos++
		if q.at('+') || q.at('-') {
			q.pos++
		}
		return digits()
	}
	return true
}

// small reads a whole number from 0 to 9999.
func (q *scanner) small() (n int, ok bool) {
	q.blanks()
	from := q.pos
	for q.pos < len(q.b) && q.b[q.pos] >= '0' && q.b[q.pos] <= '9' {
		n = n*10 + int(q.b[q.pos]-'0')
		q.pos++
	}
	size := q.pos - from
	return n, size == 1 || size > 1 && size < 5 && q.b[from] != '0'
}
