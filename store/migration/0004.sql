-- Fewer pages and statements for a step. What lies in the order of a session is a tree with an integer key, the session's number
-- above the row's: rows are appended to it, and no index stands beside it. The number never changes and is not given again while
-- rows have it. The last transactions of a session stand in its row, which each of them writes anyway: a line each, the newest
-- first (first_n last_n first_seq events turn id).

ALTER TABLE sessions ADD COLUMN recent TEXT NOT NULL DEFAULT '';
UPDATE sessions SET recent = coalesce((
  SELECT group_concat(first_n || ' ' || last_n || ' ' || first_seq || ' ' || events || ' ' || turn || ' ' || tx_id, char(10)
    ORDER BY (sessions.tx_count - slot) % 16)
  FROM txs WHERE session_id = sessions.id), '');
DROP TABLE txs;

ALTER TABLE sessions ADD COLUMN num INTEGER;
UPDATE sessions SET num = rowid;
CREATE UNIQUE INDEX sessions_num ON sessions (num);
CREATE TRIGGER sessions_number AFTER INSERT ON sessions WHEN new.num IS NULL BEGIN
  UPDATE sessions SET num = (SELECT coalesce(max(num), 0) + 1 FROM sessions) WHERE id = new.id;
END;

CREATE TABLE messages_new (
  id             TEXT NOT NULL,
  session_id     TEXT NOT NULL,
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
  key            INTEGER PRIMARY KEY CHECK (key >> 32 > 0 AND key & 4294967295 = n) -- sessions.num << 32 | n
) STRICT;
INSERT INTO messages_new SELECT m.*, s.num << 32 | m.n FROM sessions s JOIN messages m ON m.session_id = s.id ORDER BY s.num, m.n;
DROP TABLE messages;
ALTER TABLE messages_new RENAME TO messages;

-- Where the events of a run lie among those of its session; 0 is none.
ALTER TABLE runs ADD COLUMN first_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN last_seq INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET first_seq = coalesce((SELECT min(seq) FROM events WHERE run_id = runs.id AND run_id <> ''), 0),
  last_seq = coalesce((SELECT max(seq) FROM events WHERE run_id = runs.id AND run_id <> ''), 0);

CREATE TABLE events_new (
  session_id TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  run_id     TEXT NOT NULL DEFAULT '',
  turn       INTEGER NOT NULL DEFAULT 0,
  step       INTEGER NOT NULL DEFAULT 0,
  name       TEXT NOT NULL,
  at         INTEGER NOT NULL,
  data       TEXT NOT NULL,
  key        INTEGER PRIMARY KEY CHECK (key >> 32 > 0 AND key & 4294967295 = seq) -- sessions.num << 32 | seq
) STRICT;
INSERT INTO events_new SELECT e.*, s.num << 32 | e.seq FROM sessions s JOIN events e ON e.session_id = s.id ORDER BY s.num, e.seq;
DROP TABLE events;
ALTER TABLE events_new RENAME TO events;

CREATE TRIGGER sessions_rows AFTER DELETE ON sessions BEGIN
  DELETE FROM messages WHERE key BETWEEN old.num << 32 AND old.num << 32 | 4294967295;
  DELETE FROM events WHERE key BETWEEN old.num << 32 AND old.num << 32 | 4294967295;
END;

CREATE TABLE calls (
  id            TEXT NOT NULL,
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
  PRIMARY KEY (run_id, step, reply, ord)
) STRICT, WITHOUT ROWID;
INSERT INTO calls SELECT * FROM tool_calls ORDER BY run_id, step, reply, ord;
DROP TABLE tool_calls;
ALTER TABLE calls RENAME TO tool_calls;
