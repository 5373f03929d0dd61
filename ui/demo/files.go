package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mostFiles bounds the table [files]; how much they hold is bounded with the script.
const mostFiles = 1000

// checkFiles checks the table [files], or says what is wrong and at which name.
func (s *Script) checkFiles() (name string, err error) {
	if len(s.Files) > mostFiles {
		return "", fmt.Errorf("there are %d files; %d are allowed", len(s.Files), mostFiles)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		bare, folder := strings.CutSuffix(name, "/")
		switch {
		case !fs.ValidPath(bare) || bare == "." || strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r == '\\' || r == ':' }):
			return name, fmt.Errorf("%q is no path inside the demo's folder, such as notes.txt or docs/a.md", name)
		case folder && s.Files[name] != "":
			return name, fmt.Errorf("%q is a folder, and a folder has no text", name)
		}
		if _, ok := s.Files[bare]; ok && folder {
			return name, fmt.Errorf("%q is a file too", bare)
		}
		for dir := path.Dir(bare); dir != "."; dir = path.Dir(dir) {
			if _, ok := s.Files[dir]; ok {
				return name, fmt.Errorf("%q is a file too", dir)
			}
		}
	}
	return "", nil
}

// WriteFiles makes the files of the table [files] in a folder.
func (s Script) WriteFiles(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the demo's folder: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		bare, folder := strings.CutSuffix(name, "/")
		in := path.Dir(bare)
		if folder {
			in = bare
		}
		if err := root.MkdirAll(filepath.FromSlash(in), 0o700); err != nil {
			return fmt.Errorf("make the demo's files: %w", err)
		}
		if folder {
			continue
		}
		if err := root.WriteFile(filepath.FromSlash(bare), []byte(s.Files[name]), 0o600); err != nil {
			return fmt.Errorf("make the demo's files: %w", err)
		}
	}
	return nil
}
