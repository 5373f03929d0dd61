package builtin

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxOurs bounds how many entries of folders of ours are looked at for one that a file is the same as.
const maxOurs = 20_000

// private is what the tools leave alone. A path is known by its names, and whatever it is called by what it is on the disk: a
// hard link, a mounted folder and another spelling are other names of the same.
type private struct {
	names []string // relative to the root, for what lies in it
	paths []ourPath
}

// ourPath is a path of the system; begins says that its last part is only the beginning of a name.
type ourPath struct {
	dir, base string
	begins    bool
}

func (o ourPath) matches(base string) bool {
	if o.begins {
		return len(base) >= len(o.base) && strings.EqualFold(base[:len(o.base)], o.base)
	}
	return strings.EqualFold(base, o.base)
}

// privateIn reads paths of which one that ends in * stands for all names that begin so.
func privateIn(root *os.Root, paths []string) private {
	var out private
	for _, p := range paths {
		if rel, ok := inRoot(root, p); ok {
			out.names = append(out.names, rel)
		}
		abs, err := filepath.Abs(p)
		if err != nil || holdsRoot(root, abs) { // what the tools work in is not withheld from them
			continue
		}
		base, begins := strings.CutSuffix(filepath.Base(abs), "*")
		out.paths = append(out.paths, ourPath{dir: filepath.Dir(abs), base: base, begins: begins})
	}
	return out
}

// holdsRoot says that the root is, or lies in, the folder p.
func holdsRoot(root *os.Root, p string) bool {
	base, err := filepath.Abs(root.Name())
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(realPath(p), realPath(base))
	return err == nil && filepath.IsLocal(rel)
}

// realPath is a path without links, when it leads somewhere.
func realPath(p string) string {
	if to, err := filepath.EvalSymlinks(p); err == nil {
		return to
	}
	return p
}

// inRoot gives a path of the system relative to the root, when it lies in it; links in front of its last part are followed.
func inRoot(root *os.Root, p string) (rel string, ok bool) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", false
	}
	base, err := filepath.Abs(root.Name())
	if err != nil {
		return "", false
	}
	rel, err = filepath.Rel(realPath(base), filepath.Join(realPath(filepath.Dir(abs)), filepath.Base(abs)))
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel) && rel != "."
}

// isPrivate says that a path without links is, or lies in, what is private, by its names. Case does not count: some file systems
// do not know it.
func (f *folder) isPrivate(to string) bool {
	for _, p := range f.private.names {
		if begin, ok := strings.CutSuffix(p, "*"); ok && len(to) >= len(begin) && strings.EqualFold(to[:len(begin)], begin) {
			return true
		}
		if len(to) >= len(p) && strings.EqualFold(to[:len(p)], p) && (len(to) == len(p) || to[len(p)] == '/') {
			return true
		}
	}
	return false
}

// leadsIntoPrivate says the same of a path that goes through a folder of ours under another name.
func (f *folder) leadsIntoPrivate(to string) bool {
	above, err := f.root.Stat(".")
	if err != nil {
		return false // then nothing can be opened
	}
	at := ""
	for _, part := range strings.Split(to, "/") {
		if f.private.named(above, part) {
			return true
		}
		at = path.Join(at, part)
		info, err := f.root.Lstat(filepath.FromSlash(at))
		if err != nil || !info.IsDir() {
			return false // what it is, if it is there, is looked at when it is open
		}
		if f.private.isFolder(info) {
			return true
		}
		above = info
	}
	return false
}

// named says that an entry of the folder above is one of ours.
func (p private) named(above fs.FileInfo, base string) bool {
	for _, o := range p.paths {
		if !o.matches(base) {
			continue
		}
		if dir, err := os.Stat(o.dir); err == nil && os.SameFile(dir, above) {
			return true
		}
	}
	return false
}

// isFolder says that a folder is one of ours.
func (p private) isFolder(dir fs.FileInfo) bool {
	for _, o := range p.paths {
		if o.begins {
			continue
		}
		if ours, err := os.Stat(filepath.Join(o.dir, o.base)); err == nil && os.SameFile(ours, dir) {
			return true
		}
	}
	return false
}

// holds says that a file is one of ours.
func (p private) holds(file fs.FileInfo) bool {
	left := maxOurs
	seen := map[string]bool{}
	for _, o := range p.paths {
		if !o.begins {
			if at := filepath.Join(o.dir, o.base); same(at, file) || linkedTwice(file) && sameBelow(at, file, &left) {
				return true
			}
			continue
		}
		if seen[o.dir+"/"+o.base] {
			continue
		}
		seen[o.dir+"/"+o.base] = true
		for _, base := range namesIn(o.dir) {
			if o.matches(base) && same(filepath.Join(o.dir, base), file) {
				return true
			}
		}
	}
	return false
}

// namesIn gives the names in a folder of the system, in no order; none when it cannot be read.
func namesIn(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }() // it was only read
	names, _ := d.Readdirnames(maxEntries)
	return names
}

// same says that a file is what a path of ours leads to.
func same(at string, file fs.FileInfo) bool {
	info, err := os.Stat(at)
	return err == nil && os.SameFile(info, file)
}

// sameBelow says that a file lies in a folder of ours under another name, or in one in it. It is asked of files that have several
// links; others are known by the folders that lead to them.
func sameBelow(dir string, file fs.FileInfo, left *int) bool {
	for _, base := range namesIn(dir) {
		if *left--; *left < 0 {
			return false
		}
		at := filepath.Join(dir, base)
		info, err := os.Lstat(at)
		if err != nil {
			continue
		}
		if os.SameFile(info, file) || info.IsDir() && sameBelow(at, file, left) {
			return true
		}
	}
	return false
}
