package prompt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// ProjectNotes is the file in which a project tells agents about itself.
	ProjectNotes = "AGENTS.md"
	// projectNotesLimit is how much of it is taken, in bytes.
	projectNotesLimit = 8 << 10
)

// WithNotes is the system prompt with what the project in a folder says to agents behind it. Too much of that is cut at the end
// of a line, and the model is told.
func WithNotes(system, folder string) string {
	notes, size := readNotes(filepath.Join(folder, ProjectNotes))
	if notes == "" {
		return system // most folders have none
	}
	part := ""
	if int64(len(notes)) < size {
		if i := strings.LastIndexByte(notes, '\n'); i > 0 {
			notes = notes[:i]
		}
		part = fmt.Sprintf(", the first %d of %d bytes", len(notes), size)
	}
	return system + "\n\nWhat this project says to agents (" + ProjectNotes + part + "):\n" + strings.ToValidUTF8(notes, "")
}

// readNotes gives the beginning of the project's notes, and their size. What is no file is left alone: a pipe of that name would be
// waited for.
func readNotes(path string) (notes string, size int64) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", 0
	}
	f, err := os.Open(path)
	if err != nil {
		return "", 0
	}
	data, err := io.ReadAll(io.LimitReader(f, projectNotesLimit))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0
	}
	return string(data), max(info.Size(), int64(len(data)))
}
