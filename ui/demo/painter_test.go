package demo

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// Rows that are left as they were give the same bytes as all rows drawn again, whatever styles and links reach over line ends,
// however wide and many the rows are, and with new sizes in between.
func TestRowsLeftAlone(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"plain ", "部署", "👨‍👩‍👧‍👦", "e\u0301", "❤️ ", "\x1b[31mred\x1b[m", "\x1b[7mopen ", "\x1b[m", "\x1b[0m", "\x1b[1mbold\x1b[0m ",
		"\x1b]8;;http://a.example\x1b\\link", "\x1b]8;;\x1b\\", "", strings.Repeat("long ", 9)})
	row := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces, 0, 4).Draw(t, "row"), "") })
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]ansi.Method{ansi.WcWidth, ansi.GraphemeWidth}).Draw(t, "method")
		some, all := newPainter(colorprofile.TrueColor, method), newPainter(colorprofile.TrueColor, method)
		rows := rapid.SliceOfN(row, 1, 8).Draw(t, "rows")
		for n := range rapid.IntRange(2, 8).Draw(t, "frames") {
			if n == 0 || rapid.IntRange(0, 5).Draw(t, "resize") == 0 {
				w, h := rapid.IntRange(1, 30).Draw(t, "w"), rapid.IntRange(1, 8).Draw(t, "h")
				some.resize(w, h)
				all.resize(w, h)
			}
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0: // they scroll
				rows = append(rows[1:len(rows):len(rows)], row.Draw(t, "new"))
			case 1:
				rows = rapid.SliceOfN(row, 1, 8).Draw(t, "rows")
			default:
				rows[rapid.IntRange(0, len(rows)-1).Draw(t, "at")] = row.Draw(t, "new")
			}
			v := tea.NewView(strings.Join(rows, "\n"))
			all.rows = nil
			if got, want := some.frame(v), all.frame(v); got != want {
				t.Fatalf("frame %d of %q:\n%q\n%q", n, rows, got, want)
			}
		}
	})
}
