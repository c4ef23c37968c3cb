//! The product itself: its decision machine, the state machine of its loop, its count of rounds, its breaker and its defaults, fed from
//! a scripted world as the judge feeds them from a real one.

use std::time::Duration;

use jiff::Timestamp;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::breaker::{Breaker, BreakerInput, BreakerState};
use watchdog_core::decision::iteration::next::{
    self as iteration, LoopEnd, LoopMachine, LoopPolicy, PauseLength,
};
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_core::decision::machine::{
    CheckMachine, EarlierRounds, MachineAction, MachineEvent, MachineSetup, ProbePause,
    SurvivorFacts,
};
use watchdog_core::decision::rounds;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::evidence::{
    ActivityFacts, Changes, Commits, Degradation, ProbeOutcome, ProcessExit, Reply, ReplyStatus,
    RescueOutcome, SessionEnd,
};
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage, Status, Verdict};

use super::policy::{Judge, Judged, Next, PAUSE};
use super::script::{Kind, Session};
use super::world::{Answer, Seconds, World};

/// How long a rescue takes: a plan by the agent, then commits.
const RESCUE: Seconds = 20;

/// `watchdog loop`'s own defaults: sessions in a row without progress, and the longest wait for a usage limit.
const NO_PROGRESS: u32 = 3;
const MAX_WAIT: Duration = Duration::from_secs(6 * 3600);

/// Our judge, with what the store keeps for it.
#[derive(Debug, Default)]
pub struct Ours {
    breaker: Breaker,
    earlier: EarlierRounds,
    /// The loop in progress, and when it began; each task has one of its own.
    looped: Option<(LoopMachine, Seconds)>,
}

impl Judge for Ours {
    /// watchdog keeps what is uncommitted before it starts a session.
    fn before(&mut self, world: &mut World<'_>) {
        world.snapshot();
        self.looped.get_or_insert_with(|| {
            let policy = LoopPolicy {
                limits: ConfigSettings::default().limits,
                no_progress: NO_PROGRESS,
                max_wait: MAX_WAIT,
                agents: Vec::new(),
            };
            (
                LoopMachine::new(
                    policy,
                    LoopStanding {
                        work: Some(world.state()),
                        ..LoopStanding::default()
                    },
                ),
                world.now,
            )
        });
    }

    fn judge(&mut self, world: &mut World<'_>, session: &Session, before: u64) -> Judged {
        let mut end = Some(session_end(world, session));
        // The service is away: the session fails, and says why.
        let crash = world
            .blocked()
            .filter(|during| during.kind == Kind::Outage)
            .map(|_| "the service is away".to_string());
        let ended = world.now;
        let mut probes = 0;
        loop {
            let crashed = crash.clone().filter(|_| end.is_some());
            let verdict = self.look(world, (before, ended), end.take(), crashed.is_some());
            probes += u32::try_from(verdict.probes.len()).unwrap_or(u32::MAX);
            if let Some(next) = self.next(world, &verdict, crashed) {
                return Judged { next, probes };
            }
        }
    }

    fn reset(&mut self) {
        self.breaker = Breaker::default();
        self.looped = None;
    }
}

impl Ours {
    /// Judges the work once; a session that crashed is not asked about.
    fn look(
        &mut self,
        world: &mut World<'_>,
        (before, ended): (u64, Seconds),
        end: Option<SessionEnd>,
        crashed: bool,
    ) -> Verdict {
        let settings = ConfigSettings::default();
        let setup = MachineSetup {
            read_leftovers: end.is_some(),
            session: end,
            no_probe: crashed,
            notes: crashed
                .then(|| Degradation {
                    code: watchdog_facts::evidence::WarningCode::Overloaded,
                    detail: "the service is away".into(),
                })
                .into_iter()
                .collect(),
            earlier: EarlierRounds {
                nothing_to_do_streak: self.earlier.nothing_to_do_streak,
                ..EarlierRounds::default()
            },
            ..MachineSetup::from_settings(&settings)
        };
        let verdict = Conversation {
            world,
            before,
            ended,
            looked: None,
            ran_here: false,
            rescued: 0,
        }
        .hold(setup);
        self.earlier = rounds::update_rounds(self.earlier, &verdict);
        self.breaker.record(
            at(world.now),
            &settings.breaker,
            BreakerInput::from_verdict(&verdict),
        );
        verdict
    }

    /// What the loop makes of a verdict; `None` where the same session is judged again.
    fn next(
        &mut self,
        world: &mut World<'_>,
        verdict: &Verdict,
        crash: Option<String>,
    ) -> Option<Next> {
        let settings = ConfigSettings::default();
        let open = self.breaker.state(at(world.now), &settings.breaker).state == BreakerState::Open;
        let (looped, began) = self
            .looped
            .as_mut()
            .expect("a session began, and a loop with it");
        let outcome = iteration::IterationOutcome {
            reason: verdict.reason,
            retry_at: verdict.retry_at,
            of_agent: true,
            unasked: false,
            overloaded: crash.is_some(),
            crash,
            breaker_open: open,
            work: Some(world.state()),
            spent: SpentUsage::default(),
        };
        let wall = |now: Seconds, began: Seconds| Duration::from_secs(now - began);
        let mut action = looped.step(
            at(world.now),
            wall(world.now, *began),
            iteration::LoopEvent::Judged(Box::new(outcome)),
        );
        if let iteration::LoopAction::Pause { length, .. } = action {
            world.pass(match length {
                PauseLength::For(length) => length.as_secs(),
                PauseLength::Until(until) => u64::try_from(until.as_second())
                    .unwrap_or_default()
                    .saturating_sub(world.now),
                PauseLength::Backoff { attempt, at_most } => backoff(attempt, at_most),
            });
            action = looped.step(
                at(world.now),
                wall(world.now, *began),
                iteration::LoopEvent::PauseOver,
            );
        }
        let next = match action {
            iteration::LoopAction::JudgeAgain => return None,
            iteration::LoopAction::Iterate { .. } => return Some(Next::Session(0)),
            iteration::LoopAction::Pause { .. } => unreachable!("a pause is followed by something"),
            iteration::LoopAction::End(LoopEnd::Verdict) => match verdict.status() {
                Status::Complete => Next::Session(PAUSE),
                Status::Review | Status::Failed | Status::Error => Next::Person,
                Status::Incomplete | Status::Waiting | Status::Timeout | Status::Stopped => {
                    Next::Abort
                }
            },
            // It says when it can go on, and whoever started it comes again then.
            iteration::LoopAction::End(LoopEnd::LimitTooLong) => {
                Next::Session(world.blocked_until().saturating_sub(world.now))
            }
            iteration::LoopAction::End(LoopEnd::OverloadTooLong | LoopEnd::WaitedInVain { .. }) => {
                Next::Person
            }
            iteration::LoopAction::End(_) => Next::Abort,
        };
        self.looped = None;
        Some(next)
    }
}

/// How a session ended, as its output tells.
fn session_end(world: &World<'_>, session: &Session) -> SessionEnd {
    let limited = world
        .blocked()
        .filter(|during| during.kind == Kind::UsageLimit)
        .map(|during| during.reset_known);
    let away = world
        .blocked()
        .is_some_and(|during| during.kind == Kind::Outage);
    match limited {
        Some(known) => {
            let retry_at = known.then(|| at(world.blocked_until()));
            SessionEnd::RateLimited {
                why: "limit reached".into(),
                retry_at,
            }
        }
        None if session.hangs => SessionEnd::TimedOut {
            after: Duration::from_secs(session.length),
        },
        None => SessionEnd::Ended {
            exit: ProcessExit::Code(i32::from(away)),
        },
    }
}

/// As the product's backoff has it, without its jitter.
fn backoff(attempt: u32, at_most: Duration) -> Seconds {
    (1_u64 << (attempt - 1).min(8)).min(at_most.as_secs())
}

fn at(seconds: Seconds) -> Timestamp {
    Timestamp::from_second(i64::try_from(seconds).expect("a loop lasts no millions of years"))
        .expect("likewise")
}

/// One judgement in progress.
struct Conversation<'w, 'r> {
    world: &'w mut World<'r>,
    before: u64,
    /// When the session ended.
    ended: Seconds,
    /// When the work was first looked at.
    looked: Option<Seconds>,
    /// Whether the session left something running.
    ran_here: bool,
    /// Commits that the rescue made.
    rescued: u64,
}

impl Conversation<'_, '_> {
    fn hold(mut self, setup: MachineSetup) -> Verdict {
        self.ran_here = self.world.runs_here();
        let left = self.left_running();
        let mut machine = CheckMachine::new(MachineSetup {
            survivors: left.holding,
            session_over: left.session_over,
            ..setup
        });
        let mut event = MachineEvent::Start;
        loop {
            event = match machine.step(event) {
                MachineAction::Conclude(verdict) => return *verdict,
                action => self.carry_out(action),
            };
        }
    }

    fn carry_out(&mut self, action: MachineAction) -> MachineEvent {
        match action {
            MachineAction::ReadCommits => MachineEvent::Commits(Ok(self.commits())),
            MachineAction::ReadChanges => {
                self.looked.get_or_insert(self.world.now);
                MachineEvent::Changes(Ok(Changes {
                    unstaged: self.world.uncommitted(),
                    work: self.world.uncommitted(),
                    ..Changes::default()
                }))
            }
            MachineAction::TakeSnapshot => {
                self.world.snapshot();
                MachineEvent::Snapshot(Ok(Some("refs/watchdog/rescue/simulated".into())))
            }
            MachineAction::Ask { .. } => MachineEvent::Probe(self.ask()),
            MachineAction::Rescue => MachineEvent::Rescue(Ok(self.rescue())),
            MachineAction::Wait(pause) => {
                self.world.pass_until_commit(match pause {
                    ProbePause::Interval(length) => length.as_secs(),
                    ProbePause::Backoff { attempt, at_most } => backoff(attempt, at_most),
                });
                MachineEvent::WaitOver
            }
            MachineAction::ReadSurvivors => MachineEvent::Survivors(self.left_running()),
            MachineAction::ReadActivity => MachineEvent::Activity(ActivityFacts {
                worktree: self.looked.map(|looked| self.world.last_movement > looked),
                processes: self.ran_here.then(|| self.world.runs_here()),
                transcript: None,
            }),
            MachineAction::JudgeChecks
            | MachineAction::ReadCriteria
            | MachineAction::Conclude(_) => {
                unreachable!(
                    "no checks and no guards are configured, and the end was taken already"
                )
            }
        }
    }

    /// What runs on works for as long as it runs, so that only the limit of its time lets go of the verdict.
    fn left_running(&mut self) -> SurvivorFacts {
        let runs = self.world.runs_here();
        let held =
            self.world.now < self.ended + ConfigSettings::default().limits.background.as_secs();
        SurvivorFacts {
            holding: if runs && held {
                vec!["background".into()]
            } else {
                Vec::new()
            },
            session_over: !runs,
            released: None,
        }
    }

    fn commits(&self) -> Commits {
        let made = self.world.commits - self.before;
        Commits {
            head: Some(self.world.commits.to_string()),
            new_commits: made,
            made_here: made - self.rescued,
            rescued: self.rescued,
            net_change: made > self.rescued,
            ..Commits::default()
        }
    }

    fn ask(&mut self) -> ProbeRecord {
        let begun = self.world.now;
        let timeout = ConfigSettings::default()
            .completion_check
            .probe_timeout
            .as_secs();
        let says = |status| ProbeOutcome::Reply(Reply::bare(status));
        let outcome = match self.world.ask(timeout) {
            Answer::Complete => says(ReplyStatus::Complete),
            Answer::Waiting => says(ReplyStatus::Waiting),
            Answer::Working => says(ReplyStatus::Working),
            Answer::Fault if self.world.now - begun >= timeout => ProbeOutcome::TimedOut,
            Answer::Fault => ProbeOutcome::Unreadable {
                why: "no JSON in it".into(),
            },
            Answer::Limit(until) => ProbeOutcome::RateLimited {
                why: "limit reached".into(),
                retry_at: until.map(at),
            },
        };
        ProbeRecord {
            at: at(begun),
            duration: Duration::from_secs(self.world.now - begun),
            outcome,
            disputed: None,
            session_id: None,
            usage: ProbeUsage::default(),
            withheld: false,
        }
    }

    /// A hook that refuses sends the commits to a branch of their own, as the product does.
    fn rescue(&mut self) -> RescueOutcome {
        self.world.pass(RESCUE);
        if self.world.refused_by_hook() {
            let failed = Some("git commit ended with exit code 1".into());
            return RescueOutcome {
                failed,
                fallback_branch: Some("watchdog/rescue/simulated".into()),
                ..RescueOutcome::default()
            };
        }
        self.world.commit();
        self.rescued += 1;
        RescueOutcome {
            commits: 1,
            ..RescueOutcome::default()
        }
    }
}
