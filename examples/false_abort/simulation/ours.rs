//! The product itself: its decision machine, the state machine of its loop, its count of rounds, its breaker and its defaults, fed from
//! a scripted world as the supervisor feeds them from a real one.

use std::time::Duration;

use completion_watchdog::config::settings::Settings;
use completion_watchdog::decision::breaker::{Breaker, BreakerState, Outcome};
use completion_watchdog::decision::evidence::{
    Activity, Changes, Commits, Degraded, Exit, ProbeOutcome, Reply, ReplyStatus, RescueOutcome, SessionEnd,
};
use completion_watchdog::decision::iteration::next::{self as iteration, End, Length, Loop, Policy as LoopPolicy};
use completion_watchdog::decision::iteration::standing::Standing;
use completion_watchdog::decision::machine::{Action, Earlier, Event, Machine, Pause, Setup, Survivors};
use completion_watchdog::decision::rounds;
use completion_watchdog::decision::termination::Spent;
use completion_watchdog::decision::verdict::{ProbeRecord, ProbeUsage, Status, Verdict};
use jiff::Timestamp;

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
    earlier: Earlier,
    /// The loop in progress, and when it began; each task has one of its own.
    looped: Option<(Loop, Seconds)>,
}

impl Judge for Ours {
    /// watchdog keeps what is uncommitted before it starts a session.
    fn before(&mut self, world: &mut World<'_>) {
        world.snapshot();
        self.looped.get_or_insert_with(|| {
            let policy = LoopPolicy { limits: Settings::default().limits, no_progress: NO_PROGRESS, max_wait: MAX_WAIT };
            (Loop::new(policy, Standing { work: Some(world.state()), ..Standing::default() }), world.now)
        });
    }

    fn judge(&mut self, world: &mut World<'_>, session: &Session, before: u64) -> Judged {
        let mut end = Some(session_end(world, session));
        // The service is away: the session fails, and says why.
        let crash = world.blocked().filter(|during| during.kind == Kind::Outage).map(|_| "the service is away".to_string());
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
    fn look(&mut self, world: &mut World<'_>, (before, ended): (u64, Seconds), end: Option<SessionEnd>, crashed: bool) -> Verdict {
        let settings = Settings::default();
        let setup = Setup {
            look_at_leftovers: end.is_some(),
            session: end,
            no_probe: crashed,
            notes: crashed.then(|| Degraded { code: "overloaded", detail: "the service is away".into() }).into_iter().collect(),
            earlier: Earlier { nothing_to_do_streak: self.earlier.nothing_to_do_streak, ..Earlier::default() },
            ..Setup::of(&settings)
        };
        let verdict = Conversation { world, before, ended, looked: None, ran_here: false, rescued: 0 }.hold(setup);
        self.earlier = rounds::after(self.earlier, &verdict);
        self.breaker.record(at(world.now), &settings.breaker, Outcome::of(&verdict));
        verdict
    }

    /// What the loop makes of a verdict; `None` where the same session is judged again.
    fn next(&mut self, world: &mut World<'_>, verdict: &Verdict, crash: Option<String>) -> Option<Next> {
        let settings = Settings::default();
        let open = self.breaker.state(at(world.now), &settings.breaker).state == BreakerState::Open;
        let (looped, began) = self.looped.as_mut().expect("a session began, and a loop with it");
        let outcome = iteration::Outcome {
            reason: verdict.reason,
            retry_at: verdict.retry_at,
            overloaded: crash.is_some(),
            crash,
            breaker_open: open,
            work: Some(world.state()),
            spent: Spent::default(),
        };
        let wall = |now: Seconds, began: Seconds| Duration::from_secs(now - began);
        let mut action = looped.step(at(world.now), wall(world.now, *began), iteration::Event::Judged(Box::new(outcome)));
        if let iteration::Action::Pause { length, .. } = action {
            world.pass(match length {
                Length::For(length) => length.as_secs(),
                Length::Until(until) => u64::try_from(until.as_second()).unwrap_or_default().saturating_sub(world.now),
                Length::Backoff { attempt, at_most } => backoff(attempt, at_most),
            });
            action = looped.step(at(world.now), wall(world.now, *began), iteration::Event::PauseOver);
        }
        let next = match action {
            iteration::Action::JudgeAgain => return None,
            iteration::Action::Iterate { .. } => return Some(Next::Session(0)),
            iteration::Action::Pause { .. } => unreachable!("a pause is followed by something"),
            iteration::Action::End(End::Verdict) => match verdict.status() {
                Status::Complete => Next::Session(PAUSE),
                Status::Review | Status::Failed | Status::Error => Next::Person,
                Status::Incomplete | Status::Waiting | Status::Timeout | Status::Stopped => Next::Abort,
            },
            // It says when it can go on, and whoever started it comes again then.
            iteration::Action::End(End::LimitTooLong) => Next::Session(world.blocked_until().saturating_sub(world.now)),
            iteration::Action::End(End::WaitedInVain { .. }) => Next::Person,
            iteration::Action::End(_) => Next::Abort,
        };
        self.looped = None;
        Some(next)
    }
}

/// How a session ended, as its output tells.
fn session_end(world: &World<'_>, session: &Session) -> SessionEnd {
    let limited = world.blocked().filter(|during| during.kind == Kind::UsageLimit).map(|during| during.reset_known);
    let away = world.blocked().is_some_and(|during| during.kind == Kind::Outage);
    match limited {
        Some(known) => {
            let retry_at = known.then(|| at(world.blocked_until()));
            SessionEnd::RateLimited { why: "limit reached".into(), retry_at }
        }
        None if session.hangs => SessionEnd::TimedOut { after: Duration::from_secs(session.length) },
        None => SessionEnd::Ended { exit: Exit::Code(i32::from(away)) },
    }
}

/// As the product's backoff has it, without its jitter.
fn backoff(attempt: u32, at_most: Duration) -> Seconds {
    (1_u64 << (attempt - 1).min(8)).min(at_most.as_secs())
}

fn at(seconds: Seconds) -> Timestamp {
    Timestamp::from_second(i64::try_from(seconds).expect("a loop lasts no millions of years")).expect("likewise")
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
    fn hold(mut self, setup: Setup) -> Verdict {
        self.ran_here = self.world.runs_here();
        let left = self.left_running();
        let mut machine = Machine::new(Setup { survivors: left.holding, session_over: left.session_over, ..setup });
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
                    Pause::Backoff { attempt, at_most } => backoff(attempt, at_most),
                });
                Event::WaitOver
            }
            Action::ReadSurvivors => Event::Survivors(self.left_running()),
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

    /// What runs on works for as long as it runs, so that only the limit of its time lets go of the verdict.
    fn left_running(&mut self) -> Survivors {
        let runs = self.world.runs_here();
        let held = self.world.now < self.ended + Settings::default().limits.background.as_secs();
        Survivors { holding: if runs && held { vec!["background".into()] } else { Vec::new() }, session_over: !runs, released: None }
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
