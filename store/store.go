// Package store keeps sessions in one SQLite file and implements the ports runtime.Store, runtime.Library,
// runtime.Drafts and tools.TodoReader.
//
// Everything that changes the database is a job of the one writer (writer.go). Who has the turn is the writer: the goroutine that
// takes what waits, in order, into one transaction, a savepoint for each job, so that one fsync serves many, and a job that is
// refused takes nothing else with it; or, when nothing waits and nobody writes, the caller itself. After the commit the writer
// publishes the events and only then answers. Readers (read.go) use a pool of their own
// and hold no cursor for long.
//
// Between processes there are three kinds of locks, all freed by the kernel when a process dies: those around opening and
// migrating (open.go), the turnstile before each transaction that lets processes write in turn (lock.go), and the holder
// file that says that a process lives and so keeps its sessions (holder.go).
//
// A failed commit means that the outcome is unknown (CommitError): the connections are opened anew, Applied tells whether
// the transaction is in. A database file that was deleted, renamed or replaced under the program is noticed before the next
// transaction, and the one after that goes to a new file with the sessions that this process holds (rescue.go).
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// Config is what a store is made of. Path, Clock and NewID are needed.
type Config struct {
	// Path is the database file. It and its folder are made when they are missing.
	Path  string
	Clock clock.Clock
	// NewID gives UUIDv7.
	NewID func() string
	// Publish gets the events of each transaction after its commit, in commit order, from whoever writes, one at a time: it must
	// not wait for the store. It may be nil.
	Publish func(events ...trace.Event)
	// OnNotice is told, in one line, what the user should know: that the file is gone and where the sessions went. It is
	// called by whoever writes and may be nil.
	OnNotice func(text string)
	// Faults are failures made on purpose; nil is none.
	Faults *runtime.Faults
	// DetectFS names the file system of a folder when a database cannot be trusted to it, else "". nil asks the system.
	DetectFS func(dir string) (string, error)
	// LockWait bounds the wait for other processes before a transaction, and the one for other programs; 0 is five seconds.
	LockWait time.Duration
}

// Store is an open database. All methods are safe for concurrent use.
type Store struct {
	cfg      Config
	steps    []string // migrations
	holderID string
	queue    *clock.Queue[*job]
	writers  *clock.Group
	turn     *clock.Queue[struct{}] // holds the turn when nobody writes
	aside    *aside
	closing  atomic.Bool
	looks    looks

	// mu guards what readers and the writer share. Only the writer changes it.
	mu    sync.Mutex
	path  string
	conns *conns
	lost  error // why there are no connections

	// Of the writer alone, who has the turn:
	files *files
	dbID  string
	last  *conns // the closed ones, for what they know of the file
	gone  bool   // the file is not at its path any more
	// unknown are transactions that failed to commit: when they turn out to be in, their events are still to be published.
	unknown map[string]bool
	// heads are where this process left the sessions it writes to, see advance.
	heads map[string]head
	args  []driver.NamedValue
}

var (
	_ runtime.Store    = (*Store)(nil)
	_ runtime.Library  = (*Store)(nil)
	_ runtime.Drafts   = (*Store)(nil)
	_ tools.TodoReader = (*Store)(nil)
)

// Open opens the database, making or migrating it where needed. It fails with *OpenError or *NewerError, each one line that
// names the path and what to do, and then has changed nothing.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	steps, err := migrations()
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return openWith(ctx, cfg, steps)
}

// openWith is Open with the migrations of another version.
func openWith(ctx context.Context, cfg Config, steps []string) (*Store, error) {
	if cfg.DetectFS == nil {
		cfg.DetectFS = detectFS
	}
	if cfg.LockWait == 0 {
		cfg.LockWait = 5 * time.Second
	}
	s := &Store{cfg: cfg, steps: steps, holderID: cfg.NewID(), unknown: map[string]bool{}, heads: map[string]head{}}
	path, err := s.resolve(cfg.Path)
	if err != nil {
		return nil, err
	}
	if err := s.inspect(ctx, path); err != nil {
		return nil, err
	}
	// Times in the file's metadata, which fsync waits for too, are nothing to us. Where there is no fdatasync it stays as it is.
	_, _ = sqlite.Fdatasync(true)
	if s.files, s.conns, err = s.enter(ctx, path, nil); err != nil {
		return nil, err
	}
	s.path, s.aside = path, newAside(cfg.Clock, path, s.holderID)
	if s.dbID, err = getMeta(ctx, s.conns.write, metaID); err != nil {
		return nil, errors.Join(openFailed(path, err), s.shut())
	}
	s.queue = clock.NewQueue[*job](cfg.Clock, queueBound)
	s.turn = clock.NewQueue[struct{}](cfg.Clock, 1)
	s.turn.TryPut(struct{}{})
	s.writers = clock.NewGroup(cfg.Clock)
	s.writers.Go(s.writeAll)
	return s, nil
}

// Path is the database file. It changes when a lost file was replaced by another one elsewhere.
func (s *Store) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// Close commits what is queued, gives up this process's sessions and closes the database. When ctx ends first, closing goes
// on in the background.
func (s *Store) Close(ctx context.Context) error {
	release := func(t *txn) error {
		_, err := t.exec("UPDATE sessions SET holder = '' WHERE holder = ? AND holder <> ''", s.holderID)
		return err
	}
	err := s.do(context.WithoutCancel(ctx), release)
	var gone *FileGoneError
	if errors.As(err, &gone) {
		err = s.do(context.WithoutCancel(ctx), release) // the second one saves what can be saved
	}
	s.closing.Store(true)
	s.queue.Close()
	if errors.Is(err, runtime.ErrClosed) {
		err = nil
	}
	return errors.Join(err, s.writers.Wait(ctx))
}

// shut closes everything. It is the last thing that the writer goroutine does.
func (s *Store) shut() error {
	return errors.Join(s.swap(nil, runtime.ErrClosed).close(), s.files.close())
}

// reader gives the pool to read from.
func (s *Store) reader() (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return nil, s.lost
	}
	return s.conns.read, nil
}

// notice tells the user something.
func (s *Store) notice(format string, args ...any) {
	if s.cfg.OnNotice != nil {
		s.cfg.OnNotice(fmt.Sprintf(format, args...))
	}
}

// publish hands committed events out.
func (s *Store) publish(events []trace.Event) {
	if s.cfg.Publish != nil && len(events) > 0 {
		s.cfg.Publish(events...)
	}
}
