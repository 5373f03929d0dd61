package ui

import (
	"strings"
	"testing"

	"vitrine/runtime/config"
	"vitrine/trace"
)

// A hidden tab that ends, fails or asks tells so once, in the ways that were chosen; the tab that is seen does not, and no title
// gets a sequence of its own in.
func TestHiddenTabsTell(t *testing.T) {
	d := newDriver(t, 120, 36, func(o *Options, _ *fake) {
		o.Notify = []config.Notify{config.NotifyBell, config.NotifyOSC9, config.NotifyOSC777}
	})
	hidden := d.id()
	begin := func(id string) {
		d.f.mu.Lock()
		d.f.begin(id, "deploy; \x1b]0;x\a plan")
		d.f.mu.Unlock()
		d.short()
	}
	told := func() string {
		d.mu.Lock()
		defer d.mu.Unlock()
		s := d.raw
		d.raw = ""
		return s
	}
	begin(hidden)
	d.f.answer(hidden)
	d.short()
	if got := told(); got != "" {
		t.Errorf("the tab that is seen tells %q", got)
	}
	d.press("ctrl+x", "n")
	d.short()
	begin(hidden)
	d.f.answer(hidden)
	d.short()
	got := told()
	if n := strings.Count(got, "\x1b]"); n != 2 || !strings.HasPrefix(got, "\a\x1b]9;") || !strings.Contains(got, ": done\a\x1b]777;notify;vitrine;") || !strings.HasSuffix(got, ": done\a") {
		t.Errorf("a hidden tab that ends tells %q", got)
	}
	begin(hidden)
	d.f.asked(hidden, trace.ApprovalData{ID: "c1", Tool: "write_file", Arguments: []byte(`{}`)})
	d.short()
	if got := told(); !strings.Contains(got, ": needs you\a") {
		t.Errorf("a hidden tab that asks tells %q", got)
	}
	d.pass(5 * phaseLength)
	if got := told(); got != "" {
		t.Errorf("it is told again: %q", got)
	}
}

// Who wants no notification gets none.
func TestNotifyOff(t *testing.T) {
	d := newDriver(t, 120, 36)
	hidden := d.id()
	d.press("ctrl+x", "n")
	d.short()
	d.f.mu.Lock()
	d.f.begin(hidden, "deploy")
	d.f.mu.Unlock()
	d.f.answer(hidden)
	d.short()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.raw != "" {
		t.Errorf("%q", d.raw)
	}
}
