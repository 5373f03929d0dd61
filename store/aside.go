package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vitrine/runtime"
	"vitrine/runtime/clock"
)

// What users typed is kept in files beside the database while that cannot be written. Each process has a file of its own, named
// after its holder file, which is replaced as a whole; what a process left that is gone is read by the next one that opens the
// session, and taken out once it is stored.

const (
	asideInfix = "-unsaved-"
	asideExt   = ".json"
	asideNew   = ".new" // behind the name of one that is being written
	// mostAside is the largest file that is read: what the inputs of many tabs hold at most.
	mostAside = 256 << 20
)

// asides are the sessions of one file.
type asides map[string]runtime.Aside

// aside is this process's file, and what it knows of those of others. Its methods are called by alone, which is safe for concurrent
// use.
type aside struct {
	prefix string // of all files: the database's path, and asideInfix
	own    string // this process's

	// turn is the one place in which somebody may work on the files, and on what follows: a full queue of one. Disks take their time.
	turn  *clock.Queue[struct{}]
	kept  asides
	found map[string][]string // the files of others that a session was found in
}

// newAside makes what keeps texts beside the database db, in the name of a holder.
func newAside(c clock.Clock, db, holder string) *aside {
	prefix := db + asideInfix
	return &aside{prefix: prefix, own: prefix + holder + asideExt, turn: clock.NewQueue[struct{}](c, 1), kept: asides{}, found: map[string][]string{}}
}

// alone does f when nobody else works on the files; an error of its own says that ctx ended before.
func (a *aside) alone(ctx context.Context, f func() error) error {
	if err := a.turn.Put(ctx, struct{}{}); err != nil {
		return fmt.Errorf("wait for the files of what was typed: %w", err)
	}
	defer a.turn.TryGet()
	return f()
}

// keep puts what was typed in a session into this process's file; no texts take it out.
func (a *aside) keep(session string, texts runtime.Aside) error {
	before, had := a.kept[session]
	if a.kept[session] = texts; len(texts.Texts) == 0 {
		delete(a.kept, session)
	}
	err := writeAsides(a.own, a.kept)
	if err != nil && had {
		a.kept[session] = before
	} else if err != nil {
		delete(a.kept, session)
	}
	return err
}

// forget takes a session out of this process's file and of those it was found in. What cannot be taken out is brought back once
// more at worst.
func (a *aside) forget(session string) {
	if _, ok := a.kept[session]; ok {
		delete(a.kept, session)
		_ = writeAsides(a.own, a.kept)
	}
	for _, path := range a.found[session] {
		if all, err := readAsides(path); err == nil {
			delete(all, session)
			_ = writeAsides(path, all)
		}
	}
	delete(a.found, session)
}

// left gives what was kept aside of a session by this process and by those that are no more, the oldest first; gone says whether the
// one behind a holder is.
func (a *aside) left(session string, gone func(holder string) bool) []runtime.Aside {
	var out []runtime.Aside
	if texts, ok := a.kept[session]; ok {
		texts.Own = true
		out = append(out, texts)
	}
	a.found[session] = nil
	for holder, path := range a.files() {
		if path == a.own || !gone(holder) {
			continue
		}
		_ = os.Remove(path + asideNew)
		all, err := readAsides(path)
		if err != nil {
			continue // it is left as it is
		}
		if texts, ok := all[session]; ok {
			out = append(out, texts)
			a.found[session] = append(a.found[session], path)
		}
	}
	slices.SortFunc(out, func(x, y runtime.Aside) int { return x.At.Compare(y.At) })
	return out
}

// drop takes sessions that are no more out of all files.
func (a *aside) drop(gone func(holder string) bool, sessions ...string) {
	for _, session := range sessions {
		a.left(session, gone)
		a.forget(session)
	}
}

// files are those beside the database, by their holders.
func (a *aside) files() map[string]string {
	entries, err := os.ReadDir(filepath.Dir(a.prefix))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), filepath.Base(a.prefix))
		if holder, isOne := strings.CutSuffix(name, asideExt); ok && isOne && e.Type().IsRegular() {
			out[holder] = filepath.Join(filepath.Dir(a.prefix), e.Name())
		}
	}
	return out
}

func readAsides(path string) (asides, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	if info.Size() > mostAside {
		return nil, fmt.Errorf("read %s: %d bytes are too many", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var all asides
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return all, nil
}

// writeAsides puts all in place of the file, or takes that away when there is nothing; whenever it is cut off the file is whole.
func writeAsides(path string, all asides) (err error) {
	if len(all) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", path, err)
		}
		return nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	fresh := path + asideNew
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(fresh))
	}
	return nil
}
