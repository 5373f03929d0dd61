-- The words of messages, to search in: each as runtime/find gives it, with a space between them, under the key of its message. No
-- text stands in it, and nothing is written to it with a message: whoever searches brings it up to date first, and searched says
-- how far it has come. What is deleted goes from it in the same transaction, so that a number that is given again finds nothing.

CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '2 3');
CREATE TABLE searched (
  num  INTEGER PRIMARY KEY, -- of the session
  upto INTEGER NOT NULL     -- n of the last message whose words are in
) STRICT;

DROP TRIGGER sessions_rows;
CREATE TRIGGER sessions_rows AFTER DELETE ON sessions BEGIN
  DELETE FROM words WHERE rowid BETWEEN old.num << 32 AND old.num << 32 | 4294967295;
  DELETE FROM searched WHERE num = old.num;
  DELETE FROM messages WHERE key BETWEEN old.num << 32 AND old.num << 32 | 4294967295;
  DELETE FROM events WHERE key BETWEEN old.num << 32 AND old.num << 32 | 4294967295;
END;

-- Which sessions their users have marked to keep.
CREATE TABLE stars (
  session_id TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  at         INTEGER NOT NULL
) STRICT;

-- Which panes a user's screen shows, as the screen writes it.
CREATE TABLE screens (
  user_id TEXT PRIMARY KEY NOT NULL,
  panes   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
