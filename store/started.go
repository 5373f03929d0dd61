package store

import (
	"context"

	"vitrine/runtime"
)

const startedQuery = `WITH RECURSIVE below(run) AS (
		SELECT id FROM runs WHERE parent_run = ?1 AND parent_run <> ''
		UNION SELECT r.id FROM runs r JOIN below b ON r.parent_run = b.run
	) SELECT ` + runColumns + ` FROM runs WHERE id IN (SELECT run FROM below) AND id <> ?1 ORDER BY ord`

// Started implements runtime.Memory.
func (s *Store) Started(ctx context.Context, runID string) ([]runtime.RunRow, error) {
	out, err := all(ctx, s, scanRun, startedQuery, runID)
	return out, readingRun("children", runID, err)
}
