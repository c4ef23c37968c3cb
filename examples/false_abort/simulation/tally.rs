//! Plays the loops of one policy, and counts.

use super::chance::Chance;
use super::policy::{Next, Policy};
use super::rates::Rates;
use super::script::{self, Kind};
use super::world::{Seconds, World};

/// Sessions that each loop is meant to have. Those that a stall, a limit or an outage adds come on top.
pub const SESSIONS_PER_LOOP: u64 = 10;

/// Where a loop ends a stall that nothing else stopped: `limits.max_iterations`.
const CAP: u32 = 30;

/// What came of all loops of one policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    pub loops: u64,
    /// All that were played, those on top included.
    pub sessions: u64,
    /// Sessions that ended at once, as they began during a usage limit.
    pub burnt: u64,
    pub probes: u64,
    /// Aborts while nothing stalled.
    pub false_aborts: u64,
    /// Loops with at least one.
    pub false_loops: u64,
    /// Judgements that a person must decide.
    pub reviews: u64,
    /// Pieces of work that were written, and that are gone for good.
    pub work: u64,
    pub lost: u64,
    /// From the beginning of each stall to its abort, where the session ends and the agent answers; sorted.
    pub stopped: Vec<Seconds>,
    /// The same where the session hangs until its timeout.
    pub hung: Vec<Seconds>,
    /// Stalls that only the cap of sessions ended.
    pub capped: u64,
}

impl Tally {
    /// The share of loops that were aborted although nothing stalled, in percent.
    pub fn false_percent(&self) -> f64 {
        100.0 * self.false_loops as f64 / self.loops as f64
    }

    /// Questions per session.
    pub fn probes_per_session(&self) -> f64 {
        self.probes as f64 / self.sessions as f64
    }

    /// Judgements per hundred sessions that a person must decide.
    pub fn reviews_percent(&self) -> f64 {
        100.0 * self.reviews as f64 / self.sessions as f64
    }
}

/// The time below which this share of sorted times lies; `None` where there are none.
pub fn quantile(sorted: &[Seconds], share: f64) -> Option<Seconds> {
    sorted
        .get(((sorted.len().max(1) - 1) as f64 * share).round() as usize)
        .copied()
}

/// Plays `sessions` scripted sessions, ten per loop.
pub fn play(policy: Policy, rates: &Rates, seed: u64, sessions: u64) -> Tally {
    let mut tally = Tally {
        loops: sessions.div_ceil(SESSIONS_PER_LOOP),
        ..Tally::default()
    };
    for of_loop in 0..tally.loops {
        play_loop(policy, rates, seed, of_loop, &mut tally);
    }
    tally.stopped.sort_unstable();
    tally.hung.sort_unstable();
    tally
}

fn play_loop(policy: Policy, rates: &Rates, seed: u64, of_loop: u64, tally: &mut Tally) {
    let mut world = World::new(rates);
    let mut judge = policy.judge();
    let mut aborted = false;
    for (number, scripted) in (0..).zip(script::sessions(rates, seed, of_loop, SESSIONS_PER_LOOP)) {
        let mut again = 0;
        let stall_began = world.now;
        loop {
            again += 1;
            let during = world.blocked().cloned();
            let session = match &during {
                Some(during) => script::blocked(
                    during,
                    Chance::new(seed, &[of_loop, number, u64::from(again)]),
                ),
                None => script::Session {
                    chance: Chance::new(seed, &[of_loop, number, 0, u64::from(again)]),
                    ..scripted.clone()
                },
            };
            let stalled = session.kind == Kind::RealStall;
            let burnt = during
                .as_ref()
                .is_some_and(|during| during.kind == Kind::UsageLimit);
            let began_blocked = during.is_some();
            let before = world.commits;
            judge.before(&mut world);
            world.run(session.clone());
            let judged = judge.judge(&mut world, &session, before);
            tally.sessions += 1;
            tally.burnt += u64::from(burnt);
            tally.probes += u64::from(judged.probes);
            let ended = world.now;
            world.pass(match judged.next {
                Next::Session(pause) => pause,
                Next::Person | Next::Abort => (rates.person_minutes * 60.0) as Seconds,
            });
            tally.reviews += u64::from(judged.next == Next::Person);
            if judged.next == Next::Abort {
                judge.reset();
                if stalled {
                    let took = ended - stall_began;
                    if scripted.hangs {
                        &mut tally.hung
                    } else {
                        &mut tally.stopped
                    }
                    .push(took);
                    break;
                }
                tally.false_aborts += 1;
                aborted = true;
            }
            if stalled && again >= CAP {
                tally.capped += 1;
                judge.reset();
                break;
            }
            // A stall goes on until somebody stops it; what found a limit or an outage is tried again.
            if !stalled && !began_blocked {
                break;
            }
        }
    }
    tally.false_loops += u64::from(aborted);
    let (work, lost) = world.work_and_lost();
    tally.work += work;
    tally.lost += lost;
}
