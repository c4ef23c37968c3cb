//! What each session would do, whoever judges it. Drawn once per seed, so that every policy meets the same sessions.

use super::chance::Chance;
use super::rates::Rates;
use super::world::{Effect, Seconds};

/// What a session is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    CommitsAtOnce,
    BackgroundWork,
    SlowWork,
    ForgottenCommits,
    NothingToDo,
    RealStall,
    UsageLimit,
    Outage,
}

/// One session, before anybody judges it.
#[derive(Debug, Clone)]
pub struct Session {
    pub kind: Kind,
    /// Its process ends after so long.
    pub length: Seconds,
    /// What is written and committed, by the time since its start; also after its end.
    pub effects: Vec<(Seconds, Effect)>,
    /// When all of it is done.
    pub done: Seconds,
    /// Whether what goes on after its end is seen among the processes here.
    pub here: bool,
    /// How long a limit or an outage lasts from its start.
    pub blocked: Seconds,
    /// Whether the text of the limit tells when it ends.
    pub reset_known: bool,
    /// Whether it says that it works although all is done.
    pub claims_to_work: bool,
    /// Whether it begins by throwing away what is uncommitted.
    pub discards: bool,
    /// Whether its process hangs until the timeout.
    pub hangs: bool,
    /// Chance of everything that happens while it is judged.
    pub chance: Chance,
}

/// A session's own timeout, where it hangs.
pub const SESSION_TIMEOUT: Seconds = 3600;

/// The sessions of one loop.
pub fn sessions(rates: &Rates, seed: u64, of_loop: u64, count: u64) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for number in 0..count {
        let mut chance = Chance::new(seed, &[of_loop, number]);
        let before = sessions.last().map(|session| session.kind);
        let kind = match before.filter(|kind| comes_in_rows(*kind)) {
            Some(kind) if chance.happens(rates.same_again) => kind,
            _ => kind(rates, &mut chance),
        };
        sessions.push(session(kind, rates, chance));
    }
    sessions
}

/// Stalls, limits and outages last by themselves, whoever comes next.
fn comes_in_rows(kind: Kind) -> bool {
    !matches!(kind, Kind::RealStall | Kind::UsageLimit | Kind::Outage)
}

fn kind(rates: &Rates, chance: &mut Chance) -> Kind {
    let weights = [
        (Kind::CommitsAtOnce, rates.commits_at_once),
        (Kind::BackgroundWork, rates.background_work),
        (Kind::SlowWork, rates.slow_work),
        (Kind::ForgottenCommits, rates.forgotten_commits),
        (Kind::NothingToDo, rates.nothing_to_do),
        (Kind::RealStall, rates.real_stalls),
        (Kind::UsageLimit, rates.usage_limits),
        (Kind::Outage, rates.outages),
    ];
    let mut left = chance.unit() * weights.iter().map(|(_, weight)| weight).sum::<f64>();
    for (kind, weight) in weights {
        if left < weight {
            return kind;
        }
        left -= weight;
    }
    Kind::CommitsAtOnce
}

fn minutes(median: f64, spread: f64, chance: &mut Chance) -> Seconds {
    chance.around(median * 60.0, spread).round() as Seconds
}

fn session(kind: Kind, rates: &Rates, mut chance: Chance) -> Session {
    let mut session = Session {
        kind,
        length: minutes(rates.session_minutes, 2.0, &mut chance),
        effects: Vec::new(),
        done: 0,
        here: false,
        blocked: 0,
        reset_known: true,
        claims_to_work: false,
        discards: chance.happens(rates.next_discards),
        hangs: false,
        chance: Chance::new(0, &[]),
    };
    let end = session.length;
    match kind {
        Kind::CommitsAtOnce => {
            session.effects.push((end * 8 / 10, Effect::Commit));
            if chance.happens(rates.leftovers) {
                session.effects.push((end * 9 / 10, Effect::Write));
            }
        }
        Kind::BackgroundWork => {
            session.done = end + minutes(rates.background_minutes, 5.0, &mut chance);
            session.here = !chance.happens(rates.background_elsewhere);
            if chance.happens(rates.waits_uncommitted) {
                session.effects.push((end * 8 / 10, Effect::Write));
            }
            session.effects.push((session.done, Effect::Commit));
        }
        Kind::SlowWork => {
            session.done = end + minutes(rates.slow_minutes, 4.0, &mut chance);
            session.here = true;
            let mut at = end / 2;
            while at < session.done {
                session.effects.push((at, Effect::Write));
                at += minutes(1.5, 3.0, &mut chance).max(1);
            }
            session.effects.push((session.done, Effect::Commit));
        }
        Kind::ForgottenCommits => {
            session.effects.push((end / 2, Effect::Write));
            session.effects.push((end * 9 / 10, Effect::Write));
            session.claims_to_work = chance.happens(rates.claims_to_work);
        }
        Kind::NothingToDo => {}
        Kind::RealStall => {
            session.hangs = chance.happens(rates.stalls_hang);
            if session.hangs {
                session.length = SESSION_TIMEOUT;
            }
        }
        Kind::UsageLimit => {
            session.blocked = end + minutes(rates.limit_minutes, 2.0, &mut chance);
            session.reset_known = !chance.happens(rates.reset_unknown);
        }
        Kind::Outage => session.blocked = end + minutes(rates.outage_minutes, 5.0, &mut chance),
    }
    session.done = session.done.max(session.length);
    session.chance = chance;
    session
}

/// A session that begins while a limit or an outage lasts: it ends at once, with nothing done.
pub fn blocked(during: &Session, chance: Chance) -> Session {
    Session {
        length: 20,
        effects: Vec::new(),
        done: 20,
        discards: false,
        chance,
        ..during.clone()
    }
}
