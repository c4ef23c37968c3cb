//! A scripted world: a repository, an agent and a rescue that behave as a test says, driven by the machine
//! until it concludes. Counts what was asked for.

use std::time::Duration;

use crate::config::settings::{ConfigSettings, RescueMode};
use crate::decision::judgement_rule::JudgementRule;
use crate::decision::machine::{
    CheckMachine, ChecksResult, MachineAction, MachineEvent, MachineSetup, ProbePause,
    SurvivorFacts,
};
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, CheckResult, Commits, CriteriaChanged, Degradation,
    FaultKind, GitOperation, HeldRescue, LeftOut, LeftOutReason, OutcomeBeforeWork, ProbeOutcome,
    ReadFact, RescueOutcome, SessionEnd, TestCounts, UnreadableFact, WarningCode,
};
use watchdog_facts::verdict::{Evidence, Verdict};

pub(super) use self::{Criteria::*, During::*, Effect::*, Salvage::*};
pub(super) use super::replies::*;

/// The state of a worktree, and how everybody around it behaves.
#[derive(Clone)]
pub(super) struct World {
    pub(super) setup: MachineSetup,
    pub(super) commits: Commits,
    pub(super) uncommitted: u64,
    /// Files that are uncommitted and not the session's: there before it, and changed after its end.
    pub(super) inherited: u64,
    pub(super) since_end: u64,
    /// What weakens the look at uncommitted changes.
    pub(super) changes_note: Option<WarningCode>,
    /// Answers in order; the last one repeats.
    pub(super) replies: Vec<ProbeOutcome>,
    /// Every answer after the first one is that one, reused without a question.
    pub(super) first_answer_stands: bool,
    /// No question is put: a limit of another machine, a budget or a cap keeps it back.
    pub(super) withholds: bool,
    /// What happens while something goes on.
    pub(super) effects: Vec<(During, Effect)>,
    /// Rescues in order; the last one repeats.
    pub(super) rescues: Vec<Salvage>,
    pub(super) checks: Criteria,
    /// What a passed check says.
    pub(super) finding: &'static str,
    /// Checks run in a scratch checkout, where no uncommitted file is.
    pub(super) in_scratch: bool,
    /// What changed of the files that say what done means.
    pub(super) changed: CriteriaChanged,
    pub(super) activity: ActivityFacts,
    /// What the session left running has ended when it is looked at for the n-th time; 0 = never.
    pub(super) survivors_end: usize,
    /// These looks fail, counted from 1 per kind.
    pub(super) unreadable: Vec<(Kind, usize)>,
    /// A signal comes instead of the answer to the n-th action, counted from 1.
    pub(super) interrupt_at: Option<usize>,
}

/// When an effect happens: always after the look at commits of that round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum During {
    Probe(usize),
    Wait(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    /// A rescue made a commit of everything.
    Rescued,
    Commit,
    Pull,
    EmptyCommit,
    Edit,
    Discard,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Salvage {
    Commits(u64),
    /// Something stays uncommitted, as a secret does.
    CommitsAPart,
    /// Its commits put the tree back to the baseline's.
    CommitsWithoutNetChange,
    /// As where the user's command is not there, or all that is left is a secret.
    CommitsNothing,
    Fails,
    CommitsThenFails,
    /// It commits, and somebody begins a rebase meanwhile.
    CommitsIntoRebase,
    /// The same, and the rest of the work could not be committed.
    CommitsIntoRebaseThenFails,
    /// Its commits went to a branch of their own, after so many on the current one.
    Elsewhere(u64),
    Loses,
    /// So many files are lost.
    LosesMany(usize),
    /// A session may live beside it.
    HeldBack,
    /// All that is uncommitted is left out, for these reasons.
    LeavesOut(&'static [LeftOutReason]),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Criteria {
    Always(CheckOutcome),
    NeedCommits,
    NeedClean,
    /// What a rescue commits meets them.
    NeedRescue,
    /// They passed already when the work began.
    PassedBefore,
    /// They did, until what was pulled broke them.
    PassedBeforePull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Commits,
    Changes,
    Snapshot,
    Rescue,
    Criteria,
}

/// What came of it.
pub(super) struct Run {
    pub(super) verdict: Verdict,
    pub(super) actions: Vec<&'static str>,
    pub(super) pauses: Vec<ProbePause>,
    pub(super) questions: Vec<(u32, Option<String>)>,
    /// The rules that were applied, in order.
    pub(super) rules: Vec<JudgementRule>,
}

impl Run {
    pub(super) fn count(&self, action: &str) -> usize {
        self.actions.iter().filter(|&&name| name == action).count()
    }

    /// Status, reason and strength, and what it cost.
    pub(super) fn summary(&self) -> String {
        let verdict = &self.verdict;
        let evidence = match verdict.evidence {
            Evidence::None => String::new(),
            strength => format!(" {}", strength.as_str()),
        };
        let strike = if verdict.strike { " STRIKE" } else { "" };
        let counts = [
            ("ask", "probes"),
            ("rescue", "rescues"),
            ("wait", "waits"),
            ("snapshot", "snapshots"),
            ("checks", "checks"),
        ]
        .iter()
        .filter(|(action, _)| self.count(action) > 0)
        .map(|(action, word)| format!(" {word}={}", self.count(action)))
        .collect::<String>();
        format!(
            "{}/{}{evidence}{strike}{counts}",
            verdict.status().as_str(),
            verdict.reason.as_str()
        )
    }
}

impl World {
    /// Nothing new, nothing uncommitted, defaults but three rounds, and nobody who answers.
    pub(super) fn clean() -> World {
        let mut setup = MachineSetup {
            rescue_mode: RescueMode::Plan,
            require_evidence: Evidence::Claimed,
            ..MachineSetup::from_settings(&ConfigSettings::default())
        };
        setup.completion.max_probes = 3;
        World {
            setup,
            commits: Commits {
                head: Some("0".into()),
                ..Commits::default()
            },
            uncommitted: 0,
            inherited: 0,
            since_end: 0,
            changes_note: None,
            replies: Vec::new(),
            first_answer_stands: false,
            withholds: false,
            effects: Vec::new(),
            rescues: vec![Salvage::Commits(1)],
            checks: Criteria::Always(CheckOutcome::Pass),
            finding: "",
            in_scratch: false,
            changed: CriteriaChanged::default(),
            activity: ActivityFacts {
                worktree: Some(false),
                processes: Some(false),
                transcript: None,
            },
            survivors_end: 0,
            unreadable: Vec::new(),
            interrupt_at: None,
        }
    }

    pub(super) fn dirty() -> World {
        World {
            uncommitted: 2,
            ..World::clean()
        }
    }

    /// One commit was made since the baseline.
    pub(super) fn committed() -> World {
        World::clean().after(Effect::Commit)
    }

    /// This happened before the check began.
    pub(super) fn after(mut self, effect: Effect) -> World {
        self.happens(effect);
        self
    }

    pub(super) fn set(mut self, change: impl FnOnce(&mut MachineSetup)) -> World {
        change(&mut self.setup);
        self
    }

    pub(super) fn asks_at_most(self, probes: u32) -> World {
        self.set(|setup| setup.completion.max_probes = probes)
    }

    pub(super) fn no_probe(self) -> World {
        self.set(|setup| setup.no_probe = true)
    }

    pub(super) fn reads_leftovers(self) -> World {
        self.set(|setup| setup.read_leftovers = true)
    }

    pub(super) fn no_rescue(self) -> World {
        self.set(|setup| setup.no_rescue = true)
    }

    pub(super) fn no_final_rescue(self) -> World {
        self.set(|setup| setup.completion.final_rescue_attempt = false)
    }

    pub(super) fn looks_once(self) -> World {
        self.set(|setup| setup.once = true)
    }

    pub(super) fn session_over(self) -> World {
        self.set(|setup| setup.session_over = true)
    }

    pub(super) fn replies(self, replies: impl IntoIterator<Item = ProbeOutcome>) -> World {
        World {
            replies: replies.into_iter().collect(),
            ..self
        }
    }

    /// The one answer to every question.
    pub(super) fn says(self, reply: ProbeOutcome) -> World {
        self.replies([reply])
    }

    pub(super) fn during(mut self, when: During, effect: Effect) -> World {
        self.effects.push((when, effect));
        self
    }

    pub(super) fn rescue(self, salvage: Salvage) -> World {
        World {
            rescues: vec![salvage],
            ..self
        }
    }

    pub(super) fn rescues(self, salvages: &[Salvage]) -> World {
        World {
            rescues: salvages.to_vec(),
            ..self
        }
    }

    /// Criteria that need no program.
    pub(super) fn checks(self, checks: Criteria) -> World {
        World { checks, ..self }.set(|setup| setup.has_checks = true)
    }

    pub(super) fn checks_with_programs(self, checks: Criteria) -> World {
        self.checks(checks)
            .set(|setup| setup.checks_run_programs = true)
    }

    pub(super) fn unreadable(mut self, kind: Kind, nth: usize) -> World {
        self.unreadable.push((kind, nth));
        self
    }

    pub(super) fn session(self, end: SessionEnd) -> World {
        self.set(|setup| {
            setup.session = Some(end);
            setup.read_leftovers = true;
        })
    }

    fn happens(&mut self, effect: Effect) {
        let moved = |head: &Option<String>| head.as_ref().map(|head| format!("{head}'"));
        match effect {
            Effect::Commit => {
                self.commits.head = moved(&self.commits.head);
                self.commits.new_commits += 1;
                self.commits.made_here += 1;
                self.commits.net_change = true;
                self.uncommitted = 0;
            }
            Effect::Rescued => {
                self.commits.head = moved(&self.commits.head);
                self.commits.new_commits += 1;
                self.commits.rescued += 1;
                self.uncommitted = 0;
            }
            Effect::Pull => {
                self.commits.head = moved(&self.commits.head);
                self.commits.new_commits += 1;
                self.commits.imported += 1;
                self.commits.net_change = true;
            }
            Effect::EmptyCommit => {
                self.commits.head = moved(&self.commits.head);
                self.commits.new_commits += 1;
                self.commits.made_here += 1;
            }
            Effect::Edit => self.uncommitted += 1,
            Effect::Discard => self.uncommitted = 0,
        }
    }

    fn pass_time(&mut self, now: During) {
        let due: Vec<Effect> = self
            .effects
            .iter()
            .filter(|(when, _)| *when == now)
            .map(|(_, effect)| *effect)
            .collect();
        for effect in due {
            self.happens(effect);
        }
    }

    pub(super) fn run(mut self) -> Run {
        self.drive()
    }

    /// Drives the machine to its end.
    pub(super) fn drive(&mut self) -> Run {
        let mut machine = CheckMachine::new(self.setup.clone());
        let mut run = Run {
            verdict: placeholder(),
            actions: Vec::new(),
            pauses: Vec::new(),
            questions: Vec::new(),
            rules: Vec::new(),
        };
        let mut action = machine.step(MachineEvent::Start);
        loop {
            run.rules.extend(machine.take_rules());
            assert!(
                run.actions.len() < 500,
                "it does not end: {:?}",
                run.actions
            );
            run.actions.push(word(&action));
            let interrupted = self.interrupt_at == Some(run.actions.len());
            let event = match &action {
                MachineAction::Conclude(verdict) => {
                    run.verdict = verdict.as_ref().clone();
                    return run;
                }
                _ if interrupted => MachineEvent::Interrupt,
                other => self.answer(other, &mut run),
            };
            action = machine.step(event);
        }
    }

    fn answer(&mut self, action: &MachineAction, run: &mut Run) -> MachineEvent {
        let nth = run.count(word(action));
        match action {
            MachineAction::ReadCommits => {
                MachineEvent::Commits(self.readable(Kind::Commits, nth, self.commits.clone()))
            }
            MachineAction::ReadChanges => {
                let (work, inherited, since_end) =
                    (self.uncommitted, self.inherited, self.since_end);
                let degraded = self.changes_note.into_iter().map(noted_as).collect();
                let changes = Changes {
                    unstaged: work + inherited + since_end,
                    work,
                    inherited,
                    since_end,
                    degraded,
                    ..Changes::default()
                };
                MachineEvent::Changes(self.readable(Kind::Changes, nth, changes))
            }
            MachineAction::TakeSnapshot => {
                let name = (self.uncommitted > 0).then(|| format!("refs/watchdog/rescue/{nth}"));
                MachineEvent::Snapshot(self.readable(Kind::Snapshot, nth, name))
            }
            MachineAction::JudgeChecks => MachineEvent::Checks(self.judge()),
            MachineAction::Ask {
                number,
                contradiction,
            } => {
                run.questions.push((*number, contradiction.clone()));
                let outcome =
                    repeating(&self.replies, nth).expect("this world expects no question");
                self.pass_time(During::Probe(nth));
                match self.withholds {
                    true => withheld(outcome),
                    false => asked(outcome, u64::from(nth == 1 || !self.first_answer_stands)),
                }
            }
            MachineAction::Rescue => {
                let salvage = repeating(&self.rescues, nth).expect("this world expects no rescue");
                let outcome = self.salvage(salvage);
                MachineEvent::Rescue(self.readable(Kind::Rescue, nth, outcome))
            }
            MachineAction::Wait(pause) => {
                run.pauses.push(*pause);
                self.pass_time(During::Wait(nth));
                MachineEvent::WaitOver
            }
            MachineAction::ReadSurvivors if nth == self.survivors_end => {
                MachineEvent::Survivors(SurvivorFacts {
                    session_over: true,
                    ..SurvivorFacts::default()
                })
            }
            MachineAction::ReadSurvivors => MachineEvent::Survivors(SurvivorFacts {
                holding: self.setup.survivors.clone(),
                ..SurvivorFacts::default()
            }),
            MachineAction::ReadActivity => MachineEvent::Activity(self.activity),
            MachineAction::ReadCriteria => {
                MachineEvent::Criteria(self.readable(Kind::Criteria, nth, self.changed.clone()))
            }
            MachineAction::Conclude(_) => unreachable!("the end needs no answer"),
        }
    }

    fn readable<T>(&self, kind: Kind, nth: usize, value: T) -> ReadFact<T> {
        if self.unreadable.contains(&(kind, nth)) {
            return Err(UnreadableFact {
                kind: FaultKind::Git,
                why: format!("cannot read the {kind:?}"),
                hint: Some("look".into()),
            });
        }
        Ok(value)
    }

    fn judge(&self) -> ChecksResult {
        let met = |met: bool| {
            if met {
                CheckOutcome::Pass
            } else {
                CheckOutcome::Unmet
            }
        };
        let outcome = match self.checks {
            Criteria::Always(outcome) => outcome,
            Criteria::PassedBefore => CheckOutcome::Pass,
            Criteria::PassedBeforePull => met(self.commits.imported == 0),
            Criteria::NeedCommits => met(self.commits.made_here > 0),
            Criteria::NeedClean => met(self.uncommitted == 0),
            Criteria::NeedRescue => met(self.commits.rescued > 0),
        };
        let feedback = if outcome == CheckOutcome::Pass {
            self.finding
        } else {
            "tests fail"
        }
        .to_string();
        let evidence = Evidence::Verified;
        let all_passed_before = matches!(
            self.checks,
            Criteria::PassedBefore | Criteria::PassedBeforePull
        ) && outcome == CheckOutcome::Pass;
        let result = CheckResult {
            name: "tests".into(),
            kind: "command".into(),
            outcome,
            evidence,
            feedback: feedback.clone(),
            duration: Duration::ZERO,
            baseline_failures: Vec::new(),
            cached: false,
            before: if all_passed_before {
                OutcomeBeforeWork::Passed
            } else {
                OutcomeBeforeWork::Unknown
            },
            proof: None,
            tests: (!self.finding.starts_with("uncounted")).then_some(TestCounts {
                ran: 1,
                ..TestCounts::default()
            }),
            tests_uncounted: self.finding == "uncounted by a known runner",
            tree: self.in_scratch.then(|| "tree".into()),
        };
        ChecksResult {
            outcome,
            evidence,
            feedback,
            results: vec![result],
            all_passed_before,
            notes: Vec::new(),
        }
    }

    fn salvage(&mut self, salvage: Salvage) -> RescueOutcome {
        let nothing = RescueOutcome::default();
        match salvage {
            Salvage::Commits(count) => {
                (0..count).for_each(|_| self.happens(Effect::Rescued));
                RescueOutcome {
                    commits: count,
                    ..nothing
                }
            }
            Salvage::CommitsAPart => {
                self.happens(Effect::Rescued);
                self.happens(Effect::Edit);
                RescueOutcome {
                    commits: 1,
                    ..nothing
                }
            }
            Salvage::CommitsWithoutNetChange => {
                self.happens(Effect::Rescued);
                self.happens(Effect::Discard);
                RescueOutcome {
                    commits: 1,
                    ..nothing
                }
            }
            Salvage::CommitsNothing => nothing,
            Salvage::Fails => RescueOutcome {
                failed: Some("exit code 1".into()),
                ..nothing
            },
            Salvage::CommitsThenFails => {
                self.happens(Effect::Rescued);
                RescueOutcome {
                    commits: 1,
                    failed: Some("exit code 1".into()),
                    ..nothing
                }
            }
            Salvage::CommitsIntoRebase => {
                self.happens(Effect::Rescued);
                self.commits.operation = Some(GitOperation::Rebase);
                RescueOutcome {
                    commits: 1,
                    ..nothing
                }
            }
            Salvage::CommitsIntoRebaseThenFails => {
                let rebasing = self.salvage(Salvage::CommitsIntoRebase);
                RescueOutcome {
                    failed: Some("exit code 1".into()),
                    ..rebasing
                }
            }
            Salvage::Elsewhere(here) => {
                let left = self.uncommitted;
                (0..here).for_each(|_| self.happens(Effect::Rescued));
                self.uncommitted = left;
                let failed = Some("git commit ended with exit code 1\nlint: no".into());
                RescueOutcome {
                    commits: here,
                    failed,
                    fallback_branch: Some("watchdog/rescue/auth".into()),
                    ..nothing
                }
            }
            Salvage::Loses => {
                self.happens(Effect::Rescued);
                RescueOutcome {
                    commits: 1,
                    lost: vec!["lib.rs".into()],
                    ..nothing
                }
            }
            Salvage::HeldBack => RescueOutcome {
                held_back: Some(HeldRescue {
                    why: "claude works".into(),
                    retry_at: Some(reset()),
                }),
                ..nothing
            },
            Salvage::LosesMany(count) => RescueOutcome {
                lost: (1..=count).map(|n| format!("{n}.rs")).collect(),
                ..nothing
            },
            Salvage::LeavesOut(reasons) => {
                let left_out = reasons
                    .iter()
                    .map(|&why| LeftOut {
                        path: format!("{}.txt", why.as_str()),
                        why,
                    })
                    .collect();
                RescueOutcome {
                    left_out,
                    ..nothing
                }
            }
        }
    }
}

fn repeating<T: Clone>(script: &[T], nth: usize) -> Option<T> {
    script.get(nth - 1).or(script.last()).cloned()
}

pub(super) fn noted_as(code: WarningCode) -> Degradation {
    Degradation {
        code,
        detail: "as the test says".into(),
    }
}

fn placeholder() -> Verdict {
    Verdict::new(watchdog_facts::verdict::Reason::Halted, "not concluded")
}

pub(super) fn word(action: &MachineAction) -> &'static str {
    match action {
        MachineAction::ReadCommits => "commits",
        MachineAction::ReadChanges => "changes",
        MachineAction::TakeSnapshot => "snapshot",
        MachineAction::JudgeChecks => "checks",
        MachineAction::Ask { .. } => "ask",
        MachineAction::Rescue => "rescue",
        MachineAction::Wait(_) => "wait",
        MachineAction::ReadSurvivors => "survivors",
        MachineAction::ReadActivity => "activity",
        MachineAction::ReadCriteria => "criteria",
        MachineAction::Conclude(_) => "conclude",
    }
}

/// Every row at once, so that one wrong row does not hide another.
pub(super) struct Ending(pub(super) &'static str);

impl Ending {
    pub(super) fn concludes(self, worlds: impl IntoIterator<Item = (&'static str, World)>) {
        let others: Vec<String> = worlds
            .into_iter()
            .map(|(id, world)| (id, world.run().summary()))
            .filter(|(_, summary)| summary != self.0)
            .map(|(id, summary)| format!("{id}: {summary}"))
            .collect();
        assert!(others.is_empty(), "not {}:\n{}", self.0, others.join("\n"));
    }
}
