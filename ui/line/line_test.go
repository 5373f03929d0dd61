package line_test

import (
	"fmt"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

func TestRow(t *testing.T) {
	s := line.Style{Theme: theme.New(theme.Options{})}
	left := []line.Span{line.Say(theme.Text, " name"), line.Bold(theme.Strong, " value"), line.Weight(theme.Faint, true, " 中文")}
	for _, c := range []struct {
		w    int
		want string
	}{
		{26, " name value 中文       7 s"},
		{20, " name value 中文 7 s"},
		{16, " name value⋯ 7 s"},
		{3, " n⋯"},
		{0, ""},
		{-1, ""},
	} {
		if got := ansi.Strip(s.Row(theme.OnBase, c.w, left, line.Say(theme.Faint, "7 s"))); got != c.want {
			t.Errorf("%d: %q, want %q", c.w, got, c.want)
		}
	}
	if got := s.Text("a\x1b[31mb\nc"); got != "ab c" {
		t.Errorf("%q", got)
	}
	if shown, w := s.Cells("🇩🇪"); shown != "DE" || w != 2 {
		t.Errorf("%q %d", shown, w)
	}
	if s.Blank(theme.OnBase, 3) != "   " {
		t.Error("blank")
	}
}

func TestRowsAreAsWideAsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := line.Style{Theme: theme.New(theme.Options{}), Metrics: paint.Metrics{Grapheme: rapid.Bool().Draw(t, "grapheme")}}
		text := rapid.StringMatching(`[a-z 中👨‍👩‍👧é]{0,20}`)
		w := rapid.IntRange(1, 50).Draw(t, "width")
		row := s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Text, s.Text(text.Draw(t, "left"))), line.Say(theme.Text, s.Text(text.Draw(t, "more")))},
			line.Say(theme.Faint, s.Text(text.Draw(t, "right"))))
		if n := s.Metrics.Width(row); n != w {
			t.Fatalf("%d wide, want %d: %q", n, w, row)
		}
	})
}

// All cells are given out in the end, parts that are there have one, and none is negative.
func TestDivide(t *testing.T) {
	if got := line.Divide(20, 6000, 900, 400, 5000); fmt.Sprint(got) != "[3 1 16]" {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		cells, whole := rapid.IntRange(0, 60).Draw(t, "cells"), rapid.IntRange(-5, 9000).Draw(t, "whole")
		parts := rapid.SliceOfN(rapid.IntRange(-3, 5000), 0, 4).Draw(t, "parts")
		sum := 0
		for i, n := range line.Divide(cells, whole, parts...) {
			if n < 0 || parts[i] <= 0 && n > 0 || parts[i] > 0 && n == 0 && sum < cells {
				t.Fatalf("part %d of %v has %d cells", i, parts, n)
			}
			sum += n
		}
		if sum > cells {
			t.Fatalf("%d cells of %d", sum, cells)
		}
	})
}

// Hints go as wholes, the last ones first, and sentences by what stands behind their last comma; what stands alone stays.
func TestWholeHintsAndClauses(t *testing.T) {
	s := line.Style{Theme: theme.New(theme.Options{}), Metrics: paint.Metrics{Grapheme: true}}
	for _, c := range []struct {
		room        int
		hints, text string
	}{{40, "Enter opens it   Esc close", "y copies, Esc ends it; or G"}, {26, "Enter opens it   Esc close", "y copies, Esc ends it"}, {25, "Enter opens it", "y copies, Esc ends it"},
		{14, "Enter opens it", "y copies"}, {3, "Enter opens it", "y copies, Esc ends it; or G"}} {
		if got := s.Whole("Enter opens it   Esc close", c.room); got != c.hints {
			t.Errorf("of hints in %d cells: %q, not %q", c.room, got, c.hints)
		}
		if got := s.Clauses("y copies, Esc ends it; or G", c.room); got != c.text {
			t.Errorf("of a sentence in %d cells: %q, not %q", c.room, got, c.text)
		}
	}
}
