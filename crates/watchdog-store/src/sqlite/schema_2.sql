-- Format 2. What happened in one worktree is found without reading the whole journal; an index ends with `seq` by itself.
CREATE INDEX event_worktree ON event (worktree);
