//! The smart check as it was first written: commits first, then up to five questions, an agent that rescues, and a count of
//! timeouts. Its known faults are kept: a rescue counts as good when the tree is clean, whatever became of the work; nothing
//! is in a snapshot; a failed rescue ends as a timeout; a timeout counts although files or processes moved.

use super::policy::{Judge, Judged, Next, PAUSE};
use super::rates::Rates;
use super::script::Session;
use super::world::{Answer, Seconds, World};

const PROBES: u32 = 5;
const INTERVAL: Seconds = 30;
const PROBE_TIMEOUT: Seconds = 60;
const RESCUE_TIMEOUT: Seconds = 300;
const LIMIT: u32 = 3;

/// The original check, with its count of timeouts.
#[derive(Debug, Default)]
pub struct Original {
    timeouts: u32,
}

enum Outcome {
    Complete,
    ProbeError,
    Timeout,
}

impl Judge for Original {
    fn judge(&mut self, world: &mut World<'_>, _session: &Session, before: u64) -> Judged {
        let (outcome, probes) = check(world, before);
        match outcome {
            Outcome::Complete => self.timeouts = 0,
            Outcome::Timeout => self.timeouts += 1,
            // "Only a genuine timeout counts": an error neither raises nor clears the count.
            Outcome::ProbeError => {}
        }
        let next = if self.timeouts >= LIMIT {
            Next::Abort
        } else {
            Next::Session(PAUSE)
        };
        Judged { next, probes }
    }

    fn reset(&mut self) {
        self.timeouts = 0;
    }
}

fn check(world: &mut World<'_>, before: u64) -> (Outcome, u32) {
    let mut answered = false;
    for probe in 1..=PROBES {
        if world.commits > before {
            return (Outcome::Complete, probe - 1);
        }
        match world.ask(PROBE_TIMEOUT) {
            Answer::Complete => {
                answered = true;
                if world.uncommitted() == 0 || rescue(world) {
                    return (Outcome::Complete, probe);
                }
            }
            Answer::Waiting | Answer::Working => answered = true,
            Answer::Fault | Answer::Limit(_) => {}
        }
        world.pass(INTERVAL);
    }
    let rescued = world.commits <= before && world.uncommitted() > 0 && rescue(world);
    let outcome = match (world.commits > before || rescued, answered) {
        (true, _) => Outcome::Complete,
        (false, true) => Outcome::Timeout,
        (false, false) => Outcome::ProbeError,
    };
    (outcome, PROBES)
}

/// An agent is told to commit everything; what counts is a clean tree.
fn rescue(world: &mut World<'_>) -> bool {
    let rates: &Rates = world.rates();
    let (discards, fails) = (rates.rescue_agent_discards, rates.rescue_agent_fails);
    if world.blocked().is_some() {
        world.pass(PAUSE);
        return false;
    }
    if world.happens(fails) {
        world.pass(RESCUE_TIMEOUT);
        return false;
    }
    world.pass(RESCUE_TIMEOUT / 4);
    if world.happens(discards) {
        world.discard();
    } else if world.refused_by_hook() {
        // It meets the hook, tries to satisfy it, and runs out of time.
        world.pass(RESCUE_TIMEOUT * 3 / 4);
        return false;
    } else {
        world.commit();
    }
    true
}
