//! However processes die and answers are lost, no more questions run at a time than the cap allows.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::SqliteStore;
use crate::sqlite::tests::Scratch;

const LASTS: Duration = Duration::from_secs(60);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn id_of(outcome: &SlotOutcome) -> Option<&str> {
    match outcome {
        SlotOutcome::Taken { id } => Some(id),
        SlotOutcome::NoCap | SlotOutcome::Full(_) => None,
    }
}

#[test]
fn on_one_machine_no_more_questions_run_than_its_cap_and_a_killed_one_gives_its_slot_back() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let ask =
        |name: &str, second: i64| take(&store, CapScope::Own, name, LASTS, at(second)).unwrap();
    assert_eq!(ask("a", 0), SlotOutcome::NoCap);
    set_own(&store, Some(2)).unwrap();
    assert!(id_of(&ask("a", 0)).is_some() && id_of(&ask("b", 1)).is_some());
    let SlotOutcome::Full(cap) = ask("c", 2) else {
        panic!("two run")
    };
    assert_eq!((cap.most, cap.under_way(at(2))), (Some(2), 2));
    give_back(&store, CapScope::Own, "b", at(3)).unwrap();
    assert!(id_of(&ask("c", 3)).is_some());
    assert!(id_of(&ask("d", 59)).is_none());
    assert!(id_of(&ask("d", 60)).is_some(), "'a' was killed");
    assert!(id_of(&ask("e", 61)).is_none());
    assert!(
        id_of(&ask("e", -3600)).is_some(),
        "the clock was set back: the ends of the others say nothing"
    );
    give_back(&store, CapScope::Own, "a", at(70)).unwrap();
    set_own(&store, None).unwrap();
    assert_eq!(
        (in_force(&store).unwrap(), ask("f", 71)),
        (None, SlotOutcome::NoCap)
    );
}

#[test]
fn the_cap_of_an_account_comes_before_the_machines_own_and_another_account_begins_anew() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let terms = |most: u32, share: u32| Some(CapTerms { most, share });
    let scope = || {
        in_force(&store)
            .unwrap()
            .map(|(scope, cap)| (scope, cap.most, cap.slots.len()))
    };
    set_own(&store, Some(1)).unwrap();
    assert_eq!(scope(), Some((CapScope::Own, Some(1), 0)));
    set_shared(&store, "team", terms(4, 1)).unwrap();
    given(&store, "a", LASTS, at(0)).unwrap();
    assert_eq!(scope(), Some((CapScope::Shared, Some(4), 1)));
    set_shared(&store, "team", terms(5, 1)).unwrap();
    assert_eq!(
        scope(),
        Some((CapScope::Shared, Some(5), 1)),
        "what runs goes on"
    );
    set_shared(&store, "other", terms(2, 0)).unwrap();
    assert_eq!(scope(), Some((CapScope::Shared, Some(2), 0)));
    set_shared(&store, "", None).unwrap();
    assert_eq!(scope(), Some((CapScope::Own, Some(1), 0)));
}

#[test]
fn a_slot_that_is_kept_ready_is_used_again_and_again_until_it_ends() {
    let mut cap = QuestionCap {
        account: "team".into(),
        most: Some(4),
        share: 1,
        slots: Vec::new(),
    };
    assert!(
        id_of(&cap.take("q1", LASTS, at(0))).is_none(),
        "the server gives slots"
    );
    assert_eq!(
        cap.keep(&["k".into()], at(900), at(0)),
        Vec::<String>::new()
    );
    for (question, second) in [("q1", 0), ("q2", 100), ("q3", 840)] {
        assert_eq!(
            id_of(&cap.take(question, LASTS, at(second))),
            Some("k"),
            "{question}"
        );
        assert!(id_of(&cap.take("beside", LASTS, at(second))).is_none());
        assert_eq!(
            cap.give_back(question, at(second + 1)),
            None,
            "it stays here"
        );
        assert_eq!(cap.give_back(question, at(second + 1)), None);
    }
    assert!(
        id_of(&cap.take("q4", LASTS, at(841))).is_none(),
        "the question could outlast it"
    );
    assert_eq!(
        cap.keep(&["k".into()], at(1800), at(850)),
        Vec::<String>::new()
    );
    assert!(id_of(&cap.take("q4", LASTS, at(851))).is_some());
    assert_eq!(
        cap.keep(&[], at(1800), at(852)),
        Vec::<String>::new(),
        "a question has it"
    );
    cap.share = 0;
    assert_eq!(cap.give_back("q4", at(853)), Some("k".into()));
    cap.keep(&["l".into()], at(1800), at(854));
    assert_eq!(
        cap.keep(&["m".into()], at(1800), at(855)),
        ["l"],
        "the server's again"
    );
}

#[test]
fn a_machine_that_shares_the_account_no_longer_gives_up_what_it_kept_ready_and_no_question_loses_its_slot()
 {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    assert_eq!(give_up_ready(&store, at(0)).unwrap(), None);
    set_shared(&store, "team", Some(CapTerms { most: 8, share: 3 })).unwrap();
    keep_ready(
        &store,
        &["k".into(), "l".into(), "m".into()],
        at(900),
        at(0),
    )
    .unwrap();
    assert!(id_of(&take(&store, CapScope::Shared, "q", LASTS, at(1)).unwrap()).is_some());
    set_shared(&store, "", None).unwrap();
    let (account, given) = give_up_ready(&store, at(2))
        .unwrap()
        .expect("two are ready");
    assert_eq!((account.as_str(), given.len()), ("team", 2));
    assert_eq!(
        give_up_ready(&store, at(3)).unwrap(),
        None,
        "each goes once"
    );
    let last = give_back(&store, CapScope::Shared, "q", at(4)).unwrap();
    assert!(
        last.is_some_and(|last| !given.contains(&last)),
        "the question's own is the server's after its answer"
    );
}

#[test]
fn the_server_is_asked_to_keep_slots_only_where_there_is_something_to_change() {
    let cap = |share: u32, slots: &[(&str, i64, Option<&str>)]| {
        let slot = |(id, until, by): &(&str, i64, Option<&str>)| CapSlot {
            id: (*id).into(),
            until: at(*until),
            taken: by.map(|by| TakenSlot {
                by: by.into(),
                at: at(0),
                until: at(60),
            }),
        };
        QuestionCap {
            account: "team".into(),
            most: Some(9),
            share,
            slots: slots.iter().map(slot).collect(),
        }
    };
    for (share, slots, wanted) in [
        (0, &[][..], None),
        (1, &[], Some(vec!["new"])),
        (1, &[("a", 900, None)], None),
        (1, &[("a", 100, None)], Some(vec!["a"])),
        (2, &[("a", 900, None)], Some(vec!["a", "new"])),
        (1, &[("a", 900, None), ("b", 900, None)], Some(vec!["a"])),
        (1, &[("a", 900, Some("q"))], None),
        (1, &[("q", 900, Some("q"))], Some(vec!["new"])),
        (1, &[("a", 5, None)], Some(vec!["new"])),
    ] {
        let found = cap(share, slots).to_keep(at(600), at(10), || "new".into());
        assert_eq!(
            found,
            wanted.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>()),
            "{share} of {slots:?}"
        );
    }
}

/// The server's half, as its function has it.
#[derive(Debug, Default)]
struct ServerSlots(BTreeMap<String, (usize, i64)>);

const MOST: usize = 3;
const READY: i64 = 400;

impl ServerSlots {
    fn take(
        &mut self,
        machine: usize,
        ids: &[String],
        until: i64,
        now: i64,
        share: Option<usize>,
    ) -> Vec<String> {
        self.0.retain(|_, (_, end)| now < *end);
        let others = |of: Option<usize>| {
            self.0
                .iter()
                .filter(|(id, (who, _))| {
                    of.is_none_or(|of| of == *who) && !(*who == machine && ids.contains(id))
                })
                .count()
        };
        let free = MOST.saturating_sub(others(None));
        let free = share.map_or(free, |share| {
            free.min(share.saturating_sub(others(Some(machine))))
        });
        let taken: Vec<String> = ids.iter().take(free).cloned().collect();
        self.0
            .extend(taken.iter().map(|id| (id.clone(), (machine, until))));
        taken
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// A question begins, by a slot that is ready, else by one of the server; its answer may be lost.
    Ask {
        machine: usize,
        is_lost: bool,
    },
    /// A question ends, or its process is killed and it runs on to its timeout.
    End {
        machine: usize,
        is_killed: bool,
        arrives: bool,
    },
    /// The copies keep slots ready.
    Keep {
        machine: usize,
        is_lost: bool,
    },
    Pass(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let machine = 0..3_usize;
    let step = prop_oneof![
        5 => (machine.clone(), any::<bool>()).prop_map(|(machine, is_lost)| Step::Ask { machine, is_lost }),
        4 => (machine.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(machine, is_killed, arrives)| Step::End { machine, is_killed, arrives }),
        3 => (machine, any::<bool>()).prop_map(|(machine, is_lost)| Step::Keep { machine, is_lost }),
        3 => (1..200_i64).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 1..100)
}

proptest! {
    #[test]
    fn no_more_questions_run_over_all_machines_than_the_cap_whoever_dies_and_whatever_answer_is_lost(steps in steps()) {
        let mut server = ServerSlots::default();
        let machine = || QuestionCap { account: "team".into(), most: Some(3), share: 1, slots: Vec::new() };
        let mut caps: Vec<QuestionCap> = (0..3).map(|_| machine()).collect();
        // Each with its machine and the time at which it has ended at the latest.
        let mut running: Vec<(usize, String, i64)> = Vec::new();
        let (mut now, mut number) = (1_000, 0);
        let lasts = i64::try_from(LASTS.as_secs()).unwrap();
        for step in steps {
            number += 1;
            match step {
                Step::Ask { machine, is_lost } => {
                    let (cap, question) = (&mut caps[machine], format!("q{number}"));
                    let is_ready = id_of(&cap.take(&question, LASTS, at(now))).is_some();
                    let is_given = is_ready || !server.take(machine, std::slice::from_ref(&question), now + lasts, now, None).is_empty() && !is_lost;
                    if is_given {
                        if !is_ready {
                            let taken = TakenSlot { by: question.clone(), at: at(now), until: at(now + lasts) };
                            cap.slots.push(CapSlot { id: question.clone(), until: at(now + lasts), taken: Some(taken) });
                        }
                        running.push((machine, question, now + lasts));
                    }
                }
                Step::End { machine, is_killed, arrives } => {
                    let Some(index) = running.iter().position(|(of, ..)| *of == machine) else { continue };
                    // Nobody notices the end of a process that was killed; its question may still run.
                    if !is_killed {
                        let (_, question, _) = running.remove(index);
                        if let Some(id) = caps[machine].give_back(&question, at(now)).filter(|_| arrives) {
                            server.0.remove(&id);
                        }
                    }
                }
                Step::Keep { machine, is_lost } => {
                    let Some(ids) = caps[machine].to_keep(at(now + READY / 2), at(now), || format!("k{number}")) else { continue };
                    let kept = server.take(machine, &ids, now + READY, now, Some(1));
                    if !is_lost {
                        for gone in caps[machine].keep(&kept, at(now + READY), at(now)) {
                            server.0.remove(&gone);
                        }
                    }
                }
                Step::Pass(seconds) => now += seconds,
            }
            running.retain(|(_, _, until)| now < *until);
            prop_assert!(running.len() <= MOST, "{running:?}");
        }
    }
}
