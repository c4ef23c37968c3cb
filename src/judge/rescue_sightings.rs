//! What a judgement knows for the gate of its rescue, as plain values.

use std::sync::Mutex;
use std::time::Instant;

use watchdog_core::decision::commit_gate::RescueCaller;
use watchdog_core::decision::session_life::RecordedState;

/// The part of a gate that is settled before a rescue.
#[derive(Debug, Clone)]
pub struct RescueGate {
    /// The command.
    pub caller: RescueCaller,
    /// Whether the session is known to have ended.
    pub ended: bool,
    /// Whether a session of the worktree runs this very process.
    pub from_inside: bool,
    /// The work as an earlier command saw it.
    pub recorded: Option<RecordedState>,
    /// Whether the work moved since then.
    pub has_moved: bool,
}

impl Default for RescueGate {
    fn default() -> Self {
        RescueGate {
            caller: RescueCaller::Typed,
            ended: false,
            from_inside: false,
            recorded: None,
            has_moved: false,
        }
    }
}

/// What a judgement saw of the work so far.
#[derive(Default)]
pub struct GateSightings {
    /// The first time that this command saw the work as it is now, and its mark.
    pub first: Option<(Instant, String)>,
    /// Whether the agent's last answer is `complete`.
    pub says_complete: bool,
}

/// Room for the sightings of a judgement.
pub type SharedSightings = Mutex<GateSightings>;
