package trace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"vitrine/runtime/clock"
	"vitrine/trace/rotate"
)

const (
	// DefaultMaxBytes and DefaultFiles bound the trace: so many files of so many bytes, the newest included.
	DefaultMaxBytes = 10 << 20
	DefaultFiles    = 3
	// pendingBytes bounds the lines that wait while the file cannot be written.
	pendingBytes = 4 << 20
	// longestLine bounds one line; readers take longer ones.
	longestLine = 16 << 20
	// readPage is how many events are read from the store at a time.
	readPage = 500
	// firstRetry and lastRetry are the shortest and the longest wait before a file that failed is tried again.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// WriterConfig says how a Writer works. Path and Clock are needed.
type WriterConfig struct {
	Path  string
	Clock clock.Clock
	// MaxChars is the longest string within an event's data, in characters; 0 is no limit.
	MaxChars int
	// MaxBytes and Files bound the file and those that it is renamed to when it is full; 0 is the default of that name. A line
	// that fits into no file is written without its data.
	MaxBytes int64
	Files    int
	// OnState is told, once a change, that writing stopped and why, and that it goes on. It is called by Run and should
	// not wait.
	OnState func(stopped bool, err error)
	// Read gives up to limit stored events of a session with a seq above after, in order: with it the writer gets again
	// what did not fit on the way. Without it such events are missing and the file says so.
	Read func(ctx context.Context, sessionID string, after int64, limit int) ([]Event, error)
	// Fault is called with "jsonl.before" and "jsonl.after" around each write, and with "jsonl.rotate" before a full file is
	// renamed; an error of the first and the last is a failed write.
	Fault func(point string) error
}

// Writer appends events to the JSONL file: those with a sequence number, and retry. A file that cannot be written never
// disturbs anything: the writer says so, keeps what it can, tries again, and marks the gap when it goes on.
type Writer struct {
	cfg  WriterConfig
	file rotate.File

	lines   [][]byte // encoded, with their line feeds
	bytes   int
	gap     *GapData         // to be written before lines
	behind  map[string]int64 // sessions to be read from the store, and after which seq
	read    map[string]int64 // up to which seq they were, until something newer comes
	stopped bool
	retryAt time.Time
	wait    time.Duration
}

// NewWriter makes a writer; it touches the file when there is something to write.
func NewWriter(cfg WriterConfig) *Writer {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.Files <= 0 {
		cfg.Files = DefaultFiles
	}
	file := rotate.File{Path: cfg.Path, What: "trace", MaxBytes: cfg.MaxBytes, Files: cfg.Files, Clock: cfg.Clock}
	if cfg.Fault != nil {
		file.Fault = func() error { return cfg.Fault("jsonl.rotate") }
	}
	return &Writer{cfg: cfg, file: file, behind: map[string]int64{}, read: map[string]int64{}}
}

// Run writes what sub delivers until ctx is done or sub is closed; what was delivered by then it still tries to write.
// It is called once, as a participant of the clock. sub should come from SubscribeKept.
func (w *Writer) Run(ctx context.Context, sub *Subscription) {
	last := context.WithoutCancel(ctx)
	for {
		b, err := w.next(ctx, sub)
		if err != nil {
			for b, ok := sub.TryNext(); ok; b, ok = sub.TryNext() {
				w.take(b)
			}
			w.flush(last)
			w.catchUp(last)
			return
		}
		w.take(b)
		if w.stopped && w.cfg.Clock.Now().Before(w.retryAt) {
			continue
		}
		w.flush(last)
		w.catchUp(last)
	}
}

// next waits for events; while writing is stopped, no longer than until it is to be tried again.
func (w *Writer) next(ctx context.Context, sub *Subscription) (Batch, error) {
	if !w.stopped {
		return sub.Next(ctx)
	}
	until, cancel := w.cfg.Clock.WithTimeout(ctx, w.retryAt.Sub(w.cfg.Clock.Now()))
	defer cancel()
	b, err := sub.Next(until)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return b, nil
	}
	return b, err
}

func (w *Writer) take(b Batch) {
	for _, e := range b.Events {
		if kept(e) {
			w.add(e)
		}
	}
	for _, session := range slices.Sorted(maps.Keys(b.Missed)) {
		after := b.Missed[session]
		if w.cfg.Read == nil {
			w.lose(GapData{Cause: "the writer could not keep up with " + session, After: after})
			continue
		}
		// The mark may be older than what was read from the store since.
		after = max(after, w.read[session])
		if at, ok := w.behind[session]; !ok || after < at {
			w.behind[session] = after
		}
	}
}

// add encodes e unless it is or will be read from the store.
func (w *Writer) add(e Event) {
	if e.Seq > 0 {
		if _, ok := w.behind[e.SessionID]; ok {
			return
		}
		if upTo, ok := w.read[e.SessionID]; ok {
			if e.Seq <= upTo {
				return
			}
			delete(w.read, e.SessionID)
		}
	}
	line := w.encode(e)
	switch {
	case len(w.lines) == 0 || w.bytes+len(line) <= pendingBytes:
		w.lines = append(w.lines, line)
		w.bytes += len(line)
	case e.Seq > 0 && w.cfg.Read != nil:
		w.behind[e.SessionID] = e.Seq - 1
	default:
		w.lose(GapData{Cause: "too much waited to be written", Lost: 1})
	}
}

func (w *Writer) encode(e Event) []byte {
	data := cutStrings(EncodeData(e.Data), w.cfg.MaxChars)
	line := append(encode(e, data), '\n')
	if int64(len(line)) > min(longestLine, w.cfg.MaxBytes) {
		data = fmt.Appendf(nil, `{"left_out":"%d bytes"}`, len(data))
		line = append(encode(e, data), '\n')
	}
	return line
}

// lose adds to the gap that is marked next.
func (w *Writer) lose(g GapData) {
	if w.gap == nil {
		w.gap = &g
		return
	}
	w.gap.Lost += g.Lost
	if w.gap.Since == nil {
		w.gap.Since = g.Since
	}
	w.gap.After = 0 // no longer of one session
}

// flush writes the gap, if any, and all lines.
func (w *Writer) flush(ctx context.Context) {
	if len(w.lines) == 0 && w.gap == nil {
		return
	}
	out, gap := w.lines, 0
	if w.gap != nil {
		line := w.encode(Event{TS: w.cfg.Clock.Now(), Name: Gap, Data: *w.gap})
		out, gap = slices.Concat([][]byte{line}, w.lines), len(line)
	}
	n, err := w.appendLines(ctx, out)
	if n >= gap {
		w.gap = nil
		w.forget(n - gap)
	}
	if err != nil {
		w.stop(err)
		return
	}
	w.wait = 0
	if w.stopped {
		w.stopped = false
		w.tell(nil)
	}
}

// forget drops the lines that are wholly within the first n bytes written.
func (w *Writer) forget(n int) {
	for len(w.lines) > 0 && len(w.lines[0]) <= n {
		n -= len(w.lines[0])
		w.bytes -= len(w.lines[0])
		w.lines[0] = nil
		w.lines = w.lines[1:]
	}
	if len(w.lines) == 0 {
		w.lines = nil
	}
}

// stop notes a failed write and when to try again.
func (w *Writer) stop(err error) {
	now := w.cfg.Clock.Now()
	w.wait = min(max(2*w.wait, firstRetry), lastRetry)
	w.retryAt = now.Add(w.wait)
	since := now.UTC()
	w.lose(GapData{Cause: err.Error(), Since: &since})
	if !w.stopped {
		w.stopped = true
		w.tell(err)
	}
}

func (w *Writer) tell(err error) {
	if w.cfg.OnState != nil {
		w.cfg.OnState(err != nil, err)
	}
}

// catchUp reads from the store what did not fit, as far as writing works.
func (w *Writer) catchUp(ctx context.Context) {
	for _, session := range slices.Sorted(maps.Keys(w.behind)) {
		for more := true; more && !w.stopped; {
			more = w.readOn(ctx, session)
		}
	}
}

// readOn reads one page of a session that is behind and writes it; it reports whether there may be more.
func (w *Writer) readOn(ctx context.Context, session string) bool {
	after := w.behind[session]
	events, err := w.cfg.Read(ctx, session, after, readPage)
	delete(w.behind, session)
	if err != nil {
		w.lose(GapData{Cause: fmt.Sprintf("events of %s could not be read again: %v", session, err), After: after})
		w.flush(ctx)
		return false
	}
	// What was read before would keep add from taking these.
	delete(w.read, session)
	for _, e := range events {
		w.add(e)
		if _, full := w.behind[session]; full {
			break
		}
		after = e.Seq
	}
	if after > 0 {
		w.read[session] = after
	}
	w.flush(ctx)
	if len(events) == readPage || w.stopped {
		if _, full := w.behind[session]; !full {
			w.behind[session] = after
		}
	}
	_, more := w.behind[session]
	return more
}
