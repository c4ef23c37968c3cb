//! The statements of the table of tasks. Each is one transaction, and writes its step into the history as it changes a status.

/// The columns that a record is read from, in the order of [`super::task_table::record_of`].
macro_rules! columns {
    () => {
        "t.id, t.rev, t.status, t.agent, t.machine, CASE WHEN t.holder IS NULL THEN NULL ELSE t.fence END, t.reason, t.message, t.log, \
         t.branch, t.worktree, t.head, t.baseline, t.attempts, t.depends_on, t.pinned_path, t.since, t.changed_at, \
         coalesce(t.holder IS NOT NULL AND t.until > clock_timestamp(), false)"
    };
}

/// Writes the step that `before` and `written` make, where the status is another one.
macro_rules! noted {
    ($fence:literal, $write:literal) => {
        concat!(
            "noted AS (INSERT INTO watchdog.task_step (repository, task, fence, machine, agent, from_status, to_status, reason, head, write_id) \
             SELECT w.repository, w.id, ",
            $fence,
            ", w.machine, w.agent, b.status, w.status, w.reason, w.head, ",
            $write,
            " FROM written w, before b WHERE w.status IS DISTINCT FROM b.status) "
        )
    };
}

/// All tasks. A text that the caller has in this revision is not sent again.
pub(crate) const READ: &str = concat!(
    "SELECT ",
    columns!(),
    ", k.id IS NOT NULL, CASE WHEN k.id IS NULL THEN t.pinned_text END FROM watchdog.task t \
     LEFT JOIN unnest($2::text[], $3::bigint[]) AS k (id, rev) ON k.id = t.id AND k.rev = t.rev WHERE t.repository = $1 ORDER BY t.id"
);

/// Reads a single task.
pub(crate) const READ_ONE: &str = concat!(
    "SELECT ",
    columns!(),
    ", false, t.pinned_text FROM watchdog.task t WHERE t.repository = $1 AND t.id = $2"
);

/// The task of a claim whose answer was lost. The caller works on the task it finds, so a standby
/// must have it: the message is written for that alone, as a transaction that writes nothing does
/// not wait for one.
pub(crate) const READ_CLAIMED: &str = concat!(
    "SELECT ",
    columns!(),
    ", false, t.pinned_text, (SELECT s.from_status FROM watchdog.task_step s WHERE s.repository = t.repository AND s.task = t.id \
      AND s.fence = t.fence ORDER BY s.number LIMIT 1), pg_logical_emit_message(true, 'watchdog', ''::text)::text \
      FROM watchdog.task t WHERE t.repository = $1 AND t.holder = $2"
);

/// Takes the first of `$2` that nobody has: its row is locked, and those that others are about to take are passed over.
pub const CLAIM: &str = concat!(
    "WITH before AS MATERIALIZED (SELECT t.id, t.status FROM unnest($2::text[]) WITH ORDINALITY AS wanted (id, place) \
         JOIN watchdog.task t ON t.repository = $1 AND t.id = wanted.id \
         WHERE t.status = ANY ($3::text[]) AND t.until <= clock_timestamp() AND (t.depends_on = '{}' OR NOT EXISTS ( \
             SELECT FROM unnest(t.depends_on) AS d (id) LEFT JOIN watchdog.task o ON o.repository = $1 AND o.id = d.id \
             WHERE o.status IS DISTINCT FROM 'complete')) \
         ORDER BY wanted.place LIMIT 1 FOR UPDATE OF t SKIP LOCKED), \
     written AS (UPDATE watchdog.task t SET status = $4, agent = $5, machine = $6, holder = $7, fence = nextval('watchdog.number'), \
         until = clock_timestamp() + $8 * interval '1 millisecond', reason = NULL, message = NULL, rev = t.rev + 1, \
         changed_at = clock_timestamp() FROM before b WHERE t.repository = $1 AND t.id = b.id RETURNING t.*), ",
    noted!("w.fence", "$7"),
    "SELECT ",
    columns!(),
    ", false, t.pinned_text, b.status FROM written t, before b"
);

/// A step under a lease. A step that this lease wrote already is found as it is: asked twice, it is
/// done once.
pub const STEP: &str = concat!(
    "WITH before AS MATERIALIZED (SELECT t.status FROM watchdog.task t WHERE t.repository = $1 AND t.id = $2 AND t.fence = $3 \
         AND (t.holder = $4 AND t.until > clock_timestamp() OR t.holder IS NULL AND t.status = $5) FOR UPDATE), \
     written AS (UPDATE watchdog.task t SET status = $5, agent = $6, reason = $7, message = $8, log = $9, branch = $10, worktree = $11, \
         head = $12, baseline = $13, attempts = $14, rev = t.rev + 1, changed_at = clock_timestamp(), \
         holder = CASE WHEN $15 THEN NULL ELSE t.holder END, until = CASE WHEN $15 THEN '-infinity' ELSE t.until END \
         FROM before WHERE t.repository = $1 AND t.id = $2 RETURNING t.*), ",
    noted!("w.fence", "NULL"),
    "SELECT w.rev, w.changed_at, b.status FROM written w, before b"
);

/// Whether a lease that has ended wrote such a step, and a standby has it.
pub(crate) const STEPPED: &str = "SELECT EXISTS (SELECT FROM watchdog.task_step WHERE repository = $1 AND task = $2 AND fence = $3 \
     AND to_status = $4), pg_logical_emit_message(true, 'watchdog', ''::text)::text";

/// A task that is seen for the first time.
pub(crate) const INSERT: &str = "WITH before AS (SELECT NULL::text AS status), \
     written AS (INSERT INTO watchdog.task (repository, id, status, agent, reason, message, log, branch, worktree, head, baseline, attempts, \
         depends_on, pinned_path, pinned_text, since) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, least($16, clock_timestamp())) \
         ON CONFLICT (repository, id) DO NOTHING RETURNING *), \
     noted AS (INSERT INTO watchdog.task_step (repository, task, machine, agent, from_status, to_status, reason, head, write_id) \
         SELECT w.repository, w.id, $17, w.agent, NULL, w.status, w.reason, w.head, $18 FROM written w) \
     SELECT w.rev, w.changed_at, NULL::text, w.since FROM written w";

/// The guards of a change: none, that nobody holds the task, and that the lease of this fence has ended.
pub(crate) const ANYHOW: &str = "true";
pub(crate) const UNHELD: &str = "(t.holder IS NULL OR t.until <= clock_timestamp())";
pub(crate) const ENDED: &str = "t.holder IS NOT NULL AND t.until <= clock_timestamp()";

/// A change of what was read, where nobody wrote meanwhile; `{guard}` stands for one of the guards.
pub(crate) const CHANGE: &str = concat!(
    "WITH before AS MATERIALIZED (SELECT t.status, t.fence FROM watchdog.task t WHERE t.repository = $1 AND t.id = $2 AND t.rev = $3 \
         AND {guard} FOR UPDATE), \
     written AS (UPDATE watchdog.task t SET status = $4, agent = $5, reason = $6, message = $7, log = $8, branch = $9, worktree = $10, \
         head = $11, baseline = $12, attempts = $13, depends_on = $14, pinned_path = $15, pinned_text = $16, rev = t.rev + 1, \
         changed_at = clock_timestamp(), holder = CASE WHEN $17 THEN t.holder END, machine = CASE WHEN $5 IS NULL THEN NULL ELSE t.machine END, \
         until = CASE WHEN $17 THEN t.until ELSE '-infinity' END \
         FROM before WHERE t.repository = $1 AND t.id = $2 RETURNING t.*), ",
    noted!("NULL::bigint", "$18"),
    "SELECT w.rev, w.changed_at, b.status, w.since FROM written w, before b"
);

/// Whether one of these writes was done, and a standby has it.
pub(crate) const WRITTEN: &str = "SELECT EXISTS (SELECT FROM watchdog.task_step WHERE repository = $1 AND task = $2 \
     AND write_id = ANY ($3::text[])), pg_logical_emit_message(true, 'watchdog', ''::text)::text";

/// Extends a lease.
pub(crate) const RENEW: &str = "UPDATE watchdog.task SET until = clock_timestamp() + $5 * interval '1 millisecond' \
     WHERE repository = $1 AND id = $2 AND holder = $3 AND fence = $4 AND until > clock_timestamp() RETURNING 1";

/// Ends a lease; what the record says stays.
pub(crate) const RELEASE: &str = "UPDATE watchdog.task SET until = '-infinity' \
     WHERE repository = $1 AND id = $2 AND holder = $3 AND fence = $4 AND until > clock_timestamp() RETURNING 1";
