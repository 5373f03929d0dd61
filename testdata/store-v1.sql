-- A database as the first schema had it: what tests take for one that an older build of the program wrote. The schema stands here
-- as it was then and is never changed. Titles cannot be NULL in it; everything that can is.

PRAGMA application_id = 1449751666;
PRAGMA user_version = 1;

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

INSERT INTO meta VALUES ('id', '019b94a0-0000-7000-8000-000000000001');

-- Sessions: user, title, model, settings, summary, turns, next n, next seq, transactions, window from, keep, holder, epoch.
INSERT INTO sessions VALUES
  ('plain', 'ann', 'A title of then', 'offline', NULL, NULL, 1, 5, 1, 2, 1, 0, '', 1, 1767700000000000, 1767700000000000),
  ('untitled', 'ann', '', '', NULL, NULL, 1, 3, 1, 2, 1, 0, '', 1, 1767700000000000, 1767700000000001),
  ('nothing', 'ann', '', '', NULL, NULL, 0, 1, 1, 0, 1, 0, '', 1, 1767700000000000, 1767700000000002),
  ('empty', 'ann', 'Empty contents', 'offline', NULL, NULL, 2, 5, 1, 4, 1, 0, '', 1, 1767700000000000, 1767700000000003),
  ('large', 'ann', 'A megabyte', 'offline', NULL, NULL, 1, 3, 1, 2, 1, 0, '', 1, 1767700000000000, 1767700000000004),
  ('dangling', 'ann', 'Killed in its calls', 'offline', NULL, NULL, 1, 4, 3, 2, 1, 0, '019b94a0-0000-7000-8000-0000000000ff', 1, 1767700000000000, 1767700000000005),
  ('orphan', 'ann', 'A call and no run', 'offline', NULL, NULL, 1, 3, 1, 2, 1, 0, '', 1, 1767700000000000, 1767700000000006);

-- A megabyte of content is made here, so that it need not stand here.
INSERT INTO messages VALUES
  ('plain-m1', 'plain', 1, 'user', 'user', 'what is 1+1?', NULL, NULL, '', '', 'plain-r1', 0, 0, 0, 10, NULL, 1767700000000001),
  ('plain-m2', 'plain', 2, 'assistant', 'assistant', '', NULL, '[{"id":"c1","name":"calculator","arguments":"{\"expression\":\"1+1\"}"}]', '', '', 'plain-r1', 1, 0, 0, 10, NULL, 1767700000000002),
  ('plain-m3', 'plain', 3, 'tool', 'tool', '{"ok":true,"data":{"result":"2"}}', NULL, NULL, 'c1', 'calculator', 'plain-r1', 1, 0, 0, 10, NULL, 1767700000000003),
  ('plain-m4', 'plain', 4, 'assistant', 'assistant', '1+1 = 2', NULL, NULL, '', '', 'plain-r1', 2, 0, 0, 10, NULL, 1767700000000004),
  ('untitled-m1', 'untitled', 1, 'user', 'user', 'hello', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000001),
  ('untitled-m2', 'untitled', 2, 'assistant', 'assistant', 'hello to you', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000002),
  ('empty-m1', 'empty', 1, 'user', 'user', 'hello', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000001),
  ('empty-m2', 'empty', 2, 'assistant', 'assistant', '', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000002),
  ('empty-m3', 'empty', 3, 'user', 'user', '', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000003),
  ('empty-m4', 'empty', 4, 'assistant', 'assistant', 'you said nothing', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000004),
  ('large-m1', 'large', 1, 'user', 'user', replace(hex(zeroblob(131072)), '00', 'a word. '), NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000001),
  ('large-m2', 'large', 2, 'assistant', 'assistant', 'that was long', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000002),
  ('dangling-m1', 'dangling', 1, 'user', 'user', 'do three things', NULL, NULL, '', '', 'dangling-r1', 0, 0, 0, 10, NULL, 1767700000000001),
  ('dangling-m2', 'dangling', 2, 'assistant', 'assistant', '', NULL, '[{"id":"d1","name":"peek","arguments":"{\"text\":\"r\"}"},{"id":"d2","name":"hold","arguments":"{\"text\":\"s\"}"},{"id":"d3","name":"peek","arguments":"{\"text\":\"t\"}"}]', '', '', 'dangling-r1', 1, 0, 0, 10, NULL, 1767700000000002),
  ('dangling-m3', 'dangling', 3, 'tool', 'tool', '{"ok":true,"data":{"done":"r"}}', NULL, NULL, 'd1', 'peek', 'dangling-r1', 1, 0, 0, 10, NULL, 1767700000000003),
  ('orphan-m1', 'orphan', 1, 'user', 'user', 'do one thing', NULL, NULL, '', '', '', 0, 0, 0, 10, NULL, 1767700000000001),
  ('orphan-m2', 'orphan', 2, 'assistant', 'assistant', '', NULL, '[{"id":"o1","name":"hold","arguments":"{\"text\":\"u\"}"}]', '', '', '', 0, 0, 0, 10, NULL, 1767700000000002);

INSERT INTO runs VALUES
  (1, 'plain-r1', 'plain', '', '', 1, 'succeeded', '', 2, '{}', '{}', '{}', '', 1767700000000000, 1767700000000009),
  (2, 'dangling-r1', 'dangling', '', '', 1, 'executing', '', 1, '{}', '{}', '{}', '', 1767700000000000, NULL);

INSERT INTO tool_calls VALUES
  ('plain-c1', 'plain-r1', 'plain', 1, 0, 0, 'c1', 'calculator', '{"expression":"1+1"}', '', 'read_only', 'done', 'none', '{"ok":true,"data":{"result":"2"}}', 1767700000000000, 1767700000000000),
  ('dangling-c1', 'dangling-r1', 'dangling', 1, 0, 0, 'd1', 'peek', '{"text":"r"}', '', 'read_only', 'done', 'none', '{"ok":true,"data":{"done":"r"}}', 1767700000000000, 1767700000000000),
  ('dangling-c2', 'dangling-r1', 'dangling', 1, 0, 1, 'd2', 'hold', '{"text":"s"}', '', 'side_effect', 'started', 'none', NULL, 1767700000000000, NULL),
  ('dangling-c3', 'dangling-r1', 'dangling', 1, 0, 2, 'd3', 'peek', '{"text":"t"}', '', 'read_only', 'pending', 'none', NULL, NULL, NULL);

INSERT INTO events VALUES
  ('dangling', 1, 'dangling-r1', 1, 0, 'run_start', 1767700000000000, '{"input":"do three things","model":"offline","n":1}'),
  ('dangling', 2, 'dangling-r1', 1, 1, 'llm_call', 1767700000000001, '{"model":"offline","latency_ms":1,"ttft_ms":1,"prompt_tokens":null,"completion_tokens":null,"cached_tokens":null,"reasoning_tokens":null,"tool_call_count":3,"finish_reason":"tool_calls","attempts":1}');

INSERT INTO todos VALUES (1, 'todo-1', 'plain', 'a thing of then', 0, 1767700000000000, NULL);
