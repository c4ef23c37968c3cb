//! The kinds of events. Readers must expect kinds that they do not know.

/// A baseline was recorded.
pub const BASELINE: &str = "baseline";
/// A session began.
pub const SESSION_STARTED: &str = "session_started";
/// A session ended.
pub const SESSION_ENDED: &str = "session_ended";
/// Commits were read.
pub const COMMITS: &str = "commits";
/// Uncommitted changes were read.
pub const CHANGES: &str = "changes";
/// A snapshot of uncommitted work was made.
pub const SNAPSHOT: &str = "snapshot";
/// The agent was probed.
pub const PROBE: &str = "probe";
/// A configured check was judged.
pub const CHECK: &str = "check";
/// Uncommitted work was rescued, or could not be.
pub const RESCUE: &str = "rescue";
/// A snapshot was brought back.
pub const RESTORE: &str = "restore";
/// A person dropped a snapshot.
pub const DROPPED: &str = "dropped";
/// Old snapshots were dropped.
pub const EXPIRED: &str = "expired";
/// A verdict was reached.
pub const VERDICT: &str = "verdict";
/// The breaker changed.
pub const BREAKER: &str = "breaker";
/// A signal ended watchdog.
pub const INTERRUPTED: &str = "interrupted";
/// A configuration was allowed or disallowed.
pub const TRUST: &str = "trust";
/// Files that say what done means changed since the anchor.
pub const CRITERIA_CHANGED: &str = "criteria_changed";
/// A fact was weakened, such as by a damaged database.
pub const DEGRADED: &str = "degraded";
/// A task was given to an agent.
pub const ASSIGNED: &str = "assigned";
/// Work on a task, or a loop, began.
pub const STARTED: &str = "started";
/// An iteration of a loop ended.
pub const ITERATION: &str = "iteration";
/// Another agent has the next session of a loop.
pub const AGENT_CHANGED: &str = "agent_changed";
/// A task or a loop ended as done.
pub const COMPLETE: &str = "complete";
/// A task or a loop ended so that a person must decide.
pub const REVIEW: &str = "review";
/// A task or a loop ended, and trying again cannot help.
pub const FAILED: &str = "failed";
/// A task waits for others, or a person stopped it.
pub const BLOCKED: &str = "blocked";
/// A task was given back, or need not wait any more.
pub const PENDING: &str = "pending";
/// A usage limit, a budget or a deadline was met.
pub const LIMIT: &str = "limit";
/// A notice was delivered, or given up.
pub const NOTIFY: &str = "notify";
/// A hook of the agent was answered.
pub const HOOK: &str = "hook";

/// Every kind.
pub const ALL: &[&str] = &[
    BASELINE,
    SESSION_STARTED,
    SESSION_ENDED,
    COMMITS,
    CHANGES,
    SNAPSHOT,
    PROBE,
    CHECK,
    RESCUE,
    RESTORE,
    DROPPED,
    EXPIRED,
    VERDICT,
    BREAKER,
    INTERRUPTED,
    TRUST,
    CRITERIA_CHANGED,
    DEGRADED,
    ASSIGNED,
    STARTED,
    ITERATION,
    AGENT_CHANGED,
    COMPLETE,
    REVIEW,
    FAILED,
    BLOCKED,
    PENDING,
    LIMIT,
    NOTIFY,
    HOOK,
];
