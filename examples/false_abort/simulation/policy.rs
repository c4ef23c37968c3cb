//! A policy judges one session after another, and sometimes aborts the loop.

use super::original::Original;
use super::ours::Ours;
use super::script::Session;
use super::world::{Seconds, World};

/// What follows from the judgement of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next session, after so long.
    Session(Seconds),
    /// A person is asked; then the next session.
    Person,
    /// The loop is aborted.
    Abort,
}

/// What one judgement came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    pub next: Next,
    /// Questions to the agent.
    pub probes: u32,
}

/// The pause of a loop between two sessions.
pub const PAUSE: Seconds = 5;

/// The policies that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Three sessions in a row without a commit abort the loop. Nobody is asked, nothing is rescued.
    Streak,
    /// The smart check as it was first written.
    Original,
    /// The product's own decision machine and breaker, as `watchdog run` uses them.
    Ours,
}

impl Policy {
    pub const ALL: [Policy; 3] = [Policy::Streak, Policy::Original, Policy::Ours];

    pub fn name(self) -> &'static str {
        match self {
            Policy::Streak => "streak of 3",
            Policy::Original => "original check",
            Policy::Ours => "ours",
        }
    }

    /// A judge with nothing behind it.
    pub fn judge(self) -> Box<dyn Judge> {
        match self {
            Policy::Streak => Box::new(Streak { without_commits: 0 }),
            Policy::Original => Box::new(Original::default()),
            Policy::Ours => Box::new(Ours::default()),
        }
    }
}

/// Judges the sessions of one loop, one after the other.
pub trait Judge {
    /// A session is about to begin.
    fn before(&mut self, _world: &mut World<'_>) {}

    /// Judges the session that just ended. `before` is the number of commits when it began.
    fn judge(&mut self, world: &mut World<'_>, session: &Session, before: u64) -> Judged;

    /// After an abort a person looked, and lets the loop go on.
    fn reset(&mut self);
}

struct Streak {
    without_commits: u32,
}

impl Judge for Streak {
    fn judge(&mut self, world: &mut World<'_>, _session: &Session, before: u64) -> Judged {
        self.without_commits = if world.commits > before {
            0
        } else {
            self.without_commits + 1
        };
        let next = if self.without_commits >= 3 {
            Next::Abort
        } else {
            Next::Session(PAUSE)
        };
        Judged { next, probes: 0 }
    }

    fn reset(&mut self) {
        self.without_commits = 0;
    }
}
