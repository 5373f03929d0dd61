package runtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Faults are failures that are made on purpose at named points of the program: before and after a commit, an effect, a
// publication, a write of the trace, a chunk. They are compiled in, so that what is tested is what runs. A nil *Faults does
// nothing. It is safe for concurrent use.
type Faults struct {
	mu    sync.Mutex
	hits  map[string]int
	rules []faultRule
	list  string
	hook  func(point string) error
}

// faultRule fires at the n-th hit of its point, and with more set at every later one.
type faultRule struct {
	point string
	n     int
	more  bool
	kind  string
}

// FaultEnv is the variable that ParseFaults is given.
const FaultEnv = "VITRINE_FAULT"

// ParseFaults reads VITRINE_FAULT: point:n:kind, several with commas between them. Kind is kill or stop (this process gets
// SIGKILL, SIGSTOP), eio or enospc (the point fails with that error); n counts the hits of the point from 1, and 2+ means the
// second and all that follow. list:FILE appends the name of each point that is hit to FILE. Empty text gives nil.
func ParseFaults(text string) (*Faults, error) {
	if text == "" {
		return nil, nil
	}
	f := &Faults{hits: map[string]int{}}
	if file, ok := strings.CutPrefix(text, "list:"); ok {
		if file == "" {
			return nil, fmt.Errorf("%s=%q: list: needs a file", FaultEnv, text)
		}
		f.list = file
		return f, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		rule, err := parseFaultRule(part)
		if err != nil {
			return nil, fmt.Errorf("%s=%q: %w", FaultEnv, text, err)
		}
		f.rules = append(f.rules, rule)
	}
	return f, nil
}

func parseFaultRule(text string) (faultRule, error) {
	fields := strings.Split(text, ":")
	if len(fields) != 3 || fields[0] == "" {
		return faultRule{}, fmt.Errorf("%q is not point:n:kill|stop|eio|enospc", text)
	}
	count, more := strings.CutSuffix(fields[1], "+")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return faultRule{}, fmt.Errorf("%q: the count %q is not a number from 1", text, fields[1])
	}
	switch fields[2] {
	case "kill", "stop", "eio", "enospc":
	default:
		return faultRule{}, fmt.Errorf("%q: %q is not kill, stop, eio or enospc", text, fields[2])
	}
	return faultRule{point: fields[0], n: n, more: more, kind: fields[2]}, nil
}

// NewFaults asks hook at every point; its error is the point's failure. Tests use it.
func NewFaults(hook func(point string) error) *Faults {
	return &Faults{hits: map[string]int{}, hook: hook}
}

// Hit says that the program is at a point. It returns the failure that is due here, nil almost always; kill does not return.
func (f *Faults) Hit(point string) error {
	if f == nil {
		return nil
	}
	kind, err := f.count(point)
	if err != nil {
		return err
	}
	switch kind {
	case "kill", "stop":
		err = signalSelf(kind)
	case "eio":
		err = syscall.EIO
	case "enospc":
		err = syscall.ENOSPC
	}
	if err == nil && f.hook != nil {
		err = f.hook(point)
	}
	if err != nil {
		return fmt.Errorf("fault at %s: %w", point, err)
	}
	return nil
}

// count notes the hit and gives the kind of fault that is due.
func (f *Faults) count(point string) (kind string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hits[point]++
	if f.list != "" {
		return "", appendLine(f.list, point)
	}
	for _, r := range f.rules {
		if n := f.hits[point]; r.point == point && (n == r.n || r.more && n > r.n) {
			return r.kind, nil
		}
	}
	return "", nil
}

func appendLine(path, line string) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("list fault points: %w", err)
	}
	_, err = w.WriteString(line + "\n")
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("list fault points: %w", err)
	}
	return nil
}
