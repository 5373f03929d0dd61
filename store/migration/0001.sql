-- The first schema. Times are microseconds since 1970 in UTC; JSON is text.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id          TEXT PRIMARY KEY NOT NULL,
  user_id     TEXT NOT NULL,
  title       TEXT NOT NULL DEFAULT '',
  model       TEXT NOT NULL DEFAULT '',
  settings    TEXT,
  summary     TEXT,
  turn_count  INTEGER NOT NULL DEFAULT 0,
  next_n      INTEGER NOT NULL DEFAULT 1,
  next_seq    INTEGER NOT NULL DEFAULT 1,
  tx_count    INTEGER NOT NULL DEFAULT 0,
  window_from INTEGER NOT NULL DEFAULT 1,
  keep_n      INTEGER NOT NULL DEFAULT 0,
  holder      TEXT NOT NULL DEFAULT '',
  epoch       INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_user ON sessions (user_id, updated_at);
CREATE INDEX sessions_holder ON sessions (holder) WHERE holder <> '';

-- The last transactions of each session, in a ring of slots: after a commit whose outcome is unknown one can ask whether
-- it is in.
CREATE TABLE txs (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  slot       INTEGER NOT NULL,
  tx_id      TEXT NOT NULL,
  first_n    INTEGER NOT NULL,
  last_n     INTEGER NOT NULL,
  first_seq  INTEGER NOT NULL,
  events     INTEGER NOT NULL,
  turn       INTEGER NOT NULL,
  PRIMARY KEY (session_id, slot)
) STRICT, WITHOUT ROWID;

-- Content is never updated. The order is n, never a time or an id.
CREATE TABLE messages (
  id             TEXT PRIMARY KEY NOT NULL,
  session_id     TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  n              INTEGER NOT NULL,
  kind           TEXT NOT NULL,
  role           TEXT NOT NULL,
  content        TEXT NOT NULL,
  prompt_content TEXT,
  tool_calls     TEXT,
  tool_call_id   TEXT NOT NULL DEFAULT '',
  tool_name      TEXT NOT NULL DEFAULT '',
  run_id         TEXT NOT NULL DEFAULT '',
  step           INTEGER NOT NULL DEFAULT 0,
  partial        INTEGER NOT NULL DEFAULT 0,
  fixed          INTEGER NOT NULL DEFAULT 0,
  tokens         INTEGER NOT NULL DEFAULT 0,
  extra          TEXT,
  created_at     INTEGER NOT NULL,
  UNIQUE (session_id, n)
) STRICT;

CREATE TABLE todos (
  ord          INTEGER PRIMARY KEY,
  id           TEXT NOT NULL UNIQUE,
  session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  text         TEXT NOT NULL,
  completed    INTEGER NOT NULL DEFAULT 0,
  created_at   INTEGER NOT NULL,
  completed_at INTEGER
) STRICT;
CREATE INDEX todos_session ON todos (session_id);

CREATE TABLE runs (
  ord         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  parent_run  TEXT NOT NULL DEFAULT '',
  agent       TEXT NOT NULL DEFAULT '',
  turn        INTEGER NOT NULL,
  state       TEXT NOT NULL,
  reason      TEXT NOT NULL DEFAULT '',
  step        INTEGER NOT NULL DEFAULT 0,
  usage       TEXT NOT NULL DEFAULT '{}',
  budget      TEXT NOT NULL DEFAULT '{}',
  versions    TEXT NOT NULL DEFAULT '{}',
  error       TEXT NOT NULL DEFAULT '',
  started_at  INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;
CREATE INDEX runs_session ON runs (session_id);
CREATE INDEX runs_top ON runs (session_id) WHERE parent_run = '';
-- At most one unfinished top-level run a session.
CREATE UNIQUE INDEX runs_unfinished ON runs (session_id)
  WHERE parent_run = '' AND state NOT IN ('succeeded', 'failed', 'cancelled', 'exhausted');

CREATE TABLE tool_calls (
  id            TEXT PRIMARY KEY NOT NULL,
  run_id        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  session_id    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
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
CREATE INDEX tool_calls_session ON tool_calls (session_id);

CREATE TABLE compactions (
  ord            INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  session_id     TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  run_id         TEXT NOT NULL DEFAULT '',
  reason         TEXT NOT NULL DEFAULT '',
  first_n        INTEGER NOT NULL,
  last_n         INTEGER NOT NULL,
  -- The window's bounds after and before, and the results that were shortened, for the way back.
  window_from    INTEGER NOT NULL DEFAULT 1,
  keep_n         INTEGER NOT NULL DEFAULT 0,
  was_from       INTEGER NOT NULL DEFAULT 1,
  was_keep       INTEGER NOT NULL DEFAULT 0,
  shortened      TEXT NOT NULL DEFAULT '[]',
  tokens_before  INTEGER NOT NULL DEFAULT 0,
  tokens_after   INTEGER NOT NULL DEFAULT 0,
  summary_before TEXT,
  summary_after  TEXT,
  created_at     INTEGER NOT NULL,
  undone_at      INTEGER
) STRICT;
CREATE INDEX compactions_session ON compactions (session_id);

CREATE TABLE events (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq        INTEGER NOT NULL,
  run_id     TEXT NOT NULL DEFAULT '',
  turn       INTEGER NOT NULL DEFAULT 0,
  step       INTEGER NOT NULL DEFAULT 0,
  name       TEXT NOT NULL,
  at         INTEGER NOT NULL,
  data       TEXT NOT NULL,
  UNIQUE (session_id, seq)
) STRICT;
CREATE INDEX events_run ON events (run_id, seq) WHERE run_id <> '';

CREATE TABLE inbox (
  ord        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_session ON inbox (session_id);

CREATE TABLE pins (
  ord        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  text       TEXT NOT NULL,
  source     TEXT NOT NULL DEFAULT '',
  n          INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX pins_session ON pins (session_id);

CREATE TABLE approvals (
  ord        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  run_id     TEXT NOT NULL DEFAULT '',
  call_id    TEXT NOT NULL DEFAULT '',
  question   TEXT NOT NULL DEFAULT '',
  answer     TEXT NOT NULL DEFAULT '',
  reason     TEXT NOT NULL DEFAULT '',
  asked_at   INTEGER NOT NULL,
  decided_at INTEGER
) STRICT;
CREATE INDEX approvals_session ON approvals (session_id);
CREATE INDEX approvals_run ON approvals (run_id);

CREATE TABLE artifacts (
  handle     TEXT PRIMARY KEY NOT NULL,
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  run_id     TEXT NOT NULL DEFAULT '',
  call_id    TEXT NOT NULL DEFAULT '',
  tool       TEXT NOT NULL DEFAULT '',
  content    TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX artifacts_session ON artifacts (session_id);

-- A tab may name a session that has no row yet.
CREATE TABLE tabs (
  user_id    TEXT NOT NULL,
  pos        INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  active     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, pos)
) STRICT, WITHOUT ROWID;
