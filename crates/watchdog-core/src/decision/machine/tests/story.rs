//! One worktree over several sessions, with people and pulls in between. Whose a file is, what carries over from one judgement to the
//! next, strikes and answers that stand are the product's own decisions; git and the agent are played by maps and lists.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::config::settings::ConfigSettings;
use crate::decision::beside_claim::dispute_beside;
use crate::decision::breaker::{Breaker, BreakerAdmission, BreakerInput};
use crate::decision::machine::EarlierRounds;
use crate::decision::rounds;
use crate::decision::standing_answer::{JudgementTrigger, is_last_word, stands_until};
use watchdog_facts::evidence::{
    CheckOutcome, Commits, GitOperation, ProbeOutcome, ProcessExit, SessionEnd,
};
use watchdog_facts::session_work::{
    ContentIds, SessionEdgeFiles, UncommittedOrigin, drop_earlier_work,
};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

use super::world::*;

/// What somebody does in the worktree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deed {
    /// Writes a file: its path and what it then holds.
    Write(&'static str, &'static str),
    /// Puts an uncommitted file back to what HEAD has.
    Discard(&'static str),
    /// Commits everything that is uncommitted.
    Commit,
    /// Commits this file alone.
    CommitOnly(&'static str),
    /// A commit without a change.
    CommitNothing,
    /// Reverts all that is new since the baseline.
    Revert,
    /// Brings one commit from elsewhere (a pull, a fast-forward, another branch), which holds this file.
    Import(&'static str),
    /// Begins what git leaves half done.
    Stop(GitOperation),
    /// Ends it, without a commit of its own.
    Finish,
    /// A helper commits to a branch of its own.
    Help,
    /// HEAD takes what the helper made.
    Merge,
    /// A file inside of a submodule changes.
    InSubmodule,
}

/// Who acts, or what is called.
#[derive(Debug, Clone)]
enum StepKind {
    /// `watchdog run`, with the session's end; `adopt` = what is uncommitted becomes its work.
    Session { end: SessionEnd, adopt: bool },
    /// A person, or somebody else's program: nothing is judged.
    Person,
    /// `watchdog check`.
    Check,
    /// `watchdog check --once`, as cron and `sweep` call it.
    Once,
    /// So many hours pass.
    Hours(i64),
}

/// One step of a story, and what is asked and answered during it.
#[derive(Debug, Clone)]
pub(super) struct Step {
    kind: StepKind,
    deeds: Vec<Deed>,
    replies: Vec<ProbeOutcome>,
    /// Something of the session runs on.
    left_running: bool,
}

impl Step {
    fn of(kind: StepKind, deeds: &[Deed]) -> Step {
        Step {
            kind,
            deeds: deeds.to_vec(),
            replies: Vec::new(),
            left_running: false,
        }
    }

    pub(super) fn says(self, reply: ProbeOutcome) -> Step {
        Step {
            replies: vec![reply],
            ..self
        }
    }

    pub(super) fn leaves_a_process(self) -> Step {
        Step {
            left_running: true,
            ..self
        }
    }
}

pub(super) fn session(deeds: &[Deed]) -> Step {
    session_that(
        SessionEnd::Ended {
            exit: ProcessExit::Code(0),
        },
        deeds,
    )
}

pub(super) fn session_that(end: SessionEnd, deeds: &[Deed]) -> Step {
    Step::of(StepKind::Session { end, adopt: false }, deeds)
}

pub(super) fn adopting(deeds: &[Deed]) -> Step {
    Step::of(
        StepKind::Session {
            end: SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            },
            adopt: true,
        },
        deeds,
    )
}

pub(super) fn person(deeds: &[Deed]) -> Step {
    Step::of(StepKind::Person, deeds)
}

pub(super) fn check() -> Step {
    Step::of(StepKind::Check, &[])
}

pub(super) fn once() -> Step {
    Step::of(StepKind::Once, &[])
}

pub(super) fn hours(hours: i64) -> Step {
    Step::of(StepKind::Hours(hours), &[])
}

/// The last answer, and the state that it was about.
struct Standing {
    outcome: ProbeOutcome,
    at: Timestamp,
    pauses: u32,
    state: (usize, ContentIds, bool),
    reason: Reason,
    last_word: bool,
}

/// The worktree, and what is recorded of it.
pub(super) struct Story {
    now: Timestamp,
    /// The file that the one check wants to be there, committed or not.
    wanted: Option<&'static str>,
    passed_before: bool,
    max_probes: u32,
    committed: ContentIds,
    uncommitted: ContentIds,
    commits: Commits,
    unmerged: Vec<String>,
    in_submodules: Vec<String>,
    record: SessionEdgeFiles,
    over: bool,
    earlier: EarlierRounds,
    breaker: Breaker,
    standing: Option<Standing>,
    completed: bool,
}

impl Story {
    pub(super) fn begins() -> Story {
        Story {
            now: Timestamp::constant(1_799_990_000, 0),
            wanted: None,
            passed_before: false,
            max_probes: 3,
            committed: ContentIds::new(),
            uncommitted: ContentIds::new(),
            commits: Commits {
                head: Some("0".into()),
                ..Commits::default()
            },
            unmerged: Vec::new(),
            in_submodules: Vec::new(),
            record: SessionEdgeFiles::default(),
            over: false,
            earlier: EarlierRounds::default(),
            breaker: Breaker::default(),
            standing: None,
            completed: false,
        }
    }

    /// A check is configured: this file must be there.
    pub(super) fn wanting(path: &'static str) -> Story {
        Story {
            wanted: Some(path),
            ..Story::begins()
        }
    }

    /// A check is configured, and this file is there already.
    pub(super) fn wanting_what_is_there(path: &'static str) -> Story {
        let committed = ContentIds::from([(path.to_owned(), "1".to_owned())]);
        Story {
            passed_before: true,
            committed,
            ..Story::wanting(path)
        }
    }

    pub(super) fn without_questions() -> Story {
        Story {
            max_probes: 0,
            ..Story::begins()
        }
    }

    /// Takes one step: what it came to, or nothing where nothing was judged.
    pub(super) fn take(&mut self, step: &Step) -> String {
        match &step.kind {
            StepKind::Hours(hours) => {
                self.now += SignedDuration::from_hours(*hours);
                String::new()
            }
            StepKind::Person => {
                self.play(&step.deeds);
                String::new()
            }
            StepKind::Check => self.judge(step, None, JudgementTrigger::Typed),
            StepKind::Once => self.judge(step, None, JudgementTrigger::Again),
            StepKind::Session { end, adopt } => {
                if let BreakerAdmission::Refused { .. } = self
                    .breaker
                    .admit(self.now, &ConfigSettings::default().breaker)
                {
                    return "stopped/breaker_open".into();
                }
                self.begin_session(*adopt);
                self.play(&step.deeds);
                self.record.end = Some(self.uncommitted.clone());
                self.over = !step.left_running;
                self.judge(step, Some(end.clone()), JudgementTrigger::Typed)
            }
        }
    }

    /// The baseline is recorded: commits count from here, and what an earlier session left is the work of the spec.
    fn begin_session(&mut self, adopt: bool) {
        let left = if self.completed {
            ContentIds::new()
        } else {
            self.record.left_by_session()
        };
        let found = if adopt {
            ContentIds::new()
        } else {
            drop_earlier_work(self.uncommitted.clone(), &left)
        };
        self.record = SessionEdgeFiles {
            inherited: found,
            end: None,
        };
        self.commits = Commits {
            head: self.commits.head.take(),
            operation: self.commits.operation,
            ..Commits::default()
        };
        self.earlier = rounds::at_new_baseline(self.earlier);
        self.completed = false;
    }

    fn play(&mut self, deeds: &[Deed]) {
        deeds.iter().for_each(|deed| self.happens(*deed));
    }

    fn happens(&mut self, deed: Deed) {
        match deed {
            Deed::Write(path, holds) => drop(self.uncommitted.insert(path.into(), holds.into())),
            Deed::Discard(path) => drop(self.uncommitted.remove(path)),
            Deed::Commit => {
                self.committed.append(&mut self.uncommitted);
                self.commit(true);
            }
            Deed::CommitOnly(path) => {
                let file = self
                    .uncommitted
                    .remove_entry(path)
                    .expect("it is uncommitted");
                self.committed.extend([file]);
                self.commit(true);
            }
            Deed::CommitNothing => self.commit(self.commits.net_change),
            Deed::Revert => {
                self.committed.clear();
                self.commit(false);
            }
            Deed::Import(path) => {
                self.committed.insert(path.into(), "theirs".into());
                self.commits.imported += 1;
                self.moves();
            }
            Deed::Stop(operation) => self.commits.operation = Some(operation),
            Deed::Finish => self.commits.operation = None,
            Deed::Help => self
                .unmerged
                .push("branch helper has 1 commit that HEAD lacks".into()),
            Deed::Merge => {
                self.unmerged.clear();
                self.commit(true);
            }
            Deed::InSubmodule => self
                .in_submodules
                .push("submodule lib has changes inside".into()),
        }
    }

    fn commit(&mut self, net_change: bool) {
        self.commits.made_here += 1;
        self.commits.net_change = net_change;
        self.moves();
    }

    fn moves(&mut self) {
        self.commits.new_commits += 1;
        self.commits.head = self.commits.head.take().map(|head| format!("{head}'"));
    }

    fn owned_by(&self, owner: UncommittedOrigin) -> ContentIds {
        let whose =
            |(path, id): &(&String, &String)| self.record.whose(path, || (*id).clone()) == owner;
        self.uncommitted
            .iter()
            .filter(whose)
            .map(|(path, id)| (path.clone(), id.clone()))
            .collect()
    }

    fn judge(&mut self, step: &Step, end: Option<SessionEnd>, judged: JudgementTrigger) -> String {
        let work = self.owned_by(UncommittedOrigin::Session);
        let state = (
            self.commits.head.as_ref().map_or(0, String::len),
            work.clone(),
            self.over,
        );
        let standing = self.standing.as_ref().filter(|answer| {
            end.is_none()
                && answer.state == state
                && stands_until(&answer.outcome, answer.at, answer.pauses, judged, self.now)
                    .is_some()
        });
        let stands = standing.map(|answer| (answer.outcome.clone(), answer.reason));
        let mut earlier = if judged == JudgementTrigger::Again {
            self.earlier
        } else {
            rounds::at_new_baseline(self.earlier)
        };
        if matches!(
            stands,
            Some((_, Reason::NothingToDo | Reason::RepeatedNothingToDo))
        ) {
            earlier.nothing_to_do_streak -= 1;
        }
        if let Some(before) =
            standing.filter(|before| before.last_word || judged == JudgementTrigger::Typed)
        {
            let replied = u32::from(matches!(before.outcome, ProbeOutcome::Reply(_)));
            (earlier.rounds_used, earlier.answered, earlier.alive) =
                (self.max_probes - 1, replied, replied);
        }
        let nobody = ProbeOutcome::Failed {
            why: "nobody was to be asked".into(),
        };
        let replies = stands
            .iter()
            .map(|(outcome, _)| outcome.clone())
            .chain(step.replies.clone())
            .chain([nobody]);
        let mut world = self.world(&work).replies(replies.take(1)).set(|setup| {
            setup.once = judged == JudgementTrigger::Again;
            setup.read_leftovers = end.is_some();
            setup.session_over = self.over;
            setup.no_progress_limit = Some(3);
            setup.earlier = earlier;
            setup.survivors = if step.left_running {
                vec!["server (process 7)".into()]
            } else {
                Vec::new()
            };
            setup.session = end;
        });
        let run = world.drive();
        let asked = if stands.is_some() {
            0
        } else {
            run.count("ask")
        };
        let mut verdict = dispute_beside(run.verdict, self.unmerged.clone(), &self.in_submodules);
        if stands.is_some() {
            verdict.strike = false;
        }
        self.keep(&verdict, world.commits, work);
        self.earlier = rounds::update_rounds(earlier, &verdict);
        self.breaker.record(
            self.now,
            &ConfigSettings::default().breaker,
            BreakerInput::from_verdict(&verdict),
        );
        match verdict.probes.last() {
            Some(probe) if stands.is_none() => {
                let same = self.standing.take().filter(|before| before.state == state);
                let pauses = same.map_or(0, |before| before.pauses + 1);
                let (outcome, reason, last_word) = (
                    probe.outcome.clone(),
                    verdict.reason,
                    is_last_word(&verdict),
                );
                self.standing = Some(Standing {
                    outcome,
                    at: self.now,
                    pauses,
                    state,
                    reason,
                    last_word,
                });
            }
            _ => self.standing.iter_mut().for_each(|answer| {
                (answer.reason, answer.last_word) = (verdict.reason, is_last_word(&verdict))
            }),
        }
        summary(&verdict, asked)
    }

    fn world(&self, work: &ContentIds) -> World {
        let count = |owner| self.owned_by(owner).len() as u64;
        let world = World {
            commits: self.commits.clone(),
            uncommitted: work.len() as u64,
            inherited: count(UncommittedOrigin::Inherited),
            since_end: count(UncommittedOrigin::SinceEnd),
            ..World::clean()
        };
        let world = world.set(|setup| {
            setup.completion.max_probes = self.max_probes;
            setup.completion.probe_interval = Duration::from_secs(30);
        });
        let there =
            |path: &str| self.committed.contains_key(path) || self.uncommitted.contains_key(path);
        match self.wanted {
            None => world,
            Some(path) if !there(path) => world.checks(Criteria::Always(CheckOutcome::Unmet)),
            Some(_) if self.passed_before => world.checks(Criteria::PassedBefore),
            Some(_) => world.checks(Criteria::Always(CheckOutcome::Pass)),
        }
    }

    /// What the judgement did to the worktree: a rescue took the session's files.
    fn keep(&mut self, verdict: &Verdict, commits: Commits, work: ContentIds) {
        self.commits = commits;
        if verdict.rescue_commits > 0 {
            self.uncommitted.retain(|path, _| !work.contains_key(path));
            self.committed.extend(work);
        }
        if verdict.status() == Status::Complete {
            self.completed = true;
            self.record.end = Some(self.uncommitted.clone());
        }
    }
}

/// Status, reason and strength, whether it is a strike, who was asked how often, and what a rescue did.
fn summary(verdict: &Verdict, asked: usize) -> String {
    let strength = match verdict.evidence {
        Evidence::None => String::new(),
        strength => format!(" {}", strength.as_str()),
    };
    let strike = if verdict.strike { " STRIKE" } else { "" };
    let asked = if asked == 0 {
        String::new()
    } else {
        format!(" asked={asked}")
    };
    let rescued = if verdict.rescue_commits == 0 {
        String::new()
    } else {
        format!(" rescued={}", verdict.rescue_commits)
    };
    format!(
        "{}/{}{strength}{strike}{asked}{rescued}",
        verdict.status().as_str(),
        verdict.reason.as_str()
    )
}

/// A story: its name, how the worktree is when it begins, and what each step comes to.
pub(super) type StoryRow = (&'static str, Story, Vec<(Step, &'static str)>);

/// Every story at once, so that one wrong one does not hide another. A step that judges nothing has no words.
pub(super) fn check_stories(stories: Vec<StoryRow>) {
    let wrong: Vec<String> = stories
        .into_iter()
        .filter_map(|(name, mut story, steps)| {
            let came: Vec<String> = steps.iter().map(|(step, _)| story.take(step)).collect();
            let expected: Vec<&str> = steps.iter().map(|(_, expected)| *expected).collect();
            (came != expected)
                .then(|| format!("{name}\n  expected {expected:?}\n  got      {came:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
