package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"vitrine/trace"
)

// txn is the transaction as a job sees it, on the driver's own connection: the layer above it would cost as much again as the
// statements of a step do.
type txn struct {
	ctx   context.Context
	conn  driver.Conn
	stmts map[string]driver.Stmt
	job   *job
	// heads are where sessions stand, as far as this process has moved them.
	heads map[string]head
	args  []driver.NamedValue // room for the arguments of the statement that runs; it outlives the transaction
}

// stmt prepares query once for the connection's life.
func (t *txn) stmt(query string) (driver.Stmt, error) {
	if s := t.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.conn.(driver.ConnPrepareContext).PrepareContext(t.ctx, query)
	if err != nil {
		return nil, err
	}
	t.stmts[query] = s
	return s, nil
}

// bind makes arguments values of the driver. They hold until the next statement.
func (t *txn) bind(args []any) ([]driver.NamedValue, error) {
	t.args = t.args[:0]
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		t.args = append(t.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return t.args, nil
}

func (t *txn) exec(query string, args ...any) (driver.Result, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	values, err := t.bind(args)
	if err != nil {
		return nil, err
	}
	return stmt.(driver.StmtExecContext).ExecContext(t.ctx, values)
}

// execOne is exec for a statement that must change one row; it says whether it did.
func (t *txn) execOne(query string, args ...any) (bool, error) {
	res, err := t.exec(query, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// row reads one row; sql.ErrNoRows when there is none.
func (t *txn) row(query string, args []any, dest ...any) error {
	found := false
	err := t.query(query, args, func(r row) error {
		if found {
			return nil
		}
		found = true
		return r.Scan(dest...)
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

// query calls each with every row; the row holds until each returns.
func (t *txn) query(query string, args []any, each func(row) error) (err error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return err
	}
	values, err := t.bind(args)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(t.ctx, values)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	cells := make(cells, len(rows.Columns()))
	for {
		if err := rows.Next(cells); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(cells); err != nil {
			return err
		}
	}
}

// row is what a row can be read from: sql.Rows, and those of a transaction.
type row interface{ Scan(dest ...any) error }

// cells are the values of a row.
type cells []driver.Value

// Scan implements row for the kinds of columns that there are.
func (c cells) Scan(dest ...any) error {
	if len(dest) != len(c) {
		return fmt.Errorf("%d columns read into %d places", len(c), len(dest))
	}
	for i, d := range dest {
		ok := true
		switch d := d.(type) {
		case *int64:
			*d, ok = c[i].(int64)
		case *int:
			var n int64
			n, ok = c[i].(int64)
			*d = int(n)
		case *string:
			*d, ok = c[i].(string)
		case *trace.Name:
			var s string
			s, ok = c[i].(string)
			*d = trace.Name(s)
		case sql.Scanner:
			if err := d.Scan(c[i]); err != nil {
				return fmt.Errorf("column %d: %w", i+1, err)
			}
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("column %d: a %T cannot be read into a %T", i+1, c[i], d)
		}
	}
	return nil
}

// publish notes events to be published once this job is committed.
func (t *txn) publish(events ...trace.Event) { t.job.events = append(t.job.events, events...) }

// rollback ends the transaction, if SQLite has not done so already.
func (t *txn) rollback() error {
	_, err := t.exec("ROLLBACK")
	return rolledBack(err)
}

// run runs one job in its savepoint. Its refusal stays with the job; an error is the whole transaction's.
func (t *txn) run() error {
	if _, err := t.exec("SAVEPOINT job"); err != nil {
		return err
	}
	if err := t.runJob(); err != nil {
		if !refused(err) {
			return err
		}
		t.job.err = err
		if _, err := t.exec("ROLLBACK TO job"); err != nil {
			return err
		}
	}
	_, err := t.exec("RELEASE job")
	return err
}

// runJob runs the job's change. One that panics fails with its transaction, which is rolled back, and its caller gets the panic.
func (t *txn) runJob() (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.job.broken = &v
			err = fmt.Errorf("a change panicked: %v", v)
		}
	}()
	return t.job.run(t)
}

// runAlone runs the only job of a transaction. It needs no savepoint: what would undo the job undoes all that there is, and SQLite
// need not keep each page as it was before.
func (t *txn) runAlone() error {
	err := t.runJob()
	if !refused(err) {
		return err
	}
	t.job.err = err
	return nil
}
