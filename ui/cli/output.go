package cli

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"vitrine/ui/paint"
	"vitrine/ui/words"
)

// output writes for people and for programs, and remembers the first failure: nothing is written after it.
type output struct {
	w   io.Writer
	err error
	// lang is what lines are written in.
	lang words.Lang
}

func newOutput(w io.Writer) *output { return &output{w: w} }

// raw writes s as it is. Only text of ours, clean text and JSON, whose strings hold no control characters, goes here.
func (o *output) raw(s string) {
	if o.err != nil {
		return
	}
	if _, err := io.WriteString(o.w, s); err != nil {
		o.err = err
	}
}

// text writes s without control sequences, on as many lines as it has, and a line end.
func (o *output) text(s string) { o.raw(paint.Clean(s) + "\n") }

// line writes one line in the language of the command, whatever the arguments hold.
func (o *output) line(format words.Text, args ...any) {
	o.raw(paint.CleanLine(o.lang.T(format, args...)) + "\n")
}

// gone says that the reader has closed its end: its choice, and no failure.
func (o *output) gone() bool {
	return errors.Is(o.err, syscall.EPIPE) || errors.Is(o.err, io.ErrClosedPipe)
}

// table writes rows in columns that start at the same cell, two cells apart. The last column is not padded.
func (o *output) table(rows [][]string) {
	m := paint.Metrics{}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = paint.CleanLine(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], m.Width(row[i]))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-m.Width(cell)+2))
			}
		}
		o.raw(strings.TrimRight(b.String(), " ") + "\n")
	}
}
