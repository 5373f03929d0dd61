package ui

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkFrame is what a frame costs beside a stream: one delta, and the screen composed anew.
func BenchmarkFrame(b *testing.B) {
	d := newDriver(b, 160, 44)
	d.turns(20)
	d.enter("more")
	d.f.stream(d.id(), strings.Repeat("words and 文字 ", 200))
	d.pass(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		d.m.dirty = true
		d.m.env.style.Phase++
		_ = d.m.View()
	}
}

// BenchmarkKey is what a key costs from Update to the frame.
func BenchmarkKey(b *testing.B) {
	d := newDriver(b, 160, 44)
	d.turns(20)
	for i := 0; b.Loop(); i++ {
		d.m.Update(keyOf("a"))
		_ = d.m.View()
		if i%50 == 49 {
			d.m.page().edit.SetText("")
		}
	}
}
