// Package assets holds the files that are part of the binary: the library of search_mock, the demos, and what other parts of the program
// need to have at hand without an installation. It holds no code beyond giving them out.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed corpus
var corpus embed.FS

// Corpus gives the documents of search_mock: Markdown files with front matter (title, lang, tags), at the root.
func Corpus() fs.FS {
	sub, err := fs.Sub(corpus, "corpus")
	if err != nil {
		panic(err) // only for an invalid path
	}
	return sub
}

//go:embed demos
var demos embed.FS

// Demos gives the built-in demo scripts, NAME.toml at the root.
func Demos() fs.FS {
	sub, err := fs.Sub(demos, "demos")
	if err != nil {
		panic(err) // only for an invalid path
	}
	return sub
}
