//! Which outcome recorded checks have in another configuration, and which of its facts nobody read.

use std::path::Path;
use std::time::Duration;

use watchdog_facts::evidence::{Commits, CriteriaChanged, Degradation, WarningCode};
use watchdog_facts::verdict::Reason;

use super::*;
use crate::decision::machine::MachineSetup;
use crate::decision::record::run::{RunEnd, run};

const PASS: CheckOutcome = CheckOutcome::Pass;
const UNMET: CheckOutcome = CheckOutcome::Unmet;

/// A check by its name, which passed before the work began where the name is in capitals.
fn check(name: &str, outcome: CheckOutcome) -> CheckResult {
    let passed = outcome == PASS;
    let before = if name.to_uppercase() == name { OutcomeBeforeWork::Passed } else { OutcomeBeforeWork::Failed };
    CheckResult {
        name: name.into(),
        kind: "command".into(),
        outcome,
        evidence: if passed { Evidence::Verified } else { Evidence::None },
        feedback: if passed { String::new() } else { format!("{name} is red") },
        duration: Duration::ZERO,
        cached: false,
        before,
        tests: None,
        tree: None,
    }
}

/// What was judged, in words and with a note that no single check has.
fn judged(outcome: CheckOutcome, results: Vec<CheckResult>) -> ChecksResult {
    ChecksResult {
        outcome,
        evidence: if outcome == PASS { Evidence::Verified } else { Evidence::None },
        feedback: "as it was judged".into(),
        results,
        all_passed_before: false,
        notes: vec![Degradation { code: WarningCode::TestsDeleted, detail: "one".into() }],
    }
}

/// A list of checks of a configuration: names of commands, and whole entries.
fn checks(names: &[&str]) -> String {
    let entry = |name: &&str| match name.starts_with('{') {
        true => (*name).to_owned(),
        false => format!(r#"{{"type": "command", "name": "{name}", "run": "true"}}"#),
    };
    names.iter().map(entry).collect::<Vec<_>>().join(", ")
}

fn settings(text: &str) -> ConfigSettings {
    crate::config::parse(text, Path::new("completion.json")).expect("it is a configuration").settings
}

/// What these results are with the checks of another configuration.
fn tried(judged: &ChecksResult, mode: &str, names: &[&str]) -> Result<ChecksResult, String> {
    let mut record = JudgementRecord::new(MachineSetup::of(&ConfigSettings::default()));
    record.add(0, MachineEvent::Checks(judged.clone()));
    let text = format!(r#"{{"mode": "{mode}", "checks": [{}]}}"#, checks(names));
    match with_settings(&record, &settings(&text))?.steps.remove(0).event {
        Some(MachineEvent::Checks(judged)) => Ok(judged),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_checks_have_the_outcome_that_was_recorded() {
    let (passed, unmet) =
        (judged(PASS, vec![check("a", PASS), check("b", PASS)]), judged(UNMET, vec![check("a", PASS), check("b", UNMET)]));
    let one = judged(PASS, vec![check("a", UNMET), check("b", PASS)]);
    let first = judged(PASS, vec![check("a", PASS)]);
    let namesakes = judged(UNMET, vec![check("a", PASS), check("a", UNMET)]);
    let group = format!(r#"{{"mode": "any", "checks": [{}]}}"#, checks(&["a", "b"]));
    for (recorded, mode, names) in [
        (&passed, "all", &["a", "b"][..]),
        (&passed, "any", &["a", "b"]),
        (&unmet, "all", &["a", "b"]),
        // What all must be met for is not, whatever a check says that was not run.
        (&unmet, "all", &["a", "b", "c"]),
        (&one, "any", &["a", "b"]),
        (&one, "first", &["a", "b"]),
        (&one, "all", &[&group]),
        (&namesakes, "all", &["a", "a"]),
        // One was enough, so that the others were not run.
        (&first, "any", &["a", "b"]),
        (&first, "first", &["b", "a"]),
        (&passed, "all", &["b", &group.replace("\"b\"", "\"c\"")]),
    ] {
        assert_eq!(tried(recorded, mode, names).as_ref(), Ok(recorded), "{mode} of {names:?}");
    }
}

#[test]
fn a_check_is_found_by_a_name_that_its_record_cut() {
    let (long, other) = ("n".repeat(200), format!("{}m", "n".repeat(100)));
    let kept = |name: &str, outcome| super::super::bounds::bound_check(&check(name, outcome));
    let recorded = judged(UNMET, vec![kept(&long, PASS), kept(&other, UNMET)]);
    assert_ne!(recorded.results[0].name, long);
    for (name, outcome) in [(&long, PASS), (&other, UNMET)] {
        assert_eq!(tried(&recorded, "all", &[name]).expect("it was run").outcome, outcome);
    }
}

#[test]
fn of_fewer_checks_those_that_are_left_decide() {
    let recorded = judged(UNMET, vec![check("A", PASS), check("b", UNMET), check("C", PASS), check("d", PASS), check("E", UNMET)]);
    for (names, outcome, evidence, feedback, all_passed_before) in [
        (&["A"][..], PASS, Evidence::Committed, "", true),
        (&["C", "A"], PASS, Evidence::Committed, "", true),
        (&["A", "d"], PASS, Evidence::Verified, "", false),
        (&["b"], UNMET, Evidence::None, "b is red", false),
        (&["E"], UNMET, Evidence::None, "E is red", false),
        (&["A", "b", "E"], UNMET, Evidence::None, "b is red", false),
        // The one that was not run is not needed.
        (&["b", "new"], UNMET, Evidence::None, "b is red", false),
    ] {
        let found = tried(&recorded, "all", names).expect("nothing is missing");
        let of = |name: &&&str| recorded.results.iter().find(|result| result.name == **name).cloned();
        let results: Vec<_> = names.iter().filter_map(|name| of(&name)).collect();
        let notes = recorded.notes.clone();
        let wanted = ChecksResult { outcome, evidence, feedback: feedback.into(), results, all_passed_before, notes };
        assert_eq!(found, wanted, "{names:?}");
    }
}

#[test]
fn all_of_the_checks_pass_only_where_each_did_though_one_was_enough_when_they_were_judged() {
    let recorded = judged(PASS, vec![check("a", UNMET), check("b", PASS)]);
    let found = tried(&recorded, "all", &["a", "b"]).expect("both were run");
    assert_eq!((found.outcome, found.feedback.as_str()), (UNMET, "a is red"));
}

#[test]
fn a_check_that_nobody_ran_is_named_and_so_is_a_choice_that_nobody_made() {
    let passed = judged(PASS, vec![check("a", PASS), check("b", PASS)]);
    let (unmet, mixed) =
        (judged(UNMET, vec![check("a", UNMET), check("b", UNMET)]), judged(UNMET, vec![check("a", PASS), check("b", UNMET)]));
    let group = format!(r#"{{"mode": "any", "checks": [{}]}}"#, checks(&["a", "c"]));
    let within = format!(r#"{{"mode": "any", "checks": [{{"mode": "all", "checks": [{}]}}]}}"#, checks(&["a", "c"]));
    let (not_run, grouped) = ("check 'c'", "how groups of checks decide together that are not the recorded ones");
    for (recorded, mode, names, missing) in [
        (&passed, "all", &["a", "b", "c"][..], not_run),
        (&passed, "all", &["c", "a"], not_run),
        (&mixed, "all", &["a", "c"], not_run),
        // Another check of the same name has its own outcome.
        (&passed, "all", &["a", "b", "b"], "check 'b'"),
        // The same name, and another type.
        (&passed, "all", &["a", r#"{"type": "always", "name": "b"}"#], "check 'b'"),
        (&passed, "any", &["a"], grouped),
        (&unmet, "any", &["a", "b", "c"], grouped),
        (&unmet, "all", &["b", &group], grouped),
        (&unmet, "all", &["b", &within], grouped),
        // All had to be met.
        (&mixed, "any", &["a", "b"], grouped),
    ] {
        assert_eq!(tried(recorded, mode, names), Err(missing.to_owned()), "{mode} of {names:?}");
    }
}

#[test]
fn guards_that_nobody_compared_are_named_and_those_that_were_compared_stay() {
    let guarded = || settings(r#"{"guards": ["tests/**"]}"#);
    let reason = |role: CriteriaFilesRole, guarded_total: usize, settings: &ConfigSettings| {
        let setup = MachineSetup { criteria_files: role, ..MachineSetup::of(&ConfigSettings::default()) };
        let mut record = JudgementRecord::new(setup);
        record.add(0, MachineEvent::Commits(Ok(Commits { new_commits: 1, made_here: 1, net_change: true, ..Commits::default() })));
        if role != CriteriaFilesRole::None {
            record.add(1, MachineEvent::Criteria(Ok(CriteriaChanged { guarded_total, ..CriteriaChanged::default() })));
        }
        match run(&with_settings(&record, settings).expect("no check is wanted")).end {
            RunEnd::Concluded(verdict) => Ok(verdict.reason),
            RunEnd::NotRecorded { fact } => Err(fact),
        }
    };
    for (role, changed, settings, end) in [
        (CriteriaFilesRole::None, 0, guarded(), Err("criteria")),
        (CriteriaFilesRole::Named, 0, guarded(), Err("criteria")),
        (CriteriaFilesRole::Guarded, 0, guarded(), Ok(Reason::NewCommits)),
        (CriteriaFilesRole::Guarded, 1, guarded(), Ok(Reason::CriteriaChanged)),
        (CriteriaFilesRole::None, 0, ConfigSettings::default(), Ok(Reason::NewCommits)),
        (CriteriaFilesRole::Named, 0, ConfigSettings::default(), Ok(Reason::NewCommits)),
    ] {
        assert_eq!(reason(role, changed, &settings), end, "{role:?}");
    }
}
