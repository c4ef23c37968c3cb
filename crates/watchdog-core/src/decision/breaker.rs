//! The circuit breaker: closed, open, half-open, fed by strikes alone.
//!
//! A strike is a genuine timeout; the caller decides which timeouts are (contract, section 2, rule 4). The caller passes the time, which
//! may jump: a clock that was set back never keeps the breaker open for longer than one cooldown from the next [`Breaker::admit`],
//! one that was set forward half-opens it early at worst.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::settings::BreakerSettings;

use watchdog_facts::verdict::{Status, Verdict};

/// The breaker of one spec in one worktree. Each state carries only what holds in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Breaker {
    /// Sessions may start.
    Closed {
        /// Strikes since the last `complete`.
        strikes: u32,
        /// Why the last strike was one, if there was any.
        why: Option<String>,
    },
    /// Work is refused until the cooldown is over.
    Open {
        /// Strikes since the last `complete`.
        strikes: u32,
        /// When it opened; the cooldown counts from here.
        since: Timestamp,
        /// Why the strike that opened it was one.
        why: String,
    },
    /// A trial decides whether it closes or opens again.
    HalfOpen {
        /// Strikes since the last `complete`.
        strikes: u32,
        /// When it opened.
        since: Timestamp,
        /// Why the strike that opened it was one.
        why: String,
        /// When the trial that is under way began; `None` while the one slot is free.
        trial_since: Option<Timestamp>,
    },
}

/// The three states, as words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Sessions may start.
    #[default]
    Closed,
    /// Work is refused.
    Open,
    /// A trial is allowed.
    HalfOpen,
}

impl BreakerState {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            BreakerState::Closed => "closed",
            BreakerState::Open => "open",
            BreakerState::HalfOpen => "half_open",
        }
    }
}

/// The state of a breaker at one instant, as a person or a program sees it: in a verdict, in the journal, in the status. Limit and
/// cooldown are the configuration's, which not every place reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerView {
    /// Strikes that open it, where that is known; 0 = it never opens.
    pub limit: Option<u64>,
    /// When it half-opens, where that is known; only while it is open.
    pub open_until: Option<Timestamp>,
    /// When it opened; `None` while it is closed.
    pub since: Option<Timestamp>,
    /// Its state now.
    pub state: BreakerState,
    /// Strikes since the last `complete`.
    pub strikes: u32,
    /// Why the last strike was one.
    pub why: Option<String>,
}

impl BreakerView {
    /// As it is recorded. Its limit and cooldown are the configuration's, which nobody reads here: the last verdict (`judged`) told them.
    pub fn from_record(breaker: Breaker, judged: Option<&Self>, now: Timestamp) -> Self {
        let until = judged.and_then(|breaker| breaker.open_until);
        let (state, since, why) = match &breaker {
            Breaker::Closed { why, .. } => (BreakerState::Closed, None, why.clone()),
            // As `watchdog breaker` shows it: once the cooldown is over.
            Breaker::Open { since, why, .. }
                if until.is_some_and(|until| *since < until && until <= now) =>
            {
                (BreakerState::HalfOpen, Some(*since), Some(why.clone()))
            }
            Breaker::Open { since, why, .. } => {
                (BreakerState::Open, Some(*since), Some(why.clone()))
            }
            Breaker::HalfOpen { since, why, .. } => {
                (BreakerState::HalfOpen, Some(*since), Some(why.clone()))
            }
        };
        BreakerView {
            state,
            strikes: breaker.strikes(),
            limit: judged.and_then(|breaker| breaker.limit),
            open_until: until.filter(|until| state == BreakerState::Open && now < *until),
            since,
            why,
        }
    }

    /// Closed, and without a strike.
    pub fn is_clean(&self) -> bool {
        self.state == BreakerState::Closed && self.strikes == 0
    }
}

/// Whether work may begin.
#[must_use = "a refused admission means that no session may be started and no probe may be sent"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakerAdmission {
    /// It may.
    Go,
    /// It may, as the one trial of a half-open breaker. Its outcome must be recorded.
    Trial,
    /// It may not.
    Refused {
        /// The instant from which asking again makes sense.
        until: Timestamp,
        /// When the breaker opened.
        since: Timestamp,
        /// Why the strike that opened it was one.
        why: String,
        /// Strikes since the last `complete`.
        strikes: u32,
        /// Whether the reason is a trial under way, not the cooldown.
        trial_under_way: bool,
    },
}

/// The breaker's input from a finished check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakerInput {
    /// The work is complete.
    Complete,
    /// A genuine timeout.
    Strike {
        /// Why it was one, for a person.
        why: String,
    },
    /// Everything else: it proves neither that work is done nor that it stalls.
    Neutral,
}

impl BreakerInput {
    /// The breaker's input from a verdict.
    pub fn from_verdict(verdict: &Verdict) -> Self {
        match verdict.status() {
            Status::Complete => BreakerInput::Complete,
            // The text behind the first semicolon is advice about this one verdict.
            _ if verdict.strike => BreakerInput::Strike {
                why: verdict
                    .message
                    .split(';')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            },
            _ => BreakerInput::Neutral,
        }
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Breaker::Closed {
            strikes: 0,
            why: None,
        }
    }
}

/// `at` plus `wait`, at most the last instant that the type can hold.
fn add_wait(at: Timestamp, wait: Duration) -> Timestamp {
    at.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// A cooldown that grows never grows longer than this.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long it stays open: the cooldown, doubled for each strike beyond the limit, up to a day. The
/// work did not move between these strikes.
fn compute_open_time(strikes: u32, settings: &BreakerSettings) -> Duration {
    let doublings = strikes.saturating_sub(settings.limit);
    settings
        .cooldown
        .saturating_mul(2_u32.saturating_pow(doublings))
        .min(DAY.max(settings.cooldown))
}

/// When a wait of `cooldown` that began at `since` is over, seen from `now`. A `since` in the future is a clock
/// that was set back: the wait then counts from `now`.
fn over_at(since: Timestamp, now: Timestamp, cooldown: Duration) -> Timestamp {
    add_wait(since.min(now), cooldown)
}

impl Breaker {
    /// Strikes since the last `complete`.
    pub fn strikes(&self) -> u32 {
        match self {
            Breaker::Closed { strikes, .. }
            | Breaker::Open { strikes, .. }
            | Breaker::HalfOpen { strikes, .. } => *strikes,
        }
    }

    /// Its state at `now`. A breaker whose limit is 0 is never open.
    pub fn state(&self, now: Timestamp, settings: &BreakerSettings) -> BreakerView {
        let view = |state, open_until, since, why| BreakerView {
            state,
            strikes: self.strikes(),
            limit: Some(settings.limit.into()),
            open_until,
            since,
            why,
        };
        match self {
            Breaker::Closed { why, .. } => view(BreakerState::Closed, None, None, why.clone()),
            Breaker::Open { why, .. } | Breaker::HalfOpen { why, .. } if settings.limit == 0 => {
                view(BreakerState::Closed, None, None, Some(why.clone()))
            }
            Breaker::Open {
                since,
                why,
                strikes,
            } => {
                let until = over_at(*since, now, compute_open_time(*strikes, settings));
                let (state, open_until) = if now < until {
                    (BreakerState::Open, Some(until))
                } else {
                    (BreakerState::HalfOpen, None)
                };
                view(state, open_until, Some(*since), Some(why.clone()))
            }
            Breaker::HalfOpen { since, why, .. } => view(
                BreakerState::HalfOpen,
                None,
                Some(*since),
                Some(why.clone()),
            ),
        }
    }

    /// Asks whether work may begin at `now`. Store the breaker when it changed: the trial slot is taken by that.
    ///
    /// A trial whose outcome never comes frees its slot after one more cooldown, or at once by [`Breaker::release_trial`].
    pub fn admit(&mut self, now: Timestamp, settings: &BreakerSettings) -> BreakerAdmission {
        self.anchor(now);
        self.half_open_when_over(now, settings);
        if settings.limit == 0 {
            return BreakerAdmission::Go;
        }
        match self {
            Breaker::Closed { .. } => BreakerAdmission::Go,
            Breaker::Open {
                strikes,
                since,
                why,
            } => BreakerAdmission::Refused {
                until: over_at(*since, now, compute_open_time(*strikes, settings)),
                since: *since,
                why: why.clone(),
                strikes: *strikes,
                trial_under_way: false,
            },
            Breaker::HalfOpen {
                strikes,
                since,
                why,
                trial_since,
            } => match *trial_since {
                Some(began) if now < over_at(began, now, settings.cooldown) => {
                    BreakerAdmission::Refused {
                        until: over_at(began, now, settings.cooldown),
                        since: *since,
                        why: why.clone(),
                        strikes: *strikes,
                        trial_under_way: true,
                    }
                }
                _ => {
                    *trial_since = Some(now);
                    BreakerAdmission::Trial
                }
            },
        }
    }

    /// Takes the outcome of a check into account. Only [`BreakerInput::Strike`] raises the count, only [`BreakerInput::Complete`] clears it.
    pub fn record(&mut self, now: Timestamp, settings: &BreakerSettings, outcome: BreakerInput) {
        self.anchor(now);
        self.half_open_when_over(now, settings);
        match outcome {
            BreakerInput::Complete => *self = Breaker::default(),
            BreakerInput::Neutral => self.release_trial(),
            BreakerInput::Strike { why } => {
                let strikes = self.strikes().saturating_add(1);
                *self = match self {
                    Breaker::Closed { .. } if settings.limit == 0 || strikes < settings.limit => {
                        Breaker::Closed {
                            strikes,
                            why: Some(why),
                        }
                    }
                    Breaker::Closed { .. } | Breaker::HalfOpen { .. } => Breaker::Open {
                        strikes,
                        since: now,
                        why,
                    },
                    // A session that was admitted before it opened: its strike counts, but does not restart the cooldown.
                    Breaker::Open { since, .. } => Breaker::Open {
                        strikes,
                        since: *since,
                        why,
                    },
                };
            }
        }
    }

    /// Frees the trial slot. The caller holds the worktree's lock, so the process that started the trial is gone.
    pub fn release_trial(&mut self) {
        if let Breaker::HalfOpen { trial_since, .. } = self {
            *trial_since = None;
        }
    }

    /// Moves instants that lie in the future to `now`, so that a clock that was set back costs one cooldown at most.
    fn anchor(&mut self, now: Timestamp) {
        match self {
            Breaker::Closed { .. } => {}
            Breaker::Open { since, .. } => *since = (*since).min(now),
            Breaker::HalfOpen {
                since, trial_since, ..
            } => {
                *since = (*since).min(now);
                *trial_since = trial_since.map(|began| began.min(now));
            }
        }
    }

    fn half_open_when_over(&mut self, now: Timestamp, settings: &BreakerSettings) {
        if let Breaker::Open {
            strikes,
            since,
            why,
        } = self
            && now >= over_at(*since, now, compute_open_time(*strikes, settings))
        {
            *self = Breaker::HalfOpen {
                strikes: *strikes,
                since: *since,
                why: std::mem::take(why),
                trial_since: None,
            };
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
