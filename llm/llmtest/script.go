package llmtest

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"vitrine/llm"
)

// Script is a server's behaviour as a text: what it refuses, and what it sends, request by request. A line is a command;
// blanks before it and lines that begin with # say nothing.
//
//	always                          what follows holds for every request
//	request [N | repeat]            what follows answers the next request, the next N, or all that come
//
//	reject STATUS BODY if CONDITION a request of that kind is answered so, and uses up no block
//	require CONDITION               a request that is not of that kind is answered 400 and noted as a problem
//
//	status N, header NAME: VALUE    of the answer
//	body TEXT                       answers with the text instead of a stream
//	wait DURATION                   before the next piece, or before the header when nothing was said yet
//	text, reasoning "TEXT"          a delta
//	call INDEX ID NAME              opens a call; - leaves an id out
//	args INDEX "TEXT"               more of its arguments
//	finish REASON                   the reason for the end
//	usage PROMPT COMPLETION CACHED  - leaves a count out
//	data JSON, done, comment TEXT   an event as it is, [DONE], a comment
//	raw "TEXT"                      bytes as they are
//	times N                         the last piece N times in all
//	split N                         sends the stream in writes of N bytes
//	crlf                            ends the lines of the stream so
//	close, reset, hold, silent      how it ends: closed or reset in the middle, held open, held open without a header
//
// Texts in quotes are those of Go. A condition is described at condition.
type Script struct {
	always []demand
	blocks []block

	mu       sync.Mutex
	at, used int
	problems []string
}

// block answers one or several requests.
type block struct {
	demands []demand
	times   int // -1 for ever
	reply   Reply
	every   int // split
	crlf    bool
}

// demand is a reject or a require.
type demand struct {
	when  condition
	not   bool // applies when the condition does not hold
	reply Reply
	text  string // of a require
}

// LoadScript reads a script from a file.
func LoadScript(path string) (*Script, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	return ParseScript(path, string(b))
}

// ParseScript reads a script; name stands for it in errors, which name the line.
func ParseScript(name, text string) (*Script, error) {
	p := parser{script: &Script{}, demands: new([]demand)}
	p.demands = &p.script.always
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		command, rest, _ := strings.Cut(line, " ")
		if err := p.command(command, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return p.script, nil
}

// Serve makes a server play the script. A server plays one script at a time, and a script is played once.
func (s *Script) Serve(srv *Server) { srv.Handle(s.answer) }

// Guard makes a server refuse what the script's demands under always refuse, whoever answers the rest.
func (s *Script) Guard(srv *Server) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.guard = func(r Request) (Reply, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.refuse(s.always, r)
	}
}

// Problems are the requires that were not met, in order.
func (s *Script) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.problems...)
}

// Left is how many requests the script still waits for; blocks that repeat do not count.
func (s *Script) Left() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := s.at; i < len(s.blocks); i++ {
		n += max(0, s.blocks[i].times)
	}
	if s.at < len(s.blocks) && s.blocks[s.at].times > 0 {
		n -= s.used
	}
	return n
}

// Streams are the bytes that each block of the script sends, in order.
func (s *Script) Streams() [][]byte {
	var out [][]byte
	for i := range s.blocks {
		out = append(out, s.blocks[i].made().Bytes())
	}
	return out
}

func (s *Script) answer(r Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reply, refused := s.refuse(s.always, r); refused {
		return reply
	}
	if s.at >= len(s.blocks) {
		s.problems = append(s.problems, "more requests than the script has")
		return Refuse(http.StatusInternalServerError, `{"error":{"message":"the script has no more replies"}}`)
	}
	b := &s.blocks[s.at]
	if reply, refused := s.refuse(b.demands, r); refused {
		return reply
	}
	if s.used++; b.times > 0 && s.used >= b.times {
		s.at, s.used = s.at+1, 0
	}
	return b.made()
}

// refuse finds the first demand that a request does not meet.
func (s *Script) refuse(demands []demand, r Request) (Reply, bool) {
	for _, d := range demands {
		if d.when.holds(r) == d.not {
			continue
		}
		if d.not {
			s.problems = append(s.problems, d.text)
		}
		return d.reply, true
	}
	return Reply{}, false
}

// made gives the reply as it is sent.
func (b *block) made() Reply {
	r := b.reply
	if b.crlf {
		r.steps = append([]Step(nil), r.steps...)
		for i := range r.steps {
			r.steps[i].data = strings.ReplaceAll(r.steps[i].data, "\n", "\r\n")
		}
	}
	if b.every > 0 {
		var at []int
		for n := b.every; n < len(r.Bytes()); n += b.every {
			at = append(at, n)
		}
		r = r.SplitAt(at...)
	}
	return r
}

// parser reads commands.
type parser struct {
	script  *Script
	demands *[]demand
	block   *block // nil before the first request
	wait    time.Duration
}

func (p *parser) command(name, rest string) error {
	switch name {
	case "always":
		p.demands, p.block = &p.script.always, nil
		return nothing(rest)
	case "request":
		return p.request(rest)
	case "reject", "require":
		return p.demand(name, rest)
	}
	if p.block == nil {
		return fmt.Errorf("%s stands outside of a request", name)
	}
	if known, err := p.shape(name, rest); known {
		return err
	}
	step, err := piece(name, rest)
	if err != nil {
		return err
	}
	step.wait, p.wait = p.wait, 0
	p.block.reply.steps = append(p.block.reply.steps, step)
	return nil
}

func nothing(rest string) error {
	if rest != "" {
		return fmt.Errorf("%q is too much", rest)
	}
	return nil
}

func (p *parser) request(rest string) error {
	b := block{times: 1, reply: Stream()}
	switch {
	case rest == "repeat":
		b.times = -1
	case rest != "":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is neither a number from 1 on nor repeat", rest)
		}
		b.times = n
	}
	p.script.blocks = append(p.script.blocks, b)
	p.block = &p.script.blocks[len(p.script.blocks)-1]
	p.demands, p.wait = &p.block.demands, 0
	return nil
}

func (p *parser) demand(name, rest string) error {
	d := demand{not: name == "require", text: rest}
	if !d.not {
		answer, when, ok := cutLast(rest, " if ")
		code, body, _ := strings.Cut(answer, " ")
		status, err := strconv.Atoi(code)
		if !ok || err != nil || status < 300 || status > 599 {
			return fmt.Errorf("%q is not STATUS BODY if CONDITION", rest)
		}
		d.reply, rest = Refuse(status, body), when
	} else {
		d.reply = Refuse(http.StatusBadRequest, compactJSON(map[string]any{"error": map[string]any{"message": "the script requires: " + rest}}))
	}
	var err error
	d.when, err = parseCondition(rest)
	*p.demands = append(*p.demands, d)
	return err
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// shape reads what says how a reply is sent, not what is in it.
func (p *parser) shape(name, rest string) (known bool, err error) {
	r := &p.block.reply
	var n int
	number := func(least int) error {
		var err error
		if n, err = strconv.Atoi(rest); err != nil || n < least {
			return fmt.Errorf("%q is no number from %d on", rest, least)
		}
		return nil
	}
	switch name {
	case "status":
		err = number(100)
		r.status = n
	case "header":
		field, value, ok := strings.Cut(rest, ":")
		if !ok {
			return true, fmt.Errorf("%q is not NAME: VALUE", rest)
		}
		*r = r.Header(field, strings.TrimSpace(value))
	case "body":
		r.body = rest
		if r.header.Get("Content-Type") == "" {
			*r = r.Header("Content-Type", "application/json")
		}
	case "wait":
		var d time.Duration
		if d, err = time.ParseDuration(rest); err != nil {
			return true, fmt.Errorf("%q is no duration", rest)
		}
		if len(r.steps) == 0 {
			r.delay += d
		} else {
			p.wait += d
		}
	case "times":
		if err = number(1); err == nil && len(r.steps) > 0 {
			for range n - 1 {
				r.steps = append(r.steps, r.steps[len(r.steps)-1])
			}
		}
	case "split":
		err = number(1)
		p.block.every = n
	case "crlf":
		p.block.crlf, err = true, nothing(rest)
	case "close", "reset", "hold", "silent":
		r.end = map[string]ending{"close": endFIN, "reset": endReset, "hold": endHold, "silent": endSilent}[name]
		err = nothing(rest)
	default:
		return false, nil
	}
	return true, err
}

// piece reads a piece of a stream.
func piece(name, rest string) (Step, error) {
	words := strings.Fields(rest)
	switch name {
	case "text", "reasoning", "raw":
		s, err := strconv.Unquote(rest)
		if err != nil {
			return Step{}, fmt.Errorf("%s is no text in quotes", rest)
		}
		return map[string]func(string) Step{"text": Text, "reasoning": Reasoning, "raw": Raw}[name](s), nil
	case "data":
		return Event(rest), nil
	case "comment":
		return Comment(rest), nil
	case "done":
		return DoneMark(), nothing(rest)
	case "finish":
		return Finish(rest), nil
	case "call":
		if index, err := strconv.Atoi(first(words)); err == nil && len(words) == 3 {
			id := words[1]
			if id == "-" {
				id = ""
			}
			return CallHead(index, id, words[2]), nil
		}
		return Step{}, fmt.Errorf("%q is not INDEX ID NAME", rest)
	case "args":
		at, quoted, _ := strings.Cut(rest, " ")
		index, err := strconv.Atoi(at)
		s, err2 := strconv.Unquote(quoted)
		if err != nil || err2 != nil {
			return Step{}, fmt.Errorf("%q is not INDEX and a text in quotes", rest)
		}
		return CallArguments(index, s), nil
	case "usage":
		return usagePiece(words)
	}
	return Step{}, fmt.Errorf("%s is no command", name)
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func usagePiece(words []string) (Step, error) {
	var counts [3]*int
	for i, w := range words {
		n, err := strconv.Atoi(w)
		if i >= len(counts) || err != nil && w != "-" {
			return Step{}, fmt.Errorf("%q is not PROMPT COMPLETION CACHED", strings.Join(words, " "))
		}
		if err == nil {
			counts[i] = &n
		}
	}
	return usage(llm.Usage{Prompt: counts[0], Completion: counts[1], Cached: counts[2]}), nil
}
