-- Format 1. `record` holds versioned JSON; `event` is the journal; `lease` the rights to act; `counter` the one source of revisions and fences.
CREATE TABLE counter (value INTEGER NOT NULL) STRICT;

CREATE TABLE record (
  key   TEXT    NOT NULL PRIMARY KEY,
  rev   INTEGER NOT NULL,
  value BLOB    NOT NULL
) STRICT;

CREATE TABLE lease (
  key    TEXT    NOT NULL PRIMARY KEY,
  holder TEXT    NOT NULL,
  fence  INTEGER NOT NULL,
  boot   TEXT    NOT NULL, -- the boot that `until` counts from
  until  INTEGER NOT NULL  -- milliseconds
) STRICT;

CREATE TABLE event (
  seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, not even after pruning
  id       TEXT    NOT NULL UNIQUE,
  at       INTEGER NOT NULL, -- microseconds since 1970
  worktree TEXT    NOT NULL,
  spec     TEXT,
  kind     TEXT    NOT NULL,
  data     TEXT    NOT NULL  -- JSON
) STRICT;

CREATE INDEX event_at ON event (at);
