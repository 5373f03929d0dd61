package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// quietWait bounds the wait for readers. None reads for that long.
const quietWait = time.Second

// Quiet calls f between two transactions, while nobody reads: nothing of this store is under way then that another process would
// wait for, and nothing begins before f returns. The program stops itself in it.
func (s *Store) Quiet(ctx context.Context, f func()) error {
	return s.submit(ctx, &job{alone: func() error {
		held := s.holdReaders(context.WithoutCancel(ctx))
		f()
		var errs []error
		for _, c := range held {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}})
}

// holdReaders takes all connections that read, once nobody uses them.
func (s *Store) holdReaders(ctx context.Context) (held []*sql.Conn) {
	db, err := s.reader()
	if err != nil {
		return nil // there are none
	}
	ctx, cancel := s.cfg.Clock.WithTimeout(ctx, quietWait)
	defer cancel()
	for range readers {
		c, err := db.Conn(ctx)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	return held
}
