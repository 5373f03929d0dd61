package prompt

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	notes, size := readNotes(folder)
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
// waited for. So is a link that leads out of the folder, since a folder from elsewhere may hold one to anything of the user's.
func readNotes(folder string) (notes string, size int64) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", 0
	}
	defer func() { _ = root.Close() }() // nothing is written
	info, err := root.Stat(ProjectNotes)
	if err != nil || !info.Mode().IsRegular() {
		return "", 0
	}
	f, err := root.Open(ProjectNotes)
	if err != nil {
		return "", 0
	}
	data, err := io.ReadAll(io.LimitReader(f, projectNotesLimit))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0
	}
	return string(data), max(info.Size(), int64(len(data)))
}
