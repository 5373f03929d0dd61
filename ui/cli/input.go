package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"vitrine/runtime/clock"
)

// inputLimit bounds what is read from standard input; no context holds more.
const inputLimit = 8 << 20

// prompt finds what is asked: the arguments, or standard input for - and, when there are no arguments, if it is a pipe or a
// file. Nothing else ever reads standard input.
func (c *command) prompt(ctx context.Context, args []string) (string, error) {
	text := strings.Join(args, " ")
	switch {
	case len(args) == 1 && args[0] == "-", len(args) == 0 && c.proc.In == Data:
		var err error
		if text, err = c.readInput(ctx); err != nil {
			return "", err
		}
		text = strings.TrimRight(text, "\r\n")
		if strings.TrimSpace(text) == "" {
			return "", &UsageError{What: "standard input held no prompt", Do: `give it as an argument: vitrine run "..."`}
		}
	case len(args) == 0:
		return "", &UsageError{What: "there is no prompt", Do: `give it as an argument: vitrine run "...", or through a pipe`}
	case strings.TrimSpace(text) == "":
		return "", &UsageError{What: "the prompt is empty", Do: `give it as an argument: vitrine run "..."`}
	}
	return text, nil
}

// readInput reads standard input to its end. The reading itself cannot be stopped, so it stands aside and a signal only
// stops the waiting.
func (c *command) readInput(ctx context.Context) (string, error) {
	type result struct {
		data []byte
		err  error
	}
	q := clock.NewQueue[result](c.prog.Clock, 1)
	c.prog.Clock.Go(func() {
		data, err := io.ReadAll(io.LimitReader(c.proc.Stdin, inputLimit+1))
		q.TryPut(result{data, err})
	})
	r, err := q.Get(ctx)
	if err != nil {
		return "", errInterrupted
	}
	if r.err != nil {
		return "", fmt.Errorf("read standard input: %w", r.err)
	}
	if len(r.data) > inputLimit {
		return "", &UsageError{What: fmt.Sprintf("standard input holds more than %d MB", inputLimit>>20), Do: "ask about a part of it"}
	}
	return string(r.data), nil
}

// confirm asks a question that only a person can answer.
func (c *command) confirm(ctx context.Context, question string) (bool, error) {
	if c.proc.In != Terminal {
		return false, &UsageError{What: c.T("%s There is no terminal to ask", question), Do: "--yes answers it"}
	}
	c.err.raw(question + " [y/N] ")
	line, err := c.readLine(ctx)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// readLine reads one line of standard input, byte by byte: nothing behind it is taken.
func (c *command) readLine(ctx context.Context) (string, error) {
	q := clock.NewQueue[string](c.prog.Clock, 1)
	c.prog.Clock.Go(func() {
		var line []byte
		b := make([]byte, 1)
		for len(line) < 1000 {
			n, err := c.proc.Stdin.Read(b)
			if n > 0 && b[0] != '\n' {
				line = append(line, b[0])
			}
			if n > 0 && b[0] == '\n' || err != nil {
				break
			}
		}
		q.TryPut(string(line))
	})
	line, err := q.Get(ctx)
	if err != nil {
		return "", errInterrupted
	}
	return line, nil
}
