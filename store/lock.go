package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vitrine/runtime/clock"
)

// errLockBusy says that a lock was not free within the time allowed.
var errLockBusy = errors.New("lock is taken by another process")

// fileLock is an advisory lock on a file of its own. It is used by one goroutine at a time.
type fileLock struct {
	path string
	f    *os.File
}

// openLock opens the lock's file, making it when it is missing.
func openLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %s: %w", path, err)
	}
	return &fileLock{path: path, f: f}, nil
}

// try takes the lock if it is free.
func (l *fileLock) try(exclusive bool) (bool, error) {
	ok, err := tryLockFile(l.f, exclusive)
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", l.path, err)
	}
	return ok, nil
}

// acquire waits for the exclusive lock, for at most wait. It asks again and again instead of blocking in the kernel, so that the wait
// has an end (the other process may be stopped) and goes through the clock.
func (l *fileLock) acquire(ctx context.Context, c clock.Clock, wait time.Duration) error {
	// A healthy process commits within milliseconds, so the questions are dense at first; after a while something is wrong.
	const dense, sparse, soon = 500 * time.Microsecond, 5 * time.Millisecond, 100 * time.Millisecond
	start := c.Now()
	end := start.Add(wait)
	for pause := dense; ; {
		ok, err := l.try(true)
		if err != nil || ok {
			return err
		}
		now := c.Now()
		if !now.Before(end) {
			return fmt.Errorf("lock %s: %w", l.path, errLockBusy)
		}
		if now.Sub(start) > soon {
			pause = sparse
		}
		if err := c.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (l *fileLock) release() error {
	if err := unlockFile(l.f); err != nil {
		return fmt.Errorf("unlock %s: %w", l.path, err)
	}
	return nil
}

// close frees the lock and closes its file.
func (l *fileLock) close() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}

// turnstile is the writers' lock, fair between processes. It is two locks: who wants to write first takes the turn, with it
// waits for the write lock, and gives the turn back once it has that. So a process that has just written cannot write again
// before the one that was waiting: that one has the turn.
type turnstile struct {
	turn, write *fileLock
}

func openTurnstile(dir string) (*turnstile, error) {
	turn, err := openLock(filepath.Join(dir, "turn"))
	if err != nil {
		return nil, err
	}
	write, err := openLock(filepath.Join(dir, "write"))
	if err != nil {
		return nil, errors.Join(err, turn.close())
	}
	return &turnstile{turn: turn, write: write}, nil
}

func (t *turnstile) acquire(ctx context.Context, c clock.Clock, wait time.Duration) error {
	start := c.Now()
	if err := t.turn.acquire(ctx, c, wait); err != nil {
		return err
	}
	err := t.write.acquire(ctx, c, wait-c.Now().Sub(start))
	return errors.Join(err, t.turn.release())
}

func (t *turnstile) release() error { return t.write.release() }

func (t *turnstile) close() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.turn.close(), t.write.close())
}
