-- Fewer pages to write for a step. A change of an unfinished run's state leaves the index of those alone, and calls are found
-- through their run: what looks for those of a session goes through its runs.

UPDATE runs SET finished_at = started_at
  WHERE finished_at IS NULL AND state IN ('succeeded', 'failed', 'cancelled', 'exhausted');
UPDATE runs SET finished_at = NULL
  WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'exhausted');
DROP INDEX runs_unfinished;
CREATE UNIQUE INDEX runs_unfinished ON runs (session_id) WHERE parent_run = '' AND finished_at IS NULL;

CREATE TABLE calls (
  id            TEXT PRIMARY KEY NOT NULL,
  run_id        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  session_id    TEXT NOT NULL,
  step          INTEGER NOT NULL,
  reply         INTEGER NOT NULL,
  ord           INTEGER NOT NULL,
  call_id       TEXT NOT NULL DEFAULT '',
  name          TEXT NOT NULL,
  arguments     TEXT NOT NULL DEFAULT '',
  raw_arguments TEXT NOT NULL DEFAULT '',
  effect        TEXT NOT NULL DEFAULT '',
  status        TEXT NOT NULL,
  side_effect   TEXT NOT NULL DEFAULT '',
  result        TEXT,
  started_at    INTEGER,
  finished_at   INTEGER,
  UNIQUE (run_id, step, reply, ord)
) STRICT;
INSERT INTO calls SELECT * FROM tool_calls ORDER BY rowid;
DROP TABLE tool_calls;
ALTER TABLE calls RENAME TO tool_calls;
