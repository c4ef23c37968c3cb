-- The queue of each repository. One row is one task with its lease; `fence` is that of the last lease, which `holder` has until `until`.
CREATE TABLE watchdog.task (
    repository text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- Changes with the record, and not with its lease.
    rev bigint NOT NULL DEFAULT 1,
    status text NOT NULL,
    agent text,
    machine text,
    holder text,
    fence bigint,
    until timestamptz NOT NULL DEFAULT '-infinity',
    reason text,
    message text,
    log text,
    branch text,
    worktree text,
    -- The commit that was judged last.
    head text,
    baseline text,
    attempts integer NOT NULL DEFAULT 0,
    -- As they were when the task was pinned, so that machines with different files agree.
    depends_on text[] NOT NULL DEFAULT '{}',
    pinned_path text,
    -- As bytes: a file may hold what text here cannot.
    pinned_text bytea,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (repository, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- What became of each task: one row for each change of its status, written in the same statement.
CREATE TABLE watchdog.task_step (
    repository text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- Of the lease under which it was made; null where the queue or a person made it.
    fence bigint,
    machine text,
    agent text,
    from_status text,
    to_status text NOT NULL,
    reason text,
    head text,
    -- Names the write, so that one whose answer was lost is found.
    write_id text,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (repository, task, number)
);
