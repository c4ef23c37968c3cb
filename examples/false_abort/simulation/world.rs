//! A worktree and its agent in virtual time: what is written, committed, kept and lost.

use super::rates::Rates;
use super::script::{Kind, Session};

/// Virtual time, in whole seconds since the loop began.
pub type Seconds = u64;

/// What happens in the worktree by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Something is written and not committed.
    Write,
    /// Something is written, and it is committed with all that is uncommitted.
    Commit,
}

/// Where one piece of work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Uncommitted { kept: bool },
    Safe,
    Lost,
}

/// How the agent answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Complete,
    Waiting,
    Working,
    /// Nothing that can be read.
    Fault,
    /// A usage limit, with the instant of its end where its text tells that.
    Limit(Option<Seconds>),
}

/// The worktree of one loop, and the agent of the session that ran last.
pub struct World<'a> {
    pub now: Seconds,
    /// Commits since the loop began.
    pub commits: u64,
    /// When a file was last written or committed.
    pub last_movement: Seconds,
    rates: &'a Rates,
    work: Vec<Work>,
    due: Vec<(Seconds, Effect)>,
    session: Option<Session>,
    began: Seconds,
    /// A limit or an outage, and when it ends.
    blocked: Option<(Session, Seconds)>,
    refused_by_hook: bool,
}

impl<'a> World<'a> {
    /// An empty worktree.
    pub fn new(rates: &'a Rates) -> Self {
        World {
            now: 0,
            commits: 0,
            last_movement: 0,
            rates,
            work: Vec::new(),
            due: Vec::new(),
            session: None,
            began: 0,
            blocked: None,
            refused_by_hook: false,
        }
    }

    /// What is assumed of agents.
    pub fn rates(&self) -> &'a Rates {
        self.rates
    }

    /// The limit or outage that lasts now, if one does.
    pub fn blocked(&self) -> Option<&Session> {
        self.blocked
            .as_ref()
            .filter(|(_, until)| self.now < *until)
            .map(|(session, _)| session)
    }

    /// When a limit or an outage ends.
    pub fn blocked_until(&self) -> Seconds {
        self.blocked.as_ref().map_or(0, |(_, until)| *until)
    }

    /// Runs a session until its process ends.
    pub fn run(&mut self, mut session: Session) {
        self.began = self.now;
        if session.discards {
            self.discard();
        }
        self.due.extend(
            session
                .effects
                .iter()
                .map(|(after, effect)| (self.began + after, *effect)),
        );
        self.due.sort_by_key(|(at, _)| *at);
        if session.blocked > 0 && self.blocked().is_none() {
            self.blocked = Some((session.clone(), self.began + session.blocked));
        }
        self.refused_by_hook = session.chance.happens(self.rates.commit_refused);
        let length = session.length;
        self.session = Some(session);
        self.pass(length);
    }

    /// Lets time pass.
    pub fn pass(&mut self, length: Seconds) {
        let until = self.now + length;
        while let Some((at, effect)) = self.due.first().copied().filter(|(at, _)| *at <= until) {
            self.due.remove(0);
            self.now = self.now.max(at);
            self.work.push(Work::Uncommitted { kept: false });
            self.last_movement = self.now;
            if effect == Effect::Commit {
                self.commit();
            }
        }
        self.now = until;
    }

    /// Lets time pass, but not beyond the next commit.
    pub fn pass_until_commit(&mut self, length: Seconds) {
        let until = self.now + length;
        let commit = self
            .due
            .iter()
            .find(|(at, effect)| *effect == Effect::Commit && *at <= until)
            .map(|(at, _)| *at);
        self.pass(commit.map_or(length, |at| at.saturating_sub(self.now)));
    }

    /// What stands for the state of the work: another one wherever anything was committed, written or thrown away.
    pub fn state(&self) -> String {
        format!(
            "{}-{}-{}",
            self.commits,
            self.work.len(),
            self.uncommitted()
        )
    }

    /// Commits all that is uncommitted.
    pub fn commit(&mut self) {
        self.each_uncommitted(|_| Work::Safe);
        self.commits += 1;
        self.last_movement = self.now;
    }

    /// Keeps all that is uncommitted in a snapshot.
    pub fn snapshot(&mut self) {
        self.each_uncommitted(|_| Work::Uncommitted { kept: true });
    }

    /// Throws away what is uncommitted, as an agent may. What a snapshot holds can be brought back.
    pub fn discard(&mut self) {
        self.each_uncommitted(|kept| if kept { Work::Safe } else { Work::Lost });
    }

    fn each_uncommitted(&mut self, becomes: impl Fn(bool) -> Work) {
        for work in &mut self.work {
            if let Work::Uncommitted { kept } = *work {
                *work = becomes(kept);
            }
        }
    }

    /// How many pieces of work are uncommitted.
    pub fn uncommitted(&self) -> u64 {
        self.count(|work| matches!(work, Work::Uncommitted { .. }))
    }

    /// How many pieces of work there were, and how many of them are gone for good.
    pub fn work_and_lost(&self) -> (u64, u64) {
        (
            self.work.len() as u64,
            self.count(|work| work == Work::Lost),
        )
    }

    fn count(&self, which: impl Fn(Work) -> bool) -> u64 {
        self.work.iter().filter(|work| which(**work)).count() as u64
    }

    fn session(&mut self) -> &mut Session {
        self.session
            .as_mut()
            .expect("a session ran before anybody judges it")
    }

    /// Whether a repository's hook refuses commits of this session's work.
    pub fn refused_by_hook(&self) -> bool {
        self.refused_by_hook
    }

    /// Whether something of this probability happens while the session is judged.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.session().chance.happens(probability)
    }

    /// Whether something of the last session still runs here.
    pub fn runs_here(&mut self) -> bool {
        let (now, began) = (self.now, self.began);
        let session = self.session();
        session.here && now < began + session.done
    }

    /// Asks the agent of the last session; time passes meanwhile.
    pub fn ask(&mut self, timeout: Seconds) -> Answer {
        let (rates, began) = (self.rates, self.began);
        let takes = self
            .session()
            .chance
            .around(rates.probe_seconds, 2.0)
            .round() as Seconds;
        let (fault, in_silence) = (self.happens(rates.probe_faults), self.happens(0.5));
        if let Some(during) = self.blocked().cloned() {
            self.pass(takes.min(timeout) / 2);
            let until = self.blocked_until();
            return match during.kind {
                Kind::UsageLimit => Answer::Limit(during.reset_known.then_some(until)),
                _ => Answer::Fault,
            };
        }
        if fault {
            self.pass(if in_silence {
                timeout
            } else {
                takes.min(timeout)
            });
            return Answer::Fault;
        }
        self.pass(takes.min(timeout));
        let now = self.now;
        let session = self.session();
        let going_on = now < began + session.done;
        match session.kind {
            Kind::RealStall => Answer::Working,
            Kind::BackgroundWork if going_on => Answer::Waiting,
            Kind::SlowWork if going_on => Answer::Working,
            Kind::ForgottenCommits if session.claims_to_work => Answer::Working,
            _ => Answer::Complete,
        }
    }
}
