package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"modernc.org/sqlite"
)

// readers is how many connections read at once.
const readers = 4

// conns are the connections to one database file: one that writes, used by the writer alone, and a pool that only
// reads.
type conns struct {
	path  string
	info  os.FileInfo // of the file that was opened: it tells when another one stands at the path
	db    *sql.DB
	write *sql.Conn
	stmts map[string]driver.Stmt // of the writing connection, for transactions
	read  *sql.DB
}

// dsn makes the name of a database for the driver: path, SQLite's parameters, and pragmas.
func dsn(path string, params url.Values, pragmas ...string) string {
	q := url.Values{}
	for k, v := range params {
		q[k] = v
	}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	u := url.URL{Path: slashed}
	return "file:" + u.EscapedPath() + "?" + q.Encode()
}

func writerDSN(path string, wait time.Duration) string {
	return dsn(path, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_dqs": {"0"}, "_error_rc": {"1"}},
		busyTimeout(wait), "synchronous(FULL)", "journal_size_limit(67108864)", "foreign_keys(1)",
		"temp_store(MEMORY)") // else what a savepoint would undo goes into a file of its own from 64 KB on
}

func readerDSN(path string, wait time.Duration) string {
	return dsn(path, url.Values{"mode": {"rw"}, "_query_only": {"1"}, "_dqs": {"0"}, "_error_rc": {"1"}}, busyTimeout(wait))
}

// busyTimeout is how long SQLite waits for programs that do not know our locks.
func busyTimeout(wait time.Duration) string {
	return fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds())
}

// readerOnlyDSN reads a database that others have open, log included.
func readerOnlyDSN(path string) string {
	return dsn(path, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_error_rc": {"1"}}, "busy_timeout(1000)")
}

// probeDSN reads a file that may not be ours and leaves no trace. It does not see the log.
func probeDSN(path string) string {
	return dsn(path, url.Values{"mode": {"ro"}, "immutable": {"1"}, "_error_rc": {"1"}})
}

// pinned opens connections to one file only: when another one stands at the path it fails, so that nobody reads a strange
// database in place of ours.
type pinned struct {
	driver.Connector
	check func() error
}

// Connect opens a connection and checks that it is to the right file. SQLite opens the log with the first read only: nothing
// may be read before the check, or our log would go into a strange database.
func (p pinned) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	wrong := p.check()
	if err != nil {
		return nil, errors.Join(wrong, err)
	}
	if wrong != nil {
		return nil, errors.Join(wrong, c.Close())
	}
	return c, nil
}

// openConns opens the writing connection to the file at path, which exists, and prepares the readers. They wait so long for
// another program that has the database locked.
func openConns(ctx context.Context, path string, wait time.Duration) (*conns, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := &conns{path: path, info: info, stmts: map[string]driver.Stmt{}}
	if c.db, err = c.pool(writerDSN(path, wait)); err != nil {
		return nil, err
	}
	c.db.SetMaxOpenConns(1)
	if c.write, err = c.db.Conn(ctx); err != nil {
		return nil, errors.Join(err, c.db.Close())
	}
	if c.read, err = c.pool(readerDSN(path, wait)); err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.read.SetMaxOpenConns(readers)
	c.read.SetMaxIdleConns(readers)
	return c, nil
}

func (c *conns) pool(name string) (*sql.DB, error) {
	inner, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.path, err)
	}
	return sql.OpenDB(pinned{Connector: inner, check: c.check}), nil
}

// warm has one reader open the database and its log, so that it can read on when the file is gone from its path.
func (c *conns) warm(ctx context.Context) error {
	var n int
	return c.read.QueryRowContext(ctx, "SELECT count(*) FROM meta").Scan(&n)
}

// check says whether the path still leads to the file that was opened. It opens nothing: closing a second handle of the
// file would drop SQLite's locks.
func (c *conns) check() error {
	same, err := leadsTo(c.path, c.info)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &FileGoneError{Path: c.path}
	case err != nil:
		return err
	case !same:
		return &FileGoneError{Path: c.path, Replaced: true}
	}
	return nil
}

// close closes the readers first: the last connection to leave moves the log into the database, and must be able to write.
func (c *conns) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	if c.read != nil {
		errs = append(errs, c.read.Close())
	}
	if c.write != nil {
		errs = append(errs, c.write.Raw(func(any) error { return c.forget() }), c.write.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

// forget closes the prepared statements.
func (c *conns) forget() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	clear(c.stmts)
	return errors.Join(errs...)
}
