//! Every leaf of the tree where commits and the agent decide.

use crate::config::settings::RescueMode;
use watchdog_facts::evidence::{ActivityFacts, CheckOutcome, LeftOutReason, ProbeOutcome};

use super::super::UnaskedCause;
use super::world::*;

#[test]
fn commits_decide_before_anybody_is_asked() {
    Ending("complete/new_commits committed").concludes([
        ("commit", World::committed()),
        (
            "commit and leftovers, plain check",
            World::committed().after(Edit),
        ),
        (
            "a pull and a commit",
            World::clean().after(Pull).after(Commit),
        ),
    ]);
    Ending("complete/rescued claimed probes=1 rescues=1 snapshots=2").concludes([(
        "commit and leftovers, run",
        World::committed()
            .after(Edit)
            .reads_leftovers()
            .says(complete()),
    )]);
    Ending("incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=4").concludes([(
        "commit and leftovers, run, the agent works",
        World::committed()
            .after(Edit)
            .reads_leftovers()
            .says(working()),
    )]);
    Ending("complete/new_commits committed probes=2 rescues=1 waits=1 snapshots=3").concludes([(
        "commit and leftovers, run, nobody answers",
        World::committed()
            .after(Edit)
            .reads_leftovers()
            .says(garbage()),
    )]);
    Ending("complete/new_commits committed snapshots=1").concludes([(
        "commit and leftovers, --no-probe",
        World::committed()
            .after(Edit)
            .set(|setup| (setup.read_leftovers, setup.no_probe) = (true, true)),
    )]);
    Ending("complete/nothing_to_do claimed probes=1").concludes([
        ("a pull alone", World::clean().after(Pull).says(complete())),
        (
            "an empty commit alone",
            World::clean().after(EmptyCommit).says(complete()),
        ),
    ]);
}

#[test]
fn a_commit_is_seen_whenever_it_lands() {
    let dirty = World::dirty;
    Ending("complete/new_commits committed probes=1 snapshots=1").concludes([
        (
            "probe 1, complete",
            dirty().says(complete()).during(Probe(1), Commit),
        ),
        (
            "probe 1, working",
            dirty().says(working()).during(Probe(1), Commit),
        ),
        (
            "probe 1, garbage",
            dirty().says(garbage()).during(Probe(1), Commit),
        ),
        (
            "probe 1, limit",
            dirty().says(usage_limit()).during(Probe(1), Commit),
        ),
    ]);
    Ending("complete/new_commits committed probes=2 waits=1 snapshots=2").concludes([(
        "probe 2, after waiting",
        dirty().says(waiting()).during(Probe(2), Commit),
    )]);
    Ending("complete/new_commits committed probes=1 waits=1").concludes([(
        "wait 1",
        World::clean().says(working()).during(Wait(1), Commit),
    )]);
    Ending("complete/new_commits committed probes=3 waits=3").concludes([(
        "last wait",
        World::clean().says(working()).during(Wait(3), Commit),
    )]);
    Ending("complete/new_commits committed probes=2").concludes([(
        "between two contradictions",
        World::clean()
            .says(contradiction())
            .during(Probe(2), Commit),
    )]);
    Ending("complete/new_commits committed probes=1").concludes([(
        "the claimed commit lands late",
        World::clean()
            .says(claims_a_commit())
            .during(Probe(1), Commit),
    )]);
    Ending("complete/new_commits committed probes=3 waits=3 snapshots=3").concludes([(
        "what was left beside commits is gone after the last wait",
        World::committed()
            .after(Edit)
            .reads_leftovers()
            .says(waiting())
            .during(Wait(3), Discard),
    )]);
    Ending("timeout/max_probes probes=3 waits=3").concludes([(
        "a pull in the wait",
        World::clean().says(working()).during(Wait(1), Pull),
    )]);
}

#[test]
fn uncommitted_work_settles_a_complete_claim() {
    let claims = || World::dirty().says(complete());
    Ending("complete/nothing_to_do claimed probes=1")
        .concludes([("clean", World::clean().says(complete()))]);
    Ending("complete/rescued claimed probes=1 rescues=1 snapshots=2").concludes([
        ("dirty", claims()),
        (
            "what rescue commits changes nothing in the end",
            claims().rescue(CommitsWithoutNetChange),
        ),
    ]);
    Ending("complete/rescued claimed probes=1 rescues=1 snapshots=1").concludes([(
        "dirty only once the agent answered",
        World::clean().says(complete()).during(Probe(1), Edit),
    )]);
    Ending("complete/nothing_to_do claimed probes=1 snapshots=1").concludes([(
        "discarded while the agent answered",
        claims().during(Probe(1), Discard),
    )]);
    Ending("review/rescue_incomplete probes=1 rescues=1 snapshots=2").concludes([
        (
            "rescue makes nothing, ever",
            claims().rescue(CommitsNothing),
        ),
        ("rescue fails, ever", claims().rescue(Fails)),
        ("rescue fails once", claims().rescues(&[Fails, Commits(2)])),
        (
            "the final rescue helps",
            claims().rescues(&[Fails, Fails, Fails, Commits(1)]),
        ),
        (
            "a failed rescue, and no final one",
            claims().rescue(Fails).no_final_rescue(),
        ),
        ("rescue commits elsewhere", claims().rescue(Elsewhere(0))),
        (
            "rescue commits here and elsewhere",
            claims().rescue(Elsewhere(1)),
        ),
        ("rescue loses a file", claims().rescue(Loses)),
        (
            "rescue commits a part and fails",
            claims().rescue(CommitsThenFails),
        ),
        (
            "rescue cannot tell what it did",
            claims().unreadable(Kind::Rescue, 1),
        ),
    ]);
}

#[test]
fn operation_left_by_rescue_is_not_complete() {
    let rebases = |world: World| world.rescue(CommitsIntoRebase);
    let held = "incomplete/operation_in_progress probes=1 rescues=1 snapshots=2";
    Ending(held).concludes([
        ("a claim", rebases(World::dirty().says(complete()))),
        ("gives up", rebases(World::dirty().says(gives_up()))),
    ]);
    Ending("incomplete/operation_in_progress rescues=1 snapshots=1 checks=1").concludes([(
        "checks pass",
        rebases(World::dirty().checks(Always(CheckOutcome::Pass))),
    )]);
    Ending("incomplete/operation_in_progress rescues=1 snapshots=1")
        .concludes([("the final rescue", rebases(World::dirty()).asks_at_most(0))]);
    let fails = |world: World| world.rescue(CommitsIntoRebaseThenFails);
    Ending("review/rescue_incomplete probes=1 rescues=1 snapshots=2").concludes([(
        "a claim, and the rescue fails",
        fails(World::dirty().says(complete())),
    )]);
    Ending("review/rescue_incomplete rescues=1 snapshots=1").concludes([(
        "the final rescue fails",
        fails(World::dirty()).asks_at_most(0),
    )]);
}

#[test]
fn claim_beside_deliberately_uncommitted_files_needs_no_review() {
    let leaves = |reasons| World::dirty().says(complete()).rescue(LeavesOut(reasons));
    let review = "review/rescue_incomplete probes=1 rescues=1 snapshots=2";
    Ending("complete/nothing_to_do claimed probes=1 rescues=1 snapshots=2").concludes([
        ("a secret", leaves(&[LeftOutReason::Secret])),
        ("excluded", leaves(&[LeftOutReason::Excluded])),
    ]);
    Ending(review).concludes([
        (
            "too large: it may be the work",
            leaves(&[LeftOutReason::TooLarge]),
        ),
        (
            "a secret, and a file that may be the work",
            leaves(&[LeftOutReason::Secret, LeftOutReason::Unreadable]),
        ),
    ]);
}

#[test]
fn claim_without_permitted_rescue_is_review() {
    let claims = || World::dirty().says(complete());
    Ending("review/rescue_incomplete probes=1 snapshots=2").concludes([
        ("--no-rescue", claims().no_rescue()),
        (
            "mode snapshot",
            claims().set(|setup| setup.rescue_mode = RescueMode::Snapshot),
        ),
    ]);
    Ending("review/rescue_incomplete probes=1").concludes([(
        "mode off",
        claims().set(|setup| setup.rescue_mode = RescueMode::Off),
    )]);
    Ending("complete/rescued claimed probes=1 rescues=1 snapshots=2").concludes([
        (
            "mode single",
            claims().set(|setup| setup.rescue_mode = RescueMode::Single),
        ),
        (
            "mode command",
            claims().set(|setup| setup.rescue_mode = RescueMode::Command),
        ),
    ]);
    Ending("complete/nothing_to_do claimed probes=1").concludes([(
        "--no-rescue, clean",
        World::clean().says(complete()).no_rescue(),
    )]);
    Ending("timeout/max_probes STRIKE probes=3 waits=3 snapshots=4").concludes([(
        "--no-rescue, working",
        World::dirty().says(working()).no_rescue(),
    )]);
}

#[test]
fn living_agent_is_awaited_until_probes_are_spent() {
    Ending("timeout/max_probes STRIKE probes=3 waits=3").concludes([
        ("working", World::clean().says(working())),
        ("waiting", World::clean().says(waiting())),
    ]);
    Ending("complete/nothing_to_do claimed probes=2 waits=1").concludes([(
        "working, then complete",
        World::clean().replies([working(), complete()]),
    )]);
    Ending("incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=4").concludes([
        (
            "working, dirty: final rescue",
            World::dirty().says(working()),
        ),
        (
            "final rescue changes nothing in the end",
            World::dirty()
                .says(working())
                .rescue(CommitsWithoutNetChange),
        ),
    ]);
    Ending("incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=1").concludes([(
        "dirty in the last wait: final rescue",
        World::clean().says(working()).during(Wait(3), Edit),
    )]);
    Ending("review/rescue_incomplete probes=3 rescues=1 waits=3 snapshots=4").concludes([(
        "final rescue fails",
        World::dirty().says(working()).rescue(Fails),
    )]);
    Ending("timeout/max_probes STRIKE probes=3 rescues=1 waits=3 snapshots=4").concludes([(
        "final rescue makes nothing",
        World::dirty().says(working()).rescue(CommitsNothing),
    )]);
    Ending("timeout/max_probes STRIKE probes=3 waits=3 snapshots=4").concludes([(
        "no final rescue",
        World::dirty().says(working()).no_final_rescue(),
    )]);
}

#[test]
fn agent_giving_up_ends_the_probes() {
    let gives_up = |world: World| world.says(gives_up());
    Ending("stopped/agent_stopped probes=1").concludes([("clean", gives_up(World::clean()))]);
    Ending("stopped/agent_stopped probes=1 rescues=1 snapshots=2").concludes([
        ("dirty", gives_up(World::dirty())),
        ("rescue fails", gives_up(World::dirty()).rescue(Fails)),
        (
            "rescue makes nothing",
            gives_up(World::dirty()).rescue(CommitsNothing),
        ),
    ]);
    Ending("stopped/agent_stopped probes=1 snapshots=2")
        .concludes([("--no-rescue", gives_up(World::dirty()).no_rescue())]);
    Ending("stopped/agent_stopped probes=3 waits=2").concludes([(
        "in the last round",
        World::clean().replies([working(), working(), super::world::gives_up()]),
    )]);
}

#[test]
fn a_question_without_an_answer_spends_its_probe() {
    let never = |outcome: ProbeOutcome| World::clean().says(outcome);
    let why = || "because".to_string();
    Ending("error/probe_error probes=2 waits=1").concludes([
        ("unreadable", never(garbage())),
        ("empty", never(ProbeOutcome::Empty)),
        ("timed out", never(ProbeOutcome::TimedOut)),
        ("failed", never(ProbeOutcome::Failed { why: why() })),
    ]);
    Ending("error/probe_error probes=1").concludes([
        (
            "no conversation",
            never(ProbeOutcome::NoConversation { why: why() }),
        ),
        (
            "the only question timed out",
            never(ProbeOutcome::TimedOut).asks_at_most(1),
        ),
    ]);
    Ending("error/probe_error probes=3 waits=2")
        .concludes([("overloaded", never(ProbeOutcome::Overloaded { why: why() }))]);
    Ending("failed/agent_unrunnable probes=1").concludes([
        (
            "not installed",
            never(ProbeOutcome::NotInstalled { why: why() }),
        ),
        (
            "not logged in",
            never(ProbeOutcome::NotLoggedIn { why: why() }),
        ),
    ]);
    Ending("waiting/rate_limited probes=1").concludes([("usage limit", never(usage_limit()))]);
    Ending("waiting/rate_limited probes=2 waits=1").concludes([(
        "usage limit later",
        World::clean().replies([working(), usage_limit()]),
    )]);
    Ending("waiting/rate_limited probes=1 rescues=1 snapshots=2")
        .concludes([("usage limit, dirty", World::dirty().says(usage_limit()))]);
    Ending("timeout/max_probes STRIKE probes=3 waits=2").concludes([(
        "one answer is enough for a timeout",
        World::clean().replies([working(), garbage()]),
    )]);
    Ending("complete/nothing_to_do claimed probes=3 waits=2").concludes([(
        "late answer",
        World::clean().replies([garbage(), ProbeOutcome::Empty, complete()]),
    )]);
    Ending("error/probe_error probes=2 rescues=1 waits=1 snapshots=3")
        .concludes([("nobody answers, dirty", World::dirty().says(garbage()))]);
    Ending("review/rescue_incomplete probes=2 rescues=1 waits=1 snapshots=3").concludes([(
        "nobody answers, and rescue fails",
        World::dirty().says(garbage()).rescue(Fails),
    )]);
}

#[test]
fn failures_back_off_longer_and_answers_reset_it() {
    use crate::decision::machine::ProbePause;
    let at_most = World::clean().setup.completion.probe_interval;
    let run = World::clean()
        .asks_at_most(5)
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
    Ending("review/disputed probes=2").concludes([
        ("itself, twice", World::clean().says(contradiction())),
        ("git, twice", World::clean().says(claims_a_commit())),
    ]);
    Ending("review/disputed probes=2 snapshots=2").concludes([(
        "dirty: nothing is committed",
        World::dirty().says(contradiction()),
    )]);
    Ending("complete/nothing_to_do claimed probes=2").concludes([(
        "resolved",
        World::clean().replies([contradiction(), complete()]),
    )]);
    Ending("review/disputed probes=3 waits=1").concludes([(
        "not in a row",
        World::clean().replies([contradiction(), working(), contradiction()]),
    )]);
    Ending("review/disputed probes=1").concludes([(
        "no question left",
        World::clean().says(contradiction()).asks_at_most(1),
    )]);
    Ending("complete/new_commits committed probes=1 snapshots=1").concludes([(
        "what was left beside commits is gone: they decide before the second question",
        World::committed()
            .after(Edit)
            .reads_leftovers()
            .says(contradiction())
            .during(Probe(1), Discard),
    )]);
    Ending("review/disputed probes=3 waits=1 snapshots=3").concludes([(
        "asked again in vain",
        World::dirty().replies([contradiction(), garbage()]),
    )]);
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
    let none = |world: World| world.asks_at_most(0);
    let no_probe = |world: World| world.no_probe();
    let no_agent = |world: World| world.set(|setup| setup.unasked = Some(UnaskedCause::NoAgent));
    let unmet = Always(CheckOutcome::Unmet);
    Ending("timeout/max_probes").concludes([("0: nothing", none(World::clean()))]);
    Ending("complete/new_commits committed").concludes([
        ("0: commit", none(World::committed())),
        ("no agent: commit", no_agent(World::committed())),
        ("--no-probe: commit", no_probe(World::committed())),
    ]);
    Ending("incomplete/unfinished rescues=1 snapshots=1").concludes([
        ("0: dirty", none(World::dirty())),
        ("no agent: dirty", no_agent(World::dirty())),
    ]);
    Ending("review/rescue_incomplete rescues=1 snapshots=1").concludes([
        ("0: dirty, rescue fails", none(World::dirty()).rescue(Fails)),
        (
            "no agent: dirty, rescue fails",
            no_agent(World::dirty()).rescue(Fails),
        ),
    ]);
    Ending("incomplete/unfinished").concludes([
        ("no agent: nothing", no_agent(World::clean())),
        ("--no-probe: nothing", no_probe(World::clean())),
        ("--no-probe and 0", no_probe(none(World::clean()))),
    ]);
    Ending("incomplete/unfinished snapshots=1").concludes([
        (
            "no agent: dirty, one look",
            no_agent(World::dirty()).looks_once(),
        ),
        ("--no-probe: dirty", no_probe(World::dirty())),
    ]);
    Ending("incomplete/checks_unmet checks=1")
        .concludes([("no agent: unmet", no_agent(World::clean().checks(unmet)))]);
    Ending("complete/new_commits committed rescues=1 snapshots=1").concludes([(
        "no agent: commit beside work",
        no_agent(World::committed().after(Edit)).reads_leftovers(),
    )]);
}

#[test]
fn only_a_genuine_timeout_is_a_strike() {
    let alive = || World::clean().says(working());
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
        .asks_at_most(5)
        .replies([working(), garbage()]);
    assert_eq!(
        because(falls_silent),
        Some("probes_left"),
        "the same unusable answer twice leaves probes unspent"
    );
    assert_eq!(because(alive().after(Pull)), Some("new_commits"));
    assert_eq!(
        because(alive().during(Wait(1), EmptyCommit)),
        Some("new_commits")
    );
    assert_eq!(
        because(World::clean().asks_at_most(0)),
        Some("no_probe_answered_waiting_or_working")
    );
    let never_committed = World::dirty().says(complete()).rescue(CommitsNothing);
    assert_eq!(because(never_committed), Some("review"));
    assert_eq!(because(World::clean().says(garbage())), Some("error"));
    assert_eq!(because(World::clean().says(gives_up())), Some("stopped"));
    assert_eq!(because(World::clean().says(usage_limit())), Some("waiting"));
    assert_eq!(because(World::committed()), Some("complete"));
}
