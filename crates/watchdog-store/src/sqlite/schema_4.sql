-- Format 4. `event.data` is JSON as text, or deflated JSON; the rows of judgements have the names that readers know. Rows of format 3 stay as
-- they are (records/old_rows.rs).
CREATE TABLE event_4 (
  seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, not even after pruning
  id       TEXT    NOT NULL UNIQUE,
  at       INTEGER NOT NULL, -- microseconds since 1970
  worktree TEXT    NOT NULL,
  spec     TEXT,
  kind     TEXT    NOT NULL,
  data     ANY     NOT NULL  -- JSON
) STRICT;

INSERT INTO event_4 SELECT seq, id, at, worktree, spec, kind, data FROM event;
DELETE FROM sqlite_sequence WHERE name = 'event_4';
INSERT INTO sqlite_sequence (name, seq) SELECT 'event_4', seq FROM sqlite_sequence WHERE name = 'event';
DROP TABLE event;
ALTER TABLE event_4 RENAME TO event;
CREATE INDEX event_at ON event (at);
CREATE INDEX event_worktree ON event (worktree);
