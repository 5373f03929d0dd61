package rotate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"vitrine/runtime/clock"
)

// LogMaxBytes and LogFiles bound the program's log: so many files of so many bytes, the newest included.
const (
	LogMaxBytes = 1 << 20
	LogFiles    = 2
)

const logCut = "\n[cut]\n"

// AppendLog appends text to the log at path, which is for its owner only. It stays together in one file; what fits into none
// loses its end. A folder that is missing is not made.
func AppendLog(clk clock.Clock, path, text string) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if len(text) >= LogMaxBytes {
		end := LogMaxBytes - len(logCut)
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + logCut
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := logFile(clk, path).Append(context.Background(), [][]byte{[]byte(text)})
	return err
}

// LogSize is how many files the log at path has, and their bytes.
func LogSize(path string) (files int, bytes int64, err error) { return logFile(nil, path).Size() }

func logFile(clk clock.Clock, path string) File {
	return File{Path: path, What: "log", MaxBytes: LogMaxBytes, Files: LogFiles, Clock: clk}
}
