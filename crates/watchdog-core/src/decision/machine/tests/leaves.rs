//! Every leaf of the tree where commits and the agent decide.

use crate::config::settings::RescueMode;
use watchdog_facts::evidence::{ActivityFacts, CheckOutcome, LeftOutReason, ProbeOutcome};

use super::super::UnaskedCause;
use super::world::*;

#[test]
fn commits_decide_before_anybody_is_asked() {
    check_table([
        (
            "commit",
            World::committed(),
            "complete/new_commits committed",
        ),
        (
            "commit and leftovers, plain check",
            World::committed().after(Effect::Edit),
            "complete/new_commits committed",
        ),
        (
            "commit and leftovers, run",
            World::committed()
                .after(Effect::Edit)
                .set(|setup| setup.read_leftovers = true)
                .replies([complete()]),
            "complete/rescued claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "commit and leftovers, run, the agent works",
            World::committed()
                .after(Effect::Edit)
                .set(|setup| setup.read_leftovers = true)
                .replies([working()]),
            "incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=4",
        ),
        (
            "commit and leftovers, run, nobody answers",
            World::committed()
                .after(Effect::Edit)
                .set(|setup| setup.read_leftovers = true)
                .replies([garbage()]),
            "complete/new_commits committed probes=2 rescues=1 waits=1 snapshots=3",
        ),
        (
            "commit and leftovers, --no-probe",
            World::committed()
                .after(Effect::Edit)
                .set(|setup| (setup.read_leftovers, setup.no_probe) = (true, true)),
            "complete/new_commits committed snapshots=1",
        ),
        (
            "a pull alone",
            World::clean().after(Effect::Pull).replies([complete()]),
            "complete/nothing_to_do claimed probes=1",
        ),
        (
            "an empty commit alone",
            World::clean()
                .after(Effect::EmptyCommit)
                .replies([complete()]),
            "complete/nothing_to_do claimed probes=1",
        ),
        (
            "a pull and a commit",
            World::clean().after(Effect::Pull).after(Effect::Commit),
            "complete/new_commits committed",
        ),
    ]);
}

#[test]
fn a_commit_is_seen_whenever_it_lands() {
    use During::{Probe, Wait};
    let dirty = World::dirty;
    check_table([
        (
            "probe 1, complete",
            dirty()
                .replies([complete()])
                .during(Probe(1), Effect::Commit),
            "complete/new_commits committed probes=1 snapshots=1",
        ),
        (
            "probe 1, working",
            dirty()
                .replies([working()])
                .during(Probe(1), Effect::Commit),
            "complete/new_commits committed probes=1 snapshots=1",
        ),
        (
            "probe 1, garbage",
            dirty()
                .replies([garbage()])
                .during(Probe(1), Effect::Commit),
            "complete/new_commits committed probes=1 snapshots=1",
        ),
        (
            "probe 1, limit",
            dirty()
                .replies([usage_limit()])
                .during(Probe(1), Effect::Commit),
            "complete/new_commits committed probes=1 snapshots=1",
        ),
        (
            "probe 2, after waiting",
            dirty()
                .replies([waiting()])
                .during(Probe(2), Effect::Commit),
            "complete/new_commits committed probes=2 waits=1 snapshots=2",
        ),
        (
            "wait 1",
            World::clean()
                .replies([working()])
                .during(Wait(1), Effect::Commit),
            "complete/new_commits committed probes=1 waits=1",
        ),
        (
            "last wait",
            World::clean()
                .replies([working()])
                .during(Wait(3), Effect::Commit),
            "complete/new_commits committed probes=3 waits=3",
        ),
        (
            "between two contradictions",
            World::clean()
                .replies([contradiction()])
                .during(Probe(2), Effect::Commit),
            "complete/new_commits committed probes=2",
        ),
        (
            "the claimed commit lands late",
            World::clean()
                .replies([claims_a_commit()])
                .during(Probe(1), Effect::Commit),
            "complete/new_commits committed probes=1",
        ),
        (
            "what was left beside commits is gone after the last wait",
            World::committed()
                .after(Effect::Edit)
                .set(|setup| setup.read_leftovers = true)
                .replies([waiting()])
                .during(Wait(3), Effect::Discard),
            "complete/new_commits committed probes=3 waits=3 snapshots=3",
        ),
        (
            "a pull in the wait",
            World::clean()
                .replies([working()])
                .during(Wait(1), Effect::Pull),
            "timeout/max_probes probes=3 waits=3",
        ),
    ]);
}

#[test]
fn uncommitted_work_settles_a_complete_claim() {
    let claims = || World::dirty().replies([complete()]);
    check_table([
        (
            "clean",
            World::clean().replies([complete()]),
            "complete/nothing_to_do claimed probes=1",
        ),
        (
            "dirty",
            claims(),
            "complete/rescued claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "dirty only once the agent answered",
            World::clean()
                .replies([complete()])
                .during(During::Probe(1), Effect::Edit),
            "complete/rescued claimed probes=1 rescues=1 snapshots=1",
        ),
        (
            "discarded while the agent answered",
            claims().during(During::Probe(1), Effect::Discard),
            "complete/nothing_to_do claimed probes=1 snapshots=1",
        ),
        (
            "rescue makes nothing, ever",
            claims().rescue(Salvage::CommitsNothing),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue fails, ever",
            claims().rescue(Salvage::Fails),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue fails once",
            claims().rescues(&[Salvage::Fails, Salvage::Commits(2)]),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "the final rescue helps",
            claims().rescues(&[
                Salvage::Fails,
                Salvage::Fails,
                Salvage::Fails,
                Salvage::Commits(1),
            ]),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "a failed rescue, and no final one",
            claims()
                .rescue(Salvage::Fails)
                .set(|setup| setup.completion.final_rescue_attempt = false),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue commits elsewhere",
            claims().rescue(Salvage::Elsewhere(0)),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue commits here and elsewhere",
            claims().rescue(Salvage::Elsewhere(1)),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue loses a file",
            claims().rescue(Salvage::Loses),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue commits a part and fails",
            claims().rescue(Salvage::CommitsThenFails),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "what rescue commits changes nothing in the end",
            claims().rescue(Salvage::CommitsWithoutNetChange),
            "complete/rescued claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue cannot tell what it did",
            claims().unreadable(Kind::Rescue, 1),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
    ]);
}

#[test]
fn operation_left_by_rescue_is_not_complete() {
    let rebases = |world: World| world.rescue(Salvage::CommitsIntoRebase);
    let held = "incomplete/operation_in_progress probes=1 rescues=1 snapshots=2";
    check_table([
        (
            "a claim",
            rebases(World::dirty().replies([complete()])),
            held,
        ),
        (
            "gives up",
            rebases(World::dirty().replies([gives_up()])),
            held,
        ),
        (
            "checks pass",
            rebases(World::dirty().checks(Criteria::Always(CheckOutcome::Pass))),
            "incomplete/operation_in_progress rescues=1 snapshots=1 checks=1",
        ),
        (
            "the final rescue",
            rebases(World::dirty()).set(|setup| setup.completion.max_probes = 0),
            "incomplete/operation_in_progress rescues=1 snapshots=1",
        ),
    ]);
    let fails = |world: World| world.rescue(Salvage::CommitsIntoRebaseThenFails);
    check_table([
        (
            "a claim, and the rescue fails",
            fails(World::dirty().replies([complete()])),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "the final rescue fails",
            fails(World::dirty()).set(|setup| setup.completion.max_probes = 0),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
    ]);
}

#[test]
fn claim_beside_deliberately_uncommitted_files_needs_no_review() {
    let leaves = |reasons| {
        World::dirty()
            .replies([complete()])
            .rescue(Salvage::LeavesOut(reasons))
    };
    let review = "review/rescue_incomplete probes=1 rescues=1 snapshots=2";
    check_table([
        (
            "a secret",
            leaves(&[LeftOutReason::Secret]),
            "complete/nothing_to_do claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "excluded",
            leaves(&[LeftOutReason::Excluded]),
            "complete/nothing_to_do claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "too large: it may be the work",
            leaves(&[LeftOutReason::TooLarge]),
            review,
        ),
        (
            "a secret, and a file that may be the work",
            leaves(&[LeftOutReason::Secret, LeftOutReason::Unreadable]),
            review,
        ),
    ]);
}

#[test]
fn claim_without_permitted_rescue_is_review() {
    let claims = || World::dirty().replies([complete()]);
    check_table([
        (
            "--no-rescue",
            claims().set(|setup| setup.no_rescue = true),
            "review/rescue_incomplete probes=1 snapshots=2",
        ),
        (
            "mode snapshot",
            claims().set(|setup| setup.rescue_mode = RescueMode::Snapshot),
            "review/rescue_incomplete probes=1 snapshots=2",
        ),
        (
            "mode off",
            claims().set(|setup| setup.rescue_mode = RescueMode::Off),
            "review/rescue_incomplete probes=1",
        ),
        (
            "mode single",
            claims().set(|setup| setup.rescue_mode = RescueMode::Single),
            "complete/rescued claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "mode command",
            claims().set(|setup| setup.rescue_mode = RescueMode::Command),
            "complete/rescued claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "--no-rescue, clean",
            World::clean()
                .replies([complete()])
                .set(|setup| setup.no_rescue = true),
            "complete/nothing_to_do claimed probes=1",
        ),
        (
            "--no-rescue, working",
            World::dirty()
                .replies([working()])
                .set(|setup| setup.no_rescue = true),
            "timeout/max_probes STRIKE probes=3 waits=3 snapshots=4",
        ),
    ]);
}

#[test]
fn living_agent_is_awaited_until_probes_are_spent() {
    check_table([
        (
            "working",
            World::clean().replies([working()]),
            "timeout/max_probes STRIKE probes=3 waits=3",
        ),
        (
            "waiting",
            World::clean().replies([waiting()]),
            "timeout/max_probes STRIKE probes=3 waits=3",
        ),
        (
            "working, then complete",
            World::clean().replies([working(), complete()]),
            "complete/nothing_to_do claimed probes=2 waits=1",
        ),
        (
            "working, dirty: final rescue",
            World::dirty().replies([working()]),
            "incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=4",
        ),
        (
            "dirty in the last wait: final rescue",
            World::clean()
                .replies([working()])
                .during(During::Wait(3), Effect::Edit),
            "incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=1",
        ),
        (
            "final rescue fails",
            World::dirty().replies([working()]).rescue(Salvage::Fails),
            "review/rescue_incomplete probes=3 rescues=1 waits=3 snapshots=4",
        ),
        (
            "final rescue makes nothing",
            World::dirty()
                .replies([working()])
                .rescue(Salvage::CommitsNothing),
            "timeout/max_probes STRIKE probes=3 rescues=1 waits=3 snapshots=4",
        ),
        (
            "final rescue changes nothing in the end",
            World::dirty()
                .replies([working()])
                .rescue(Salvage::CommitsWithoutNetChange),
            "incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=4",
        ),
        (
            "no final rescue",
            World::dirty()
                .replies([working()])
                .set(|setup| setup.completion.final_rescue_attempt = false),
            "timeout/max_probes STRIKE probes=3 waits=3 snapshots=4",
        ),
    ]);
}

#[test]
fn agent_giving_up_ends_the_probes() {
    let gives_up = |world: World| world.replies([gives_up()]);
    check_table([
        (
            "clean",
            gives_up(World::clean()),
            "stopped/agent_stopped probes=1",
        ),
        (
            "dirty",
            gives_up(World::dirty()),
            "stopped/agent_stopped probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue fails",
            gives_up(World::dirty()).rescue(Salvage::Fails),
            "stopped/agent_stopped probes=1 rescues=1 snapshots=2",
        ),
        (
            "rescue makes nothing",
            gives_up(World::dirty()).rescue(Salvage::CommitsNothing),
            "stopped/agent_stopped probes=1 rescues=1 snapshots=2",
        ),
        (
            "--no-rescue",
            gives_up(World::dirty()).set(|setup| setup.no_rescue = true),
            "stopped/agent_stopped probes=1 snapshots=2",
        ),
        (
            "in the last round",
            World::clean().replies([working(), working(), super::world::gives_up()]),
            "stopped/agent_stopped probes=3 waits=2",
        ),
    ]);
}

#[test]
fn a_question_without_an_answer_spends_its_probe() {
    let never = |outcome: ProbeOutcome| World::clean().replies([outcome]);
    let why = || "because".to_string();
    check_table([
        (
            "unreadable",
            never(garbage()),
            "error/probe_error probes=2 waits=1",
        ),
        (
            "empty",
            never(ProbeOutcome::Empty),
            "error/probe_error probes=2 waits=1",
        ),
        (
            "timed out",
            never(ProbeOutcome::TimedOut),
            "error/probe_error probes=2 waits=1",
        ),
        (
            "no conversation",
            never(ProbeOutcome::NoConversation { why: why() }),
            "error/probe_error probes=1",
        ),
        (
            "overloaded",
            never(ProbeOutcome::Overloaded { why: why() }),
            "error/probe_error probes=3 waits=2",
        ),
        (
            "failed",
            never(ProbeOutcome::Failed { why: why() }),
            "error/probe_error probes=2 waits=1",
        ),
        (
            "not installed",
            never(ProbeOutcome::NotInstalled { why: why() }),
            "failed/agent_unrunnable probes=1",
        ),
        (
            "not logged in",
            never(ProbeOutcome::NotLoggedIn { why: why() }),
            "failed/agent_unrunnable probes=1",
        ),
        (
            "usage limit",
            never(usage_limit()),
            "waiting/rate_limited probes=1",
        ),
        (
            "usage limit later",
            World::clean().replies([working(), usage_limit()]),
            "waiting/rate_limited probes=2 waits=1",
        ),
        (
            "usage limit, dirty",
            World::dirty().replies([usage_limit()]),
            "waiting/rate_limited probes=1 rescues=1 snapshots=2",
        ),
        (
            "one answer is enough for a timeout",
            World::clean().replies([working(), garbage()]),
            "timeout/max_probes STRIKE probes=3 waits=2",
        ),
        (
            "late answer",
            World::clean().replies([garbage(), ProbeOutcome::Empty, complete()]),
            "complete/nothing_to_do claimed probes=3 waits=2",
        ),
        (
            "nobody answers, dirty",
            World::dirty().replies([garbage()]),
            "error/probe_error probes=2 rescues=1 waits=1 snapshots=3",
        ),
        (
            "nobody answers, and rescue fails",
            World::dirty().replies([garbage()]).rescue(Salvage::Fails),
            "review/rescue_incomplete probes=2 rescues=1 waits=1 snapshots=3",
        ),
    ]);
}

#[test]
fn failures_back_off_longer_and_answers_reset_it() {
    use crate::decision::machine::ProbePause;
    let at_most = World::clean().setup.completion.probe_interval;
    let run = World::clean()
        .set(|setup| setup.completion.max_probes = 5)
        .replies([garbage(), ProbeOutcome::Empty, working(), garbage()])
        .run();
    let backoff = |attempt| ProbePause::Backoff { attempt, at_most };
    assert_eq!(
        run.pauses,
        [
            backoff(1),
            backoff(2),
            ProbePause::Interval(at_most),
            backoff(1)
        ]
    );
}

#[test]
fn contradiction_is_probed_again_then_shown_for_review() {
    check_table([
        (
            "itself, twice",
            World::clean().replies([contradiction()]),
            "review/disputed probes=2",
        ),
        (
            "git, twice",
            World::clean().replies([claims_a_commit()]),
            "review/disputed probes=2",
        ),
        (
            "dirty: nothing is committed",
            World::dirty().replies([contradiction()]),
            "review/disputed probes=2 snapshots=2",
        ),
        (
            "resolved",
            World::clean().replies([contradiction(), complete()]),
            "complete/nothing_to_do claimed probes=2",
        ),
        (
            "not in a row",
            World::clean().replies([contradiction(), working(), contradiction()]),
            "review/disputed probes=3 waits=1",
        ),
        (
            "no question left",
            World::clean()
                .replies([contradiction()])
                .set(|setup| setup.completion.max_probes = 1),
            "review/disputed probes=1",
        ),
        (
            "what was left beside commits is gone: they decide before the second question",
            World::committed()
                .after(Effect::Edit)
                .set(|setup| setup.read_leftovers = true)
                .replies([contradiction()])
                .during(During::Probe(1), Effect::Discard),
            "complete/new_commits committed probes=1 snapshots=1",
        ),
        (
            "asked again in vain",
            World::dirty().replies([contradiction(), garbage()]),
            "review/disputed probes=3 waits=1 snapshots=3",
        ),
    ]);
    let run = World::clean()
        .replies([contradiction(), working(), complete()])
        .run();
    let named: Vec<bool> = run
        .questions
        .iter()
        .map(|(_, contradiction)| contradiction.is_some())
        .collect();
    assert_eq!(
        named,
        [false, true, false],
        "the contradiction is named in the very next question alone"
    );
    assert!(run.verdict.probes[0].disputed.is_some() && run.verdict.probes[1].disputed.is_none());
}

#[test]
fn without_probes_git_alone_decides() {
    let none = |world: World| world.set(|setup| setup.completion.max_probes = 0);
    let no_probe = |world: World| world.set(|setup| setup.no_probe = true);
    let no_agent = |world: World| world.set(|setup| setup.unasked = Some(UnaskedCause::NoAgent));
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    check_table([
        ("0: nothing", none(World::clean()), "timeout/max_probes"),
        (
            "0: commit",
            none(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "0: dirty",
            none(World::dirty()),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "0: dirty, rescue fails",
            none(World::dirty()).rescue(Salvage::Fails),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "no agent: nothing",
            no_agent(World::clean()),
            "incomplete/unfinished",
        ),
        (
            "no agent: commit",
            no_agent(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "no agent: dirty",
            no_agent(World::dirty()),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "no agent: dirty, rescue fails",
            no_agent(World::dirty()).rescue(Salvage::Fails),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "no agent: dirty, one look",
            no_agent(World::dirty()).set(|setup| setup.once = true),
            "incomplete/unfinished snapshots=1",
        ),
        (
            "no agent: unmet",
            no_agent(World::clean().checks(unmet)),
            "incomplete/checks_unmet checks=1",
        ),
        (
            "no agent: commit beside work",
            no_agent(World::committed().after(Effect::Edit))
                .set(|setup| setup.read_leftovers = true),
            "complete/new_commits committed rescues=1 snapshots=1",
        ),
        (
            "--no-probe: nothing",
            no_probe(World::clean()),
            "incomplete/unfinished",
        ),
        (
            "--no-probe: commit",
            no_probe(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "--no-probe: dirty",
            no_probe(World::dirty()),
            "incomplete/unfinished snapshots=1",
        ),
        (
            "--no-probe and 0",
            no_probe(none(World::clean())),
            "incomplete/unfinished",
        ),
    ]);
}

#[test]
fn only_a_genuine_timeout_is_a_strike() {
    let alive = || World::clean().replies([working()]);
    let because = |world: World| {
        let verdict = world.run().verdict;
        assert_eq!(verdict.strike, verdict.not_a_strike_because.is_none());
        verdict.not_a_strike_because
    };
    let activity = |worktree, processes, transcript| World {
        activity: ActivityFacts {
            worktree,
            processes,
            transcript,
        },
        ..alive()
    };
    assert_eq!(because(alive()), None);
    assert_eq!(because(activity(Some(false), None, None)), None);
    assert_eq!(
        because(activity(None, None, None)),
        Some("activity_unknown")
    );
    assert_eq!(
        because(activity(Some(true), Some(true), None)),
        Some("activity_in_worktree")
    );
    assert_eq!(
        because(activity(Some(false), Some(true), None)),
        Some("activity_in_processes")
    );
    assert_eq!(
        because(activity(None, Some(false), Some(true))),
        Some("activity_in_transcript")
    );
    let falls_silent = World::clean()
        .set(|setup| setup.completion.max_probes = 5)
        .replies([working(), garbage()]);
    assert_eq!(
        because(falls_silent),
        Some("probes_left"),
        "the same unusable answer twice leaves probes unspent"
    );
    assert_eq!(because(alive().after(Effect::Pull)), Some("new_commits"));
    assert_eq!(
        because(alive().during(During::Wait(1), Effect::EmptyCommit)),
        Some("new_commits")
    );
    assert_eq!(
        because(World::clean().set(|setup| setup.completion.max_probes = 0)),
        Some("no_probe_answered_waiting_or_working")
    );
    let never_committed = World::dirty()
        .replies([complete()])
        .rescue(Salvage::CommitsNothing);
    assert_eq!(because(never_committed), Some("review"));
    assert_eq!(because(World::clean().replies([garbage()])), Some("error"));
    assert_eq!(
        because(World::clean().replies([gives_up()])),
        Some("stopped")
    );
    assert_eq!(
        because(World::clean().replies([usage_limit()])),
        Some("waiting")
    );
    assert_eq!(because(World::committed()), Some("complete"));
}
