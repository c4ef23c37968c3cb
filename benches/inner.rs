//! What the inner parts cost, by themselves and without a process around them: the decision machine, the reading of a reply, the walk
//! through new commits, the look for changes, the reading of a checklist, a frame of the live view. `cargo bench -p watchdog-benches`; whole processes are measured by `scripts/bench`.

#![expect(
    clippy::disallowed_methods,
    reason = "the repositories to measure in are made with git itself"
)]

#[path = "../examples/bench/repository.rs"]
mod repository;

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::time::Duration;

use watchdog_agent::reply;
use watchdog_core::checks::{
    BoundedText, Capabilities, CheckContext, CommandRequest, CommandRun, CompletionCheck,
    JudgeAnswer, JudgeRequest, LineOutcome, MatchedFile, PlanCheck, PushState, TouchedPaths,
};
use watchdog_view::live::FrameBench;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use repository::{Shape, make};
use watchdog_core::config::settings::{ConfigSettings, PlanCriterion, RescueMode};
use watchdog_core::decision::machine::{CheckMachine, MachineAction, MachineEvent, MachineSetup};
use watchdog_facts::evidence::{
    ActivityFacts, Changes, Commits, ProbeOutcome, ReadFact, Reply, ReplyStatus,
};
use watchdog_facts::verdict::ProbeRecord;
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::baseline::{BaselineRecord, BaselineRefs};
use watchdog_store::{RecordType, StateDir, open_store};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A check whose five questions are all answered with "waiting", to its timeout.
fn machine(bench: &mut Criterion) {
    let setup = MachineSetup {
        rescue_mode: RescueMode::Plan,
        ..MachineSetup::from_settings(&ConfigSettings::default())
    };
    bench.bench_function("machine: five questions and a timeout", |timed| {
        timed.iter(|| {
            let mut machine = CheckMachine::new(setup.clone());
            let mut event = MachineEvent::Start;
            loop {
                event = match machine.step(event) {
                    MachineAction::ReadCommits => MachineEvent::Commits(Ok(Commits::default())),
                    MachineAction::ReadChanges => MachineEvent::Changes(Ok(Changes::default())),
                    MachineAction::Ask { .. } => MachineEvent::Probe(ProbeRecord {
                        at: Timestamp::UNIX_EPOCH,
                        duration: Duration::from_secs(1),
                        outcome: ProbeOutcome::Reply(Reply::bare(ReplyStatus::Waiting)),
                        disputed: None,
                        session_id: None,
                        usage: Default::default(),
                        withheld: false,
                    }),
                    MachineAction::Wait(_) => MachineEvent::WaitOver,
                    MachineAction::ReadActivity => MachineEvent::Activity(ActivityFacts::default()),
                    MachineAction::Conclude(verdict) => break verdict,
                    other => unreachable!(
                        "nothing is uncommitted, and no checks are configured: {other:?}"
                    ),
                };
            }
        });
    });
}

/// An answer in prose, and the worst that 256 KiB can hold.
fn replies(bench: &mut Criterion) {
    let prose = "I looked at everything.\n```json\n{\"status\": \"complete\", \"message\": \"all of it\"}\n```\nThat is all.";
    for (name, text) in [
        ("an answer in prose", prose.to_owned()),
        ("256 KiB of braces", "{".repeat(256 << 10)),
    ] {
        bench.bench_function(&format!("reply: {name}"), |timed| {
            timed.iter(|| reply::read_reply(black_box(text.as_bytes())))
        });
    }
}

fn git(bench: &mut Criterion) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let shape = Shape {
        name: "inner",
        commits: 10_000,
        files: 1_000,
        remote_branches: 0,
    };
    let path = scratch.path().join(shape.name);
    make(&path, shape).expect("git makes a repository");
    let worktree = Worktree::open(&path).expect("it was just made");
    for count in [1, 1_000] {
        let base = base(&path, count).expect("it has as many commits");
        bench.bench_function(
            &format!("history: {count} new of 10,000 commits"),
            |timed| {
                timed.iter(|| {
                    worktree
                        .commits_since(black_box(&base), None)
                        .expect("it can be read")
                });
            },
        );
    }
    bench.bench_function("changes: 1,000 files, none changed", |timed| {
        timed.iter(|| worktree.changes().expect("they can be read"))
    });
}

/// The commit that lies so many before HEAD.
fn base(repository: &Path, before: usize) -> Result<HistoryPoint> {
    let found = std::process::Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["rev-parse", &format!("HEAD~{before}")])
        .output()?;
    Ok(HistoryPoint::Commit(
        String::from_utf8(found.stdout)?.trim().to_owned(),
    ))
}

/// A markdown checklist of a thousand boxes, one of them open.
fn checklist(bench: &mut Criterion) {
    let text: String = (0..1_000)
        .map(|n| format!("- [{}] step {n}\n", if n == 500 { ' ' } else { 'x' }))
        .collect();
    let check = PlanCheck::new(PlanCriterion {
        path: Some("PLAN.md".into()),
        done: vec!["done".into()],
        max_titles: 3,
        optional_sections: Vec::new(),
        required: true,
    });
    let outside = OneFile(text.into_bytes());
    bench.bench_function("checklist: 1,000 boxes", |timed| {
        timed.iter(|| check.check(&CheckContext::new(&outside)))
    });
}

/// An outside with nothing in it but one file.
struct OneFile(Vec<u8>);

impl Capabilities for OneFile {
    fn clock(&self) -> Duration {
        Duration::ZERO
    }

    fn read_file(&self, _: &str, _: u64) -> io::Result<Option<Vec<u8>>> {
        Ok(Some(self.0.clone()))
    }

    fn run_command(&self, _: &CommandRequest<'_>) -> CommandRun {
        unreachable!("{ONLY}")
    }

    fn commits(&self) -> ReadFact<Commits> {
        unreachable!("{ONLY}")
    }

    fn changes(&self) -> ReadFact<Changes> {
        unreachable!("{ONLY}")
    }

    fn files(&self, _: &str) -> io::Result<Vec<MatchedFile>> {
        unreachable!("{ONLY}")
    }

    fn baseline_file(&self, _: &str, _: u64) -> ReadFact<Option<Vec<u8>>> {
        unreachable!("{ONLY}")
    }

    fn read_touched(&self, _: &dyn Fn(&str) -> bool) -> ReadFact<TouchedPaths> {
        unreachable!("{ONLY}")
    }

    fn read_protected(&self, _: &[String]) -> ReadFact<TouchedPaths> {
        unreachable!("{ONLY}")
    }

    fn read_push_state(&self) -> ReadFact<PushState> {
        unreachable!("{ONLY}")
    }

    fn diff(&self, _: usize) -> ReadFact<BoundedText> {
        unreachable!("{ONLY}")
    }

    fn ask_judge(&self, _: &JudgeRequest<'_>) -> JudgeAnswer {
        unreachable!("{ONLY}")
    }

    fn exchange(&self, _: &CommandRequest<'_>, _: &str) -> LineOutcome {
        unreachable!("{ONLY}")
    }
}

const ONLY: &str = "a checklist is read, and nothing else";

/// A frame of the live view: a key that moves a page down, and the cells that differ then.
fn frames(bench: &mut Criterion) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let state = StateDir::resolve(Some(scratch.path().join("state")), None, None)
        .expect("a folder of its own");
    state.ensure().expect("it can be made");
    let store = open_store(&state).expect("it opens");
    for n in 0..1_000 {
        let row = BaselineRecord {
            left_behind: Vec::new(),
            committer: None,
            commit: None,
            branch: Some("main".into()),
            refs: BaselineRefs::Here(Default::default()),
            at: Timestamp::UNIX_EPOCH,
            worktree: format!("/nowhere/projects/worktree-{n}").into(),
            clone_id: None,
            blocked: None,
        };
        row.write_row(store.as_ref(), &format!("w{n}"), "main")
            .expect("it can be recorded");
    }
    let mut view = FrameBench::open(&state, (120, 40)).expect("it can be read");
    bench.bench_function("live view: a frame of 1,000 worktrees", |timed| {
        timed.iter(|| view.scroll())
    });
}

criterion_group!(benches, machine, replies, git, checklist, frames);
criterion_main!(benches);
