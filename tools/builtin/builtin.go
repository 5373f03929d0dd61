// Package builtin holds the tools of the program: calculator, search_mock, todo and artifact, which need nothing outside of it,
// and read_file, list_dir and write_file, which work in one folder.
//
// Each tool is one file with a constructor; All is the one place where they are registered. The file tools share folder.go,
// where paths are resolved, private.go, which knows what is the program's own, and filetext.go and fileends.go, which know how texts
// are shown and kept; replace.go puts a file in the place of another.
package builtin

import (
	"io/fs"
	"os"

	"vitrine/tools"
)

// Deps is what the tools need. All fields but Root, Private and Fault are required.
type Deps struct {
	// Corpus holds the documents of search_mock: Markdown files with front matter, at its root.
	Corpus fs.FS
	// Todos reads a session's list.
	Todos tools.TodoReader
	// Artifacts reads a session's large outputs.
	Artifacts tools.ArtifactReader
	// NewID gives the ids of new todos. It is safe for concurrent use.
	NewID func() string
	// Root is the folder of the file tools; without it there are none. Private are files and folders that they leave alone; one
	// that ends in * stands for all names that begin so. Results tells them what the model has seen. Fault is asked at the points
	// of a write whether to fail there. Called is what errors call the root; empty: by its name.
	Root    *os.Root
	Called  string
	Private []string
	Results tools.ResultReader
	Fault   func(point string) error
}

// All makes every tool of this package.
func All(d Deps) []tools.Tool {
	all := []tools.Tool{Artifact(d.Artifacts), Calculator(), SearchMock(d.Corpus), Todo(d.Todos, d.NewID)}
	if d.Root != nil {
		all = append(all, Files(d)...)
	}
	return all
}
