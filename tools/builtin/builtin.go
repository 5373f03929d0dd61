// Package builtin holds the tools that need nothing outside of the program: calculator, search_mock, todo and
// artifact.
//
// Each tool is one file with a constructor; All is the one place where they are registered.
package builtin

import (
	"io/fs"

	"vitrine/tools"
)

// Deps is what the tools need. All fields are required.
type Deps struct {
	// Corpus holds the documents of search_mock: Markdown files with front matter, at its root.
	Corpus fs.FS
	// Todos reads a session's list.
	Todos tools.TodoReader
	// Artifacts reads a session's large outputs.
	Artifacts tools.ArtifactReader
	// NewID gives the ids of new todos. It is safe for concurrent use.
	NewID func() string
}

// All makes every tool of this package.
func All(d Deps) []tools.Tool {
	return []tools.Tool{Artifact(d.Artifacts), Calculator(), SearchMock(d.Corpus), Todo(d.Todos, d.NewID)}
}
