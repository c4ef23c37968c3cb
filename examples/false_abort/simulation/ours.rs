//! The product itself: its decision machine, its count of rounds, its breaker and its defaults, fed from a scripted world as
//! the supervisor feeds them from a real one.

use std::time::Duration;

use completion_watchdog::config::settings::Settings;
use completion_watchdog::decision::breaker::{Breaker, BreakerState, Outcome};
use completion_watchdog::decision::evidence::{
    Activity, Changes, Commits, Exit, ProbeOutcome, Reply, ReplyStatus, RescueOutcome, SessionEnd,
};
use completion_watchdog::decision::machine::{Action, Earlier, Event, Machine, Pause, Setup};
use completion_watchdog::decision::rounds;
use completion_watchdog::decision::verdict::{ProbeRecord, ProbeUsage, Status, Verdict};
use jiff::Timestamp;

use super::policy::{Judge, Judged, Next, PAUSE};
use super::script::{Kind, Session};
use super::world::{Answer, Seconds, World};

/// The pause before the next look where a usage limit does not tell its end, as the README's loop has it.
const LOOK_AGAIN: Seconds = 300;

/// How long a rescue takes: a plan by the agent, then commits.
const RESCUE: Seconds = 20;

/// Our judge, with what the store keeps for it.
#[derive(Debug, Default)]
pub struct Ours {
    breaker: Breaker,
    earlier: Earlier,
}

impl Judge for Ours {
    /// `watchdog run` keeps what is uncommitted before it starts a session.
    fn before(&mut self, world: &mut World<'_>) {
        world.snapshot();
    }

    fn judge(&mut self, world: &mut World<'_>, session: &Session, before: u64) -> Judged {
        let settings = Settings::default();
        let limited = world.blocked().filter(|during| during.kind == Kind::UsageLimit).map(|during| during.reset_known);
        let end = match limited {
            Some(known) => {
                let retry_at = known.then(|| at(world.blocked_until()));
                SessionEnd::RateLimited { why: "limit reached".into(), retry_at }
            }
            None if session.hangs => SessionEnd::TimedOut { after: Duration::from_secs(session.length) },
            None => SessionEnd::Ended { exit: Exit::Code(0) },
        };
        let setup = Setup {
            look_at_leftovers: true,
            session_over: matches!(end, SessionEnd::Ended { .. }) && !world.runs_here(),
            survivors: if world.runs_here() { vec!["background".into()] } else { Vec::new() },
            session: Some(end),
            earlier: Earlier { nothing_to_do_streak: self.earlier.nothing_to_do_streak, ..Earlier::default() },
            ..Setup::of(&settings)
        };
        let verdict = Conversation { world, before, looked: None, ran_here: false, rescued: 0 }.hold(setup);
        self.earlier = rounds::after(self.earlier, &verdict);
        let now = at(world.now);
        self.breaker.record(now, &settings.breaker, Outcome::of(&verdict));
        let next = match verdict.status() {
            _ if self.breaker.state(now, &settings.breaker).state == BreakerState::Open => Next::Abort,
            Status::Review | Status::Failed => Next::Person,
            Status::Waiting => Next::Session(
                verdict.retry_at.map_or(LOOK_AGAIN, |until| u64::try_from(until.as_second()).unwrap_or_default().saturating_sub(world.now)),
            ),
            Status::Complete | Status::Incomplete | Status::Timeout | Status::Stopped | Status::Error => Next::Session(PAUSE),
        };
        Judged { next, probes: u32::try_from(verdict.probes.len()).unwrap_or(u32::MAX) }
    }

    fn reset(&mut self) {
        self.breaker = Breaker::default();
    }
}

fn at(seconds: Seconds) -> Timestamp {
    Timestamp::from_second(i64::try_from(seconds).expect("a loop lasts no millions of years")).expect("likewise")
}

/// One judgement in progress.
struct Conversation<'w, 'r> {
    world: &'w mut World<'r>,
    before: u64,
    /// When the work was first looked at.
    looked: Option<Seconds>,
    /// Whether the session left something running.
    ran_here: bool,
    /// Commits that the rescue made.
    rescued: u64,
}

impl Conversation<'_, '_> {
    fn hold(mut self, setup: Setup) -> Verdict {
        self.ran_here = self.world.runs_here();
        let mut machine = Machine::new(setup);
        let mut event = Event::Start;
        loop {
            event = match machine.step(event) {
                Action::Conclude(verdict) => return *verdict,
                action => self.carry_out(action),
            };
        }
    }

    fn carry_out(&mut self, action: Action) -> Event {
        match action {
            Action::ReadCommits => Event::Commits(Ok(self.commits())),
            Action::ReadChanges => {
                self.looked.get_or_insert(self.world.now);
                Event::Changes(Ok(Changes { unstaged: self.world.uncommitted(), work: self.world.uncommitted(), ..Changes::default() }))
            }
            Action::TakeSnapshot => {
                self.world.snapshot();
                Event::Snapshot(Ok(Some("refs/watchdog/rescue/simulated".into())))
            }
            Action::Ask { .. } => Event::Probe(self.ask()),
            Action::Rescue => Event::Rescue(Ok(self.rescue())),
            Action::Wait(pause) => {
                self.world.pass_until_commit(match pause {
                    Pause::Interval(length) => length.as_secs(),
                    // As the supervisor's backoff has it, without its jitter.
                    Pause::Backoff { attempt, at_most } => (1 << (attempt - 1).min(8)).min(at_most.as_secs()),
                });
                Event::WaitOver
            }
            Action::ReadActivity => Event::Activity(Activity {
                worktree: self.looked.map(|looked| self.world.last_movement > looked),
                processes: self.ran_here.then(|| self.world.runs_here()),
                transcript: None,
            }),
            Action::JudgeChecks | Action::ReadCriteria | Action::Conclude(_) => {
                unreachable!("no checks and no guards are configured, and the end was taken already")
            }
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
        let timeout = Settings::default().completion_check.probe_timeout.as_secs();
        let says = |status| ProbeOutcome::Reply(Reply::bare(status));
        let outcome = match self.world.ask(timeout) {
            Answer::Complete => says(ReplyStatus::Complete),
            Answer::Waiting => says(ReplyStatus::Waiting),
            Answer::Working => says(ReplyStatus::Working),
            Answer::Fault if self.world.now - begun >= timeout => ProbeOutcome::TimedOut,
            Answer::Fault => ProbeOutcome::Unreadable { why: "no JSON in it".into() },
            Answer::Limit(until) => ProbeOutcome::RateLimited { why: "limit reached".into(), retry_at: until.map(at) },
        };
        ProbeRecord {
            at: at(begun),
            duration: Duration::from_secs(self.world.now - begun),
            outcome,
            disputed: None,
            session_id: None,
            usage: ProbeUsage::default(),
        }
    }

    /// A hook that refuses sends the commits to a branch of their own, as the product does.
    fn rescue(&mut self) -> RescueOutcome {
        self.world.pass(RESCUE);
        if self.world.refused_by_hook() {
            let failed = Some("git commit ended with exit code 1".into());
            return RescueOutcome { failed, elsewhere: Some("watchdog/rescue/simulated".into()), ..RescueOutcome::default() };
        }
        self.world.commit();
        self.rescued += 1;
        RescueOutcome { commits: 1, ..RescueOutcome::default() }
    }
}
