-- What was typed in a session and not sent.

CREATE TABLE drafts (
  session_id TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  text       TEXT NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
