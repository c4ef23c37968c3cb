//! Feeds every event to every state that a setup can reach, and judges every action by the rules.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::decision::machine::{CheckMachine, MachineAction, MachineEvent, MachineSetup};
use watchdog_facts::evidence::{ProbeOutcome, ReplyStatus, WarningCode};
use watchdog_facts::verdict::{ProbeRecord, Verdict};

use super::super::world::word;
use super::event_ledger::EventLedger;
use super::event_space::EventSpace;
use super::rules::RULES;
use super::situation::Situation;

/// What an exploration came to.
#[derive(Debug, Default)]
pub(super) struct ExplorationCount {
    pub(super) setups: u64,
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) conclusions: u64,
    /// Whole sequences of events, from the start to a conclusion.
    pub(super) sequences: u128,
    pub(super) longest: usize,
    /// The reasons that were concluded with, and how often.
    pub(super) reasons: BTreeMap<&'static str, u64>,
    /// The first sequence that broke each rule, and how often it was broken.
    pub(super) broken: BTreeMap<&'static str, (String, u64)>,
}

/// The states of one setup that were seen, and how many sequences lead from each to an end.
struct StateSpace<'a> {
    events: &'a EventSpace,
    setup: &'a MachineSetup,
    interrupts: bool,
    seen: HashMap<u64, u128>,
    path: Vec<&'a MachineEvent>,
    count: &'a mut ExplorationCount,
}

/// More events than any judgement with this many rounds needs.
const MOST_EVENTS: usize = 100;

/// Explores one setup; with `interrupts` a signal may come at every state.
pub(super) fn explore(
    setup: &MachineSetup,
    events: &EventSpace,
    interrupts: bool,
    count: &mut ExplorationCount,
) {
    count.setups += 1;
    let mut machine = CheckMachine::new(setup.clone());
    let action = machine.step(MachineEvent::Start);
    let ledger = EventLedger::new(setup);
    let mut space = StateSpace {
        events,
        setup,
        interrupts,
        seen: HashMap::new(),
        path: Vec::new(),
        count,
    };
    space.judge(&ledger, &action);
    let sequences = space.go_on(&machine, &ledger, &action);
    let states = space.seen.len() as u64;
    count.sequences += sequences;
    count.states += states;
}

impl StateSpace<'_> {
    /// How many sequences lead from here to an end.
    fn go_on(
        &mut self,
        machine: &CheckMachine,
        ledger: &EventLedger,
        action: &MachineAction,
    ) -> u128 {
        if let MachineAction::Conclude(verdict) = action {
            self.count.conclusions += 1;
            *self
                .count
                .reasons
                .entry(verdict.reason.as_str())
                .or_default() += 1;
            self.count.longest = self.count.longest.max(self.path.len());
            return 1;
        }
        assert!(
            self.path.len() < MOST_EVENTS,
            "it does not end: {:?}",
            self.path
        );
        let key = state_key(machine, ledger, self.events);
        if let Some(known) = self.seen.get(&key) {
            return *known;
        }
        let events = self.events;
        let signal = if self.interrupts && !ledger.interrupted {
            events.interrupt()
        } else {
            &[]
        };
        let mut sequences = 0;
        for event in events.answers(action).iter().chain(signal) {
            let mut machine = machine.clone();
            let next = machine.step(event.clone());
            let ledger = ledger.after(self.setup, event);
            self.count.transitions += 1;
            self.path.push(event);
            self.judge(&ledger, &next);
            sequences += self.go_on(&machine, &ledger, &next);
            self.path.pop();
        }
        self.seen.insert(key, sequences);
        sequences
    }

    fn judge(&mut self, ledger: &EventLedger, next: &MachineAction) {
        let situation = Situation {
            setup: self.setup,
            ledger,
            next,
        };
        for rule in RULES.iter().filter(|rule| !(rule.holds)(&situation)) {
            let first = || {
                (
                    format!(
                        "{:#?}\n{:#?}\n{next:#?}\n{ledger:#?}",
                        self.setup, self.path
                    ),
                    0,
                )
            };
            self.count.broken.entry(rule.name).or_insert_with(first).1 += 1;
        }
    }
}

/// The warnings that the machine or a rule looks at later; any other only stands in the verdict.
const LOOKED_AT: &[WarningCode] = &[
    WarningCode::SnapshotFailed,
    WarningCode::EndUnconfirmed,
    WarningCode::SessionCutShort,
    WarningCode::SessionPaused,
    WarningCode::ToolsRefused,
    WarningCode::Overloaded,
    WarningCode::NoProgress,
];

/// Tells states from one another. Two with one key have the same future, and are judged alike: facts of the space stand for themselves by
/// their place in it, and nothing of the machine is left out but what decides nothing any more.
fn state_key(machine: &CheckMachine, ledger: &EventLedger, events: &EventSpace) -> u64 {
    // Each field by name, so that a new one cannot be forgotten here.
    let CheckMachine {
        setup,
        stage,
        pending,
        commits,
        changes,
        snapshot,
        judged,
        probes,
        rounds_used,
        answered,
        alive,
        // How long the next pause is.
        failures_in_a_row: _,
        polls_held,
        no_more_questions,
        // They only stand in the verdict.
        inherited: _,
        since_end: _,
        gates_off: _,
        dropping_links: _,
        secured,
        disputed,
        committed_before_rescue,
        rescue_commits,
        rescue_failed,
        rescue_branch,
        left_out,
        degraded,
        held_back,
        applied: _,
    } = machine;
    let mut hasher = DefaultHasher::new();
    ledger.hash(&mut hasher);
    // Of the setup only these two ever change.
    (
        &setup.survivors,
        setup.session_over,
        stage,
        pending.as_ref().map(word),
    )
        .hash(&mut hasher);
    (
        commits.as_ref().map(|one| events.commits_at(one)),
        changes.as_ref().map(|one| events.changes_at(one)),
    )
        .hash(&mut hasher);
    (snapshot, judged.as_ref().map(|one| events.checks_at(one))).hash(&mut hasher);
    // Of answers before the last one only these count any more.
    let claims = |record: &ProbeRecord| matches!(&record.outcome, ProbeOutcome::Reply(reply) if reply.status == ReplyStatus::Complete);
    (
        probes.len(),
        probes.iter().any(claims),
        probes
            .last()
            .map(|record| (events.probe_at(&record.outcome), &record.disputed)),
    )
        .hash(&mut hasher);
    (rounds_used, answered, alive, polls_held, secured, disputed).hash(&mut hasher);
    (
        no_more_questions.as_ref().map(|why| format!("{why:?}")),
        committed_before_rescue,
        rescue_commits,
    )
        .hash(&mut hasher);
    (rescue_failed, rescue_branch, left_out.len()).hash(&mut hasher);
    left_out
        .iter()
        .for_each(|left| (&left.path, left.why.as_str()).hash(&mut hasher));
    LOOKED_AT.iter().for_each(|code| {
        degraded
            .iter()
            .any(|note| note.code == *code)
            .hash(&mut hasher)
    });
    let held = |verdict: &Verdict| {
        (
            verdict.reason,
            verdict.evidence,
            verdict.strike,
            verdict.message.clone(),
            verdict.feedback.clone(),
        )
    };
    held_back.as_deref().map(held).hash(&mut hasher);
    hasher.finish()
}
