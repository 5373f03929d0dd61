package builtin

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ignoreRule is a row of a .gitignore file.
type ignoreRule struct {
	base     string // the folder of the file
	segments []string
	anchored bool // it is matched from the folder on, else by the name alone
	dirs     bool // it is for folders only
	keep     bool // it takes back what a rule before it left out
}

// ignored reads the rules of a folder. What cannot be read, or is no file, has none.
func (f *folder) ignored(dir string) []ignoreRule {
	at := filepath.FromSlash(path.Join(dir, ".gitignore"))
	info, err := f.root.Lstat(at)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := f.root.OpenFile(at, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // nothing is written
	data, err := io.ReadAll(io.LimitReader(file, maxIgnore))
	if err != nil {
		return nil
	}
	return ignoreRules(dir, string(data))
}

func ignoreRules(dir, text string) []ignoreRule {
	var out []ignoreRule
	for row := range strings.Lines(text) {
		row = strings.TrimRight(row, "\r\n")
		if trimmed := strings.TrimRight(row, " \t"); !strings.HasSuffix(trimmed, `\`) {
			row = trimmed
		}
		if row == "" || row[0] == '#' {
			continue
		}
		r := ignoreRule{base: dir}
		row, r.keep = strings.CutPrefix(row, "!")
		row, r.dirs = strings.CutSuffix(row, "/")
		r.anchored = strings.Contains(row, "/")
		row = strings.ReplaceAll(strings.TrimPrefix(row, "/"), "[!", "[^")
		if row == "" {
			continue
		}
		r.segments = strings.Split(row, "/")
		out = append(out, r)
	}
	return out
}

// leftOut says that the rules leave a path out; the last one that fits decides.
func leftOut(rules []ignoreRule, at string, dir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if r := &rules[i]; (dir || !r.dirs) && r.fits(at) {
			return !r.keep
		}
	}
	return false
}

func (r *ignoreRule) fits(at string) bool {
	if !r.anchored {
		ok, _ := path.Match(r.segments[0], path.Base(at)) // a pattern that is none fits nothing
		return ok
	}
	if r.base != "." {
		at = strings.TrimPrefix(at, r.base+"/")
	}
	return fitsAll(r.segments, strings.Split(at, "/"))
}

// fitsAll matches patterns with the parts of a path; ** stands for any number of parts.
func fitsAll(patterns, parts []string) bool {
	for len(patterns) > 0 {
		if patterns[0] == "**" {
			if len(patterns) == 1 {
				return len(parts) > 0
			}
			for i := range parts {
				if fitsAll(patterns[1:], parts[i:]) {
					return true
				}
			}
			return false
		}
		if len(parts) == 0 {
			return false
		}
		if ok, _ := path.Match(patterns[0], parts[0]); !ok {
			return false
		}
		patterns, parts = patterns[1:], parts[1:]
	}
	return len(parts) == 0
}
