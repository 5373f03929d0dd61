package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/theme"

	"github.com/charmbracelet/colorprofile"
)

// busy records a minute of a screen at work: an answer streams, two spinners turn, times run, todos and a trace grow.
func busy(tb testing.TB, path string, w, h int, length time.Duration) {
	tb.Helper()
	r, err := New(Config{Width: w, Height: h, Start: began, Cast: path})
	if err != nil {
		tb.Fatal(err)
	}
	th := theme.New(theme.Options{Profile: colorprofile.TrueColor})
	s := newStage(r, w, h)
	left, mid := w/2, w/3
	right := w - left - mid - 2
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, 敏捷的棕色狐狸跳过懒狗。 ", 60)
	spin := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	const frame = time.Second / 30
	for n := range int(length / frame) {
		at := time.Duration(n) * frame
		turn := string(spin[int(at/(100*time.Millisecond))%len(spin)])
		said := ansi.Cut(text, 0, 2*n%2400)
		rows := strings.Split(ansi.Wrap(said, left-4, ""), "\n")
		if len(rows) > h-6 {
			rows = rows[len(rows)-h+6:]
		}
		row := func(r theme.Role, g theme.Bg, bold bool, width int, s string) string {
			s = ansi.Truncate(s, width, "")
			return th.Paint(r, g, bold, s+strings.Repeat(" ", width-ansi.StringWidth(s)))
		}
		var b strings.Builder
		b.WriteString(row(theme.Strong, theme.OnBase, true, w, " ⣏⣻ vitrine   ❯1 deploy plan "+turn+"   2 cost table ✓") + "\n")
		b.WriteString(row(theme.Accent, theme.OnBase, false, w, "    ⣿⣿⣿⣿⣶⣶⣶⣤⣤⣤⣀⣀⣀⣀  "+fmt.Sprintf("%.1fk of 6k", float64(n%60)/10)) + "\n")
		for y := range h - 4 {
			line := ""
			if y < len(rows) {
				line = "  " + rows[y]
			}
			b.WriteString(row(theme.Text, theme.OnBase, false, left, line) + th.Paint(theme.Rule, theme.OnBase, false, "⡇"))
			event, role := "", theme.Faint
			if y <= n/90 {
				event = fmt.Sprintf(" ✓ step %d  model   %4d ms", y, 40*y+7)
			}
			if y == n/90 {
				event, role = fmt.Sprintf(" %s model %s %.1f s", turn, strings.Repeat("⠿", n/3%14), at.Seconds()), theme.Warn
			}
			b.WriteString(row(role, theme.OnPanel, false, mid, event) + th.Paint(theme.Rule, theme.OnBase, false, "⡇"))
			b.WriteString(row(theme.Text, theme.OnPanel, y == 0, right, " ◦ todo") + "\n")
		}
		b.WriteString(row(theme.Text, theme.OnRaised, false, w, "❯ ") + "\n")
		b.WriteString(row(theme.Faint, theme.OnBase, false, w, fmt.Sprintf(" %s streaming   step 1 of 8   %.1f s   ~%d out", turn, at.Seconds(), n)))
		r.Frame(began.Add(at), string(s.paint.Frame(tea.View{Content: b.String(), Cursor: tea.NewCursor(2, h-2)})))
	}
	r.Until(began.Add(length))
	if err := r.Close(context.Background()); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkGIF makes a GIF of a minute at 120x36.
func BenchmarkGIF(b *testing.B) {
	dir := b.TempDir()
	cast := filepath.Join(dir, "a.cast")
	busy(b, cast, 120, 36, time.Minute)
	b.ResetTimer()
	for b.Loop() {
		if err := Export(b.Context(), cast, Files{GIF: filepath.Join(dir, "a.gif")}, Look{}); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "a.gif"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB/gif")
	if c, err := os.Stat(cast); err == nil {
		b.ReportMetric(float64(c.Size())/1e6, "MB/cast")
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // no Linux
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			b.ReportMetric(kb/1e3, "MB/peak")
		}
	}
}
