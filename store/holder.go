package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// holderInfo is what a holder file says of its process. It is for people and messages only: whether the process lives is
// told by the lock, which no clock and no pid can fake.
type holderInfo struct {
	PID       int       `json:"pid"`
	Program   string    `json:"program"`
	Database  string    `json:"database"`
	StartedAt time.Time `json:"started_at"`
}

// holder is this process's own holder file, locked as long as it lives.
type holder struct {
	id   string
	lock *fileLock
}

// holdersDir is the folder of the holder files, beside the database.
func holdersDir(db string) string { return filepath.Join(filepath.Dir(db), "holders") }

// newHolder makes and locks the file of id. Cleaning in another process may remove it between the two; then it is made again.
func newHolder(dir, id string, info holderInfo) (*holder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder %s: %w", dir, err)
	}
	body, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("describe holder: %w", err)
	}
	path := filepath.Join(dir, id)
	const tries = 100
	for range tries {
		l, err := openLock(path)
		if err != nil {
			return nil, err
		}
		ok, err := l.try(true)
		if err == nil && ok && sameFile(l.f, path) {
			if _, err := l.f.WriteAt(append(body, '\n'), 0); err != nil {
				return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), l.close())
			}
			return &holder{id: id, lock: l}, nil
		}
		if err = errors.Join(err, l.close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("lock %s: %w", path, errLockBusy)
}

// inPlace says that the file still is what others find under the holder's name in dir.
func (h *holder) inPlace(dir string) bool { return sameFile(h.lock.f, filepath.Join(dir, h.id)) }

// close removes the file and frees the lock.
func (h *holder) close() error {
	if h == nil {
		return nil
	}
	var err error
	if sameFile(h.lock.f, h.lock.path) {
		err = os.Remove(h.lock.path)
	}
	return errors.Join(err, h.lock.close())
}

// probeHolder says whether the process behind a holder id lives, and what its file says. The lock is asked for shared, so
// that two processes that ask at once do not take each other for the holder.
func probeHolder(dir, id string) (alive bool, info holderInfo, err error) {
	if id == "" || id != filepath.Base(id) {
		return false, info, nil
	}
	path := filepath.Join(dir, id)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, info, nil
	}
	if err != nil {
		return false, info, fmt.Errorf("open holder %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	free, err := tryLockFile(f, false)
	if err != nil {
		return false, info, fmt.Errorf("probe holder %s: %w", path, err)
	}
	const most = 64 << 10
	body, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return false, info, fmt.Errorf("read holder %s: %w", path, err)
	}
	if json.Unmarshal(body, &info) != nil {
		info = holderInfo{} // killed while it wrote: the lock still tells the truth
	}
	return !free, info, nil
}

// cleanHolders removes the files that dead processes left. It is called under the open lock.
func cleanHolders(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list holders: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		l, err := openLock(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		free, err := l.try(true)
		if err == nil && free && sameFile(l.f, l.path) {
			err = os.Remove(l.path)
		}
		if err = errors.Join(err, l.close()); err != nil {
			return fmt.Errorf("clean holders: %w", err)
		}
	}
	return nil
}

// livingHolders gives what the living processes on the database db say of themselves.
func livingHolders(dir, db string) []holderInfo {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []holderInfo
	for _, e := range entries {
		if alive, info, err := probeHolder(dir, e.Name()); err == nil && alive && info.Database == db {
			out = append(out, info)
		}
	}
	return out
}

// sameFile says that path leads to the open file f.
func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
