//! The stories that the contract's "Whose work" and its tree were walked through with: days of sessions, people and pulls, each with
//! the verdicts that serve the person who reads them. The same stories run end to end, with git and processes, in `tests/it`.

use std::time::Duration;

use watchdog_facts::evidence::{GitOperation, ProcessExit, SessionEnd};

use super::story::Deed::*;
use super::story::*;
use super::world::{complete, garbage, reset, usage_limit, waiting, working};

fn killed() -> SessionEnd {
    SessionEnd::Ended {
        exit: ProcessExit::Signal(9),
    }
}

fn cut_short() -> SessionEnd {
    SessionEnd::TimedOut {
        after: Duration::from_secs(60),
    }
}

fn limited() -> SessionEnd {
    SessionEnd::RateLimited {
        why: "limit reached".into(),
        retry_at: Some(reset()),
    }
}

fn without_room() -> SessionEnd {
    SessionEnd::CutShort {
        exit: ProcessExit::Code(1),
        why: "the service had no room for the session: 529".into(),
    }
}

const NOTHING: &[Deed] = &[];

#[test]
fn loops_end_only_with_the_work() {
    check_stories(vec![
        (
            "README's loop with a check: each session is told what is missing until it is there",
            Story::wanting("feature.rs"),
            vec![
                (
                    session(&[Write("draft.rs", "1"), Commit]),
                    "incomplete/checks_unmet",
                ),
                (
                    session(&[Write("feature.rs", "1")]),
                    "complete/checks_passed verified rescued=1",
                ),
                (check(), "complete/checks_passed verified"),
            ],
        ),
        (
            "README's loop without a check: what was left is rescued, and the next session's own commit completes",
            Story::begins(),
            vec![
                (
                    session(&[Write("a.rs", "1")]).says(working()),
                    "incomplete/unfinished asked=1 rescued=1",
                ),
                (
                    session(&[Write("b.rs", "1"), Commit]),
                    "complete/new_commits committed",
                ),
            ],
        ),
        (
            "a suite that was green before shows nothing of the work",
            Story::wanting_what_is_there("suite"),
            vec![
                (
                    session(NOTHING).says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
                (
                    session(NOTHING).says(working()),
                    "incomplete/unfinished STRIKE asked=1",
                ),
                (
                    session(&[Write("a.rs", "1"), Commit]),
                    "complete/checks_passed committed",
                ),
            ],
        ),
        (
            "three sessions that come to nothing under the same check are for a person",
            Story::wanting("feature.rs"),
            vec![
                (session(NOTHING), "incomplete/checks_unmet STRIKE"),
                (session(NOTHING), "incomplete/checks_unmet STRIKE"),
                (session(NOTHING), "review/max_iterations STRIKE"),
            ],
        ),
        (
            "a session that moves something in between begins the count anew",
            Story::wanting("feature.rs"),
            vec![
                (session(NOTHING), "incomplete/checks_unmet STRIKE"),
                (
                    session(&[Write("a.rs", "1"), Commit]),
                    "incomplete/checks_unmet",
                ),
                (session(NOTHING), "incomplete/checks_unmet STRIKE"),
                (session(NOTHING), "incomplete/checks_unmet STRIKE"),
            ],
        ),
        (
            "an agent that says three times that nothing is to be done",
            Story::begins(),
            vec![
                (
                    session(NOTHING).says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
                (
                    session(NOTHING).says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
                (
                    session(NOTHING).says(complete()),
                    "review/repeated_nothing_to_do asked=1",
                ),
            ],
        ),
        (
            "sessions that come to nothing open the breaker, and one is let through after its cooldown",
            Story::begins(),
            vec![
                (
                    session(NOTHING).says(working()),
                    "incomplete/unfinished STRIKE asked=1",
                ),
                (
                    session_that(cut_short(), NOTHING),
                    "timeout/session_timeout STRIKE",
                ),
                (
                    session(NOTHING).says(working()),
                    "incomplete/unfinished STRIKE asked=1",
                ),
                (session(NOTHING), "stopped/breaker_open"),
                (hours(1), ""),
                (
                    session(&[Write("a.rs", "1"), Commit]),
                    "complete/new_commits committed",
                ),
                (
                    session(NOTHING).says(working()),
                    "incomplete/unfinished STRIKE asked=1",
                ),
            ],
        ),
    ]);
}

#[test]
fn earlier_changes_are_not_the_sessions_work() {
    check_stories(vec![
        (
            "a person's notes complete nothing",
            Story::without_questions(),
            vec![
                (person(&[Write("notes.txt", "mine")]), ""),
                (session(NOTHING), "timeout/max_probes STRIKE"),
            ],
        ),
        (
            "a claim beside a person's notes",
            Story::begins(),
            vec![
                (person(&[Write("notes.txt", "mine")]), ""),
                (
                    session(NOTHING).says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
            ],
        ),
        (
            "a rescue takes the session's file and leaves the person's",
            Story::begins(),
            vec![
                (person(&[Write("notes.txt", "mine")]), ""),
                (
                    session(&[Write("a.rs", "1")]).says(complete()),
                    "complete/rescued claimed asked=1 rescued=1",
                ),
                (
                    session(NOTHING).says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
            ],
        ),
        (
            "a file that the session changed is wholly its work",
            Story::begins(),
            vec![
                (person(&[Write("half.rs", "mine")]), ""),
                (
                    session(&[Write("half.rs", "both")]).says(complete()),
                    "complete/rescued claimed asked=1 rescued=1",
                ),
            ],
        ),
        (
            "\"finish what I began\": adopted files are the session's to finish",
            Story::begins(),
            vec![
                (person(&[Write("half.rs", "mine")]), ""),
                (
                    adopting(NOTHING).says(complete()),
                    "complete/rescued claimed asked=1 rescued=1",
                ),
            ],
        ),
        (
            "an agent's own droppings",
            Story::begins(),
            vec![
                (
                    session(&[Write(".claude/settings.local.json", "1")]).says(working()),
                    "incomplete/unfinished STRIKE asked=1",
                ),
                (
                    session(&[Write("claude.log", "1"), Write(".DS_Store", "1")]).says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
            ],
        ),
        (
            "what a session left that met its limit is the next one's",
            Story::begins(),
            vec![
                (
                    session_that(limited(), &[Write("half.rs", "1")]),
                    "waiting/rate_limited",
                ),
                (hours(6), ""),
                (
                    session(NOTHING).says(complete()),
                    "complete/rescued claimed asked=1 rescued=1",
                ),
            ],
        ),
    ]);
}

#[test]
fn people_and_pulls_affect_only_their_own_work() {
    check_stories(vec![
        (
            "a person writes after the end: nobody is asked about that",
            Story::begins(),
            vec![
                (
                    session_that(limited(), &[Write("half.rs", "1")]),
                    "waiting/rate_limited",
                ),
                (person(&[Write("mine.rs", "1")]), ""),
                (
                    session(&[Write("half.rs", "2"), CommitOnly("half.rs")]),
                    "complete/new_commits committed",
                ),
            ],
        ),
        (
            "a person finishes and commits what the check wanted",
            Story::wanting("feature.rs"),
            vec![
                (
                    session(&[Write("draft.rs", "1"), Commit]),
                    "incomplete/checks_unmet",
                ),
                (person(&[Write("feature.rs", "1"), Commit]), ""),
                (check(), "complete/checks_passed verified"),
            ],
        ),
        (
            "a person takes the session's commits back",
            Story::begins(),
            vec![
                (
                    session(&[Write("a.rs", "1"), Commit]),
                    "complete/new_commits committed",
                ),
                (person(&[Revert]), ""),
                (check().says(working()), "incomplete/unfinished asked=1"),
            ],
        ),
        (
            "a person discards what the session left",
            Story::begins(),
            vec![
                (
                    session_that(limited(), &[Write("half.rs", "1")]),
                    "waiting/rate_limited",
                ),
                (person(&[Discard("half.rs")]), ""),
                (
                    check().says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
            ],
        ),
        (
            "a pull completes nothing, and a strike it is neither",
            Story::begins(),
            vec![
                (
                    session(&[Import("theirs.rs")]).says(working()),
                    "incomplete/unfinished asked=1",
                ),
                (person(&[Import("more.rs")]), ""),
                (check().says(working()), "incomplete/unfinished asked=1"),
            ],
        ),
        (
            "a pull that meets the check completes the spec",
            Story::wanting("feature.rs"),
            vec![
                (
                    session(&[Write("draft.rs", "1"), Commit]),
                    "incomplete/checks_unmet",
                ),
                (person(&[Import("feature.rs")]), ""),
                (check(), "complete/checks_passed verified"),
            ],
        ),
        (
            "commits of the branch that is switched to are not made here",
            Story::begins(),
            vec![(
                session(&[Import("theirs.rs"), Import("more.rs")]).says(complete()),
                "complete/nothing_to_do claimed asked=1",
            )],
        ),
        (
            "an empty commit beside a merge of main",
            Story::begins(),
            vec![(
                session(&[Import("theirs.rs"), CommitNothing]).says(working()),
                "incomplete/unfinished asked=1",
            )],
        ),
        (
            "a merge that stopped at a conflict, resolved by the next session",
            Story::begins(),
            vec![
                (
                    session(&[Stop(GitOperation::Merge), Write("a.rs", "both")]),
                    "incomplete/operation_in_progress",
                ),
                (session(&[Finish, Commit]), "complete/new_commits committed"),
            ],
        ),
        (
            "a rebase in progress hides nothing, whatever else is there",
            Story::wanting("feature.rs"),
            vec![
                (
                    session(&[Write("feature.rs", "1"), Commit, Stop(GitOperation::Rebase)]),
                    "incomplete/operation_in_progress",
                ),
                (person(&[Finish]), ""),
                (check(), "complete/checks_passed verified"),
            ],
        ),
    ]);
}

#[test]
fn helpers_and_submodules_stand_beside_no_bare_complete() {
    check_stories(vec![
        (
            "a helper's branch that HEAD lacks, merged by the next session",
            Story::begins(),
            vec![
                (session(&[Help]).says(complete()), "review/disputed asked=1"),
                (session(&[Merge]), "complete/new_commits committed"),
            ],
        ),
        (
            "own commits beside a helper's branch",
            Story::begins(),
            vec![(
                session(&[Help, Write("a.rs", "1"), Commit]),
                "complete/new_commits committed",
            )],
        ),
        (
            "changes inside of a submodule",
            Story::begins(),
            vec![(
                session(&[InSubmodule]).says(complete()),
                "review/disputed asked=1",
            )],
        ),
    ]);
}

#[test]
fn dead_or_lingering_sessions_are_judged_by_facts() {
    check_stories(vec![
        (
            "a crash after commits",
            Story::begins(),
            vec![(
                session_that(killed(), &[Write("a.rs", "1"), Commit]),
                "complete/new_commits committed",
            )],
        ),
        (
            "a crash in the midst of work, and the session that goes on",
            Story::begins(),
            vec![
                (
                    session_that(killed(), &[Write("a.rs", "1")]).says(working()),
                    "incomplete/unfinished asked=1 rescued=1",
                ),
                (
                    session(&[Write("a.rs", "2"), Commit]),
                    "complete/new_commits committed",
                ),
            ],
        ),
        (
            "a crash before anything was done",
            Story::begins(),
            vec![(
                session_that(killed(), NOTHING).says(working()),
                "incomplete/unfinished STRIKE asked=1",
            )],
        ),
        (
            "a session cut short in the midst of work",
            Story::begins(),
            vec![
                (
                    session_that(cut_short(), &[Write("a.rs", "1")]),
                    "incomplete/unfinished rescued=1",
                ),
                (
                    session_that(cut_short(), NOTHING),
                    "timeout/session_timeout STRIKE",
                ),
            ],
        ),
        (
            "a night on which the service has no room: nobody is asked, nothing is a strike, and the work goes on",
            Story::begins(),
            vec![
                (
                    session_that(without_room(), NOTHING),
                    "incomplete/unfinished",
                ),
                (
                    session_that(without_room(), &[Write("a.rs", "1")]),
                    "incomplete/unfinished rescued=1",
                ),
                (
                    session_that(without_room(), NOTHING),
                    "incomplete/unfinished",
                ),
                (
                    session_that(without_room(), NOTHING),
                    "incomplete/unfinished",
                ),
                (
                    session(&[Write("a.rs", "2"), Commit]),
                    "complete/new_commits committed",
                ),
            ],
        ),
        (
            "three sessions without room under the same unmet check are for no person",
            Story::wanting("feature.rs"),
            vec![
                (
                    session_that(without_room(), NOTHING),
                    "incomplete/checks_unmet",
                ),
                (
                    session_that(without_room(), NOTHING),
                    "incomplete/checks_unmet",
                ),
                (
                    session_that(without_room(), NOTHING),
                    "incomplete/checks_unmet",
                ),
                (
                    session_that(without_room(), &[Write("feature.rs", "1")]),
                    "complete/checks_passed verified rescued=1",
                ),
            ],
        ),
        (
            "a server that outlives its session holds the verdict until it ends",
            Story::begins(),
            vec![
                (
                    session(&[Write("a.rs", "1")]).leaves_a_process(),
                    "waiting/background_work",
                ),
                (
                    session(NOTHING).says(complete()),
                    "complete/rescued claimed asked=1 rescued=1",
                ),
            ],
        ),
        (
            "a plain text agent whose answer nobody can read",
            Story::begins(),
            vec![
                (
                    session(NOTHING).says(garbage()),
                    "error/probe_error asked=2",
                ),
                (check(), "error/probe_error"),
                (
                    session(&[Write("a.rs", "1")]).says(garbage()),
                    "error/probe_error asked=2 rescued=1",
                ),
            ],
        ),
    ]);
}

#[test]
fn weekly_cron_probes_once_per_state() {
    check_stories(vec![
        (
            "a quiet worktree",
            Story::begins(),
            vec![
                (session_that(limited(), NOTHING), "waiting/rate_limited"),
                (once().says(waiting()), "waiting/background_work asked=1"),
                (once(), "waiting/background_work"),
                (once(), "timeout/max_probes"),
                (once(), "timeout/max_probes"),
                (hours(2), ""),
                (once().says(waiting()), "waiting/background_work asked=1"),
            ],
        ),
        (
            "a commit that arrives in between",
            Story::begins(),
            vec![
                (
                    session(NOTHING).says(working()),
                    "incomplete/unfinished STRIKE asked=1",
                ),
                (once(), "incomplete/unfinished"),
                (person(&[Write("a.rs", "1"), Commit]), ""),
                (once(), "complete/new_commits committed"),
            ],
        ),
        (
            "a usage limit of the question stands until it is lifted",
            Story::begins(),
            vec![
                (
                    session(NOTHING).says(usage_limit()),
                    "waiting/rate_limited asked=1",
                ),
                (once(), "waiting/rate_limited"),
                (check(), "waiting/rate_limited"),
                (hours(3), ""),
                (
                    check().says(complete()),
                    "complete/nothing_to_do claimed asked=1",
                ),
            ],
        ),
    ]);
}
