package clock

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
)

// place is where in the program something was asked for: the innermost frames, made readable only when needed.
type place struct {
	pcs [8]uintptr
	n   int
}

// here is the place of the call.
func here() (p place) {
	p.n = runtime.Callers(2, p.pcs[:])
	return p
}

// String is the first frame outside this package, tests not counted as inside.
func (p place) String() string {
	if p.n == 0 {
		return "?"
	}
	inside := reflect.TypeFor[Sim]().PkgPath() + "."
	frames := runtime.CallersFrames(p.pcs[:p.n])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, inside) || strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return "?"
		}
	}
}

// report says who waits for what.
func (s *Sim) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "clock: nothing can ever happen at %s: nobody is ready and no timer is set", s.now.Format("2006-01-02T15:04:05.000000Z07:00"))
	for _, t := range inOrder(s.tasks) {
		fmt.Fprintf(&b, "\n  participant %d", t.id)
		if t == s.main {
			b.WriteString(" (Run)")
		}
		if p := t.waiting; p != nil {
			fmt.Fprintf(&b, " waits: %s", p.what)
			if !p.until.IsZero() {
				fmt.Fprintf(&b, " until %s", p.until.Format("15:04:05.000000"))
			}
			fmt.Fprintf(&b, " in %s", p.place)
		}
		fmt.Fprintf(&b, ", started in %s", t.origin)
	}
	return b.String()
}
