//! The loop of a watch: hears movements, waits until git is done, and has each worktree looked at, a few at the same time and
//! none twice at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::ears::Ears;
use super::finder::Finder;
use super::look::{Cause, Looked, Subject, look};
use super::request::WatchRequest;
use super::roster::{Concern, Roster};
use crate::decision::display::plural;
use crate::decision::evidence::Unreadable;
use crate::decision::verdict::{Reason, Verdict};
use crate::git::{Point, Search};
use crate::store::engine::Event;
use crate::store::journal::{is_ours, kind};
use crate::store::{SqliteStore, Store};
use crate::supervisor::case::Asked;
use crate::supervisor::judge::early;
use crate::supervisor::signals::{Signals, Urgency};
use crate::supervisor::surroundings::{Surroundings, now};
use crate::supervisor::tail::Tail;
use crate::watch::{Depth, Moved};

/// Movements of one commit come within milliseconds of each other.
const SETTLE: Duration = Duration::from_millis(4);
/// A lock that stays longer than this is not that of a commit under way.
const PATIENCE: Duration = Duration::from_secs(2);
/// How soon a worktree that somebody else works on is looked at again, at first and at the longest.
const BUSY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// How soon one that cannot be read is looked at again, at the longest.
const BROKEN: Duration = Duration::from_secs(60);
/// A clock that ran so much further than ours means that the machine slept.
const SLEPT: Duration = Duration::from_secs(10);
/// Whatever was heard, everything is looked at this often: some file systems tell nothing.
const ROUND: Duration = Duration::from_secs(300);
/// How often the clocks are compared and the outbox is emptied.
const TICK: Duration = Duration::from_secs(30);

/// A look that is due.
struct Due {
    at: Instant,
    since: Instant,
    cause: Cause,
}

struct Watch<'a> {
    around: &'a Surroundings,
    request: &'a WatchRequest,
    store: Arc<dyn Store>,
    signals: Signals,
    roster: Roster,
    ears: Ears,
    due: BTreeMap<String, Due>,
    /// When a work tree will have been left alone for long enough.
    quiet: BTreeMap<String, Instant>,
    looking: JoinSet<(String, Cause, Instant, Looked)>,
    /// Whose task is whose, for one that a bug ended.
    tasks: HashMap<tokio::task::Id, String>,
    /// Which worktrees are being looked at.
    under_way: BTreeSet<String>,
    finder: Finder,
    last_round: (Instant, Timestamp),
    /// When work trees that nobody can hear were last looked at.
    last_work: Instant,
    told_deaf: bool,
    /// What could not be looked at and was told, by worktree.
    complaints: BTreeMap<String, String>,
}

/// Watches until a signal comes or nobody listens any more. Returns the number of the signal, 0 where there was none.
///
/// # Errors
/// Where there is no place for the records, or they cannot be read.
pub async fn watch(around: &Surroundings, request: &WatchRequest, signals: &mut Signals) -> Result<i32, Unreadable> {
    around.state.ensure()?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&around.state)?);
    // Before anything is looked at, so that nothing happens in between.
    let mut tail = Tail::new(Arc::clone(&store), around.state.root(), store.cursor_at(Timestamp::MAX)?);
    let mut finder = Finder::new(request.paths.clone());
    let first = finder.first(signals).await?;
    around.courier.wake(&store);
    let mut watch = Watch {
        around,
        request,
        store,
        signals: signals.clone(),
        roster: Roster::default(),
        ears: Ears::new(request.poll_only),
        due: BTreeMap::new(),
        quiet: BTreeMap::new(),
        tasks: HashMap::new(),
        looking: JoinSet::new(),
        under_way: BTreeSet::new(),
        finder,
        last_round: (Instant::now(), now()),
        last_work: Instant::now(),
        told_deaf: false,
        complaints: BTreeMap::new(),
    };
    watch.found(first);
    tokio::task::LocalSet::new().run_until(watch.stay(&mut tail, signals)).await;
    Ok(signals.last())
}

impl Watch<'_> {
    async fn stay(&mut self, tail: &mut Tail, signals: &mut Signals) {
        let mut tick = Instant::now() + self.pause();
        loop {
            self.finder.begin_due();
            self.begin_looks();
            let next = self.due.iter().filter(|(id, _)| !self.under_way.contains(*id)).map(|(_, due)| due.at);
            let next = next.chain(self.quiet.values().copied()).chain(self.finder.due()).min();
            let full = self.looking.len() >= self.request.jobs;
            let go_on = tokio::select! {
                moved = self.ears.next() => { self.heard(moved); true }
                () = sleep_until(next.unwrap_or(tick)), if next.is_some() && !full => true,
                Some(looked) = self.looking.join_next(), if !self.looking.is_empty() => self.looked(looked),
                found = self.finder.found() => { self.found(found); true }
                () = tail.changed() => { self.read(tail); true }
                () = sleep_until(tick) => {
                    self.tick();
                    tick = Instant::now() + self.pause();
                    (self.request.is_heard)()
                }
                () = signals.reached(Urgency::Interrupted) => false,
            };
            if !go_on {
                break;
            }
        }
        self.finder.end();
        // What is under way hears the signal too, and its verdict is told.
        while let Some(looked) = self.looking.join_next().await {
            self.looked(looked);
        }
    }

    fn pause(&self) -> Duration {
        if self.polls() { self.request.poll } else { TICK }
    }

    fn polls(&self) -> bool {
        self.request.poll_only || self.ears.deaf.is_some()
    }

    /// Only hints come in here, in bursts; nothing is opened or read.
    fn heard(&mut self, moved: Moved) {
        let mut next = Some(moved);
        while let Some(moved) = next.take().or_else(|| self.ears.more()) {
            let Moved::At(paths) = moved else {
                self.all_due();
                continue;
            };
            for path in paths {
                let Concern { heads, work, search } = self.roster.concern(&path);
                if search {
                    self.finder.want();
                }
                for id in heads {
                    self.make_due(id, Cause::Head, SETTLE);
                }
                for id in work {
                    if let Some(quiet) = self.request.quiet_for {
                        self.quiet.insert(id, Instant::now() + quiet);
                    }
                }
            }
        }
    }

    fn all_due(&mut self) {
        self.finder.want();
        for id in self.roster.names() {
            self.make_due(id, Cause::Head, SETTLE);
        }
    }

    /// Notes that a worktree is to be looked at.
    fn make_due(&mut self, id: String, cause: Cause, pause: Duration) {
        let at = Instant::now() + pause;
        let due = self.due.entry(id).or_insert(Due { at, since: Instant::now(), cause });
        if cause > due.cause {
            *due = Due { at: due.at.min(at), cause, ..*due };
        }
    }

    fn begin_looks(&mut self) {
        let time = Instant::now();
        let fallen: Vec<String> = self.quiet.iter().filter(|(_, at)| **at <= time).map(|(id, _)| id.clone()).collect();
        for id in fallen {
            // A look at HEAD alone would be taken for it.
            if self.due.contains_key(&id) {
                self.quiet.insert(id, time + BUSY.0);
            } else {
                self.quiet.remove(&id);
                self.make_due(id, Cause::Quiet, Duration::ZERO);
            }
        }
        let ready = self.due.iter().filter(|(id, due)| due.at <= time && !self.under_way.contains(*id));
        let mut ready: Vec<(String, Cause, Instant)> = ready.map(|(id, due)| (id.clone(), due.cause, due.since)).collect();
        // Whoever waits longest comes first.
        ready.sort_by_key(|(_, _, since)| *since);
        for (id, cause, since) in ready {
            let Some(member) = self.roster.get_mut(&id) else {
                self.due.remove(&id);
                continue;
            };
            if cause != Cause::Ended && member.dirs.is_busy() && time - since < PATIENCE {
                self.make_later(&id, SETTLE);
                continue;
            }
            if cause == Cause::Head {
                let trace = member.dirs.trace();
                let same = trace == member.trace;
                if trace.is_none() {
                    self.finder.want();
                }
                if trace.is_none() || same {
                    self.due.remove(&id);
                    continue;
                }
            }
            if self.looking.len() >= self.request.jobs {
                return;
            }
            if let Some(member) = self.roster.get_mut(&id) {
                // Before the look: what moves during it shall be seen as new.
                member.trace = member.dirs.trace();
            }
            self.due.remove(&id);
            self.begin_look(id, cause, since);
        }
    }

    fn make_later(&mut self, id: &str, pause: Duration) {
        if let Some(due) = self.due.get_mut(id) {
            due.at = Instant::now() + pause;
        }
    }

    fn begin_look(&mut self, id: String, cause: Cause, since: Instant) {
        let Some(member) = self.roster.get(&id) else { return };
        let root = member.root.clone();
        let subject = Subject { id: id.clone(), root: root.clone(), cause, seen: member.seen.clone(), fingerprint: member.fingerprint };
        let may_ask = self.request.probe || cause == Cause::Ended;
        let asked = Asked { once: true, no_probe: self.request.asked.no_probe || !may_ask, ..self.request.asked.clone() };
        let narrate = Arc::clone(&self.around.narrate);
        let named = root.display().to_string();
        let around = Surroundings {
            worktree: root,
            narrate: Arc::new(move |text: &str| narrate(&format!("{named}: {text}"))),
            ..self.around.clone()
        };
        let (store, signals) = (Arc::clone(&self.store), self.signals.clone());
        self.under_way.insert(id.clone());
        let task = self.looking.spawn_local({
            let id = id.clone();
            async move { (id, cause, since, look(around, store, subject, asked, signals).await) }
        });
        self.tasks.insert(task.id(), id);
    }

    /// Takes in what a look came to; `false` where nobody listens any more.
    fn looked(&mut self, looked: Result<(String, Cause, Instant, Looked), tokio::task::JoinError>) -> bool {
        let (id, cause, since, looked) = match looked {
            Ok(looked) => looked,
            // A bug that one worktree meets shall not end the watch over the others; what it was is in the message above.
            Err(panicked) => {
                if let Some(id) = self.tasks.remove(&panicked.id()) {
                    self.under_way.remove(&id);
                    self.around.tell(&format!("a judgement of worktree {id} failed, which is a bug; the watch goes on"));
                }
                return true;
            }
        };
        self.tasks.retain(|_, of| *of != id);
        self.under_way.remove(&id);
        let Some(member) = self.roster.get_mut(&id) else { return true };
        match looked {
            Looked::Unwatched => true,
            Looked::Same { head } => {
                member.seen = head.or(member.seen.take());
                self.complaints.remove(&id);
                true
            }
            Looked::Busy => {
                // A movement during it made it due already.
                member.trace = None;
                let pause = (since.elapsed() / 4).clamp(BUSY.0, BUSY.1);
                let due = self.due.entry(id).or_insert(Due { at: Instant::now() + pause, since, cause });
                due.cause = due.cause.max(cause);
                due.at = due.at.max(Instant::now() + pause);
                true
            }
            Looked::Judged { head, fingerprint, judgement } => {
                // What the judgement itself committed is no news.
                let after = judgement.verdict.commits.as_ref().map(|commits| commits.head.clone().map_or(Point::Unborn, Point::Commit));
                member.seen = after.or(head);
                member.fingerprint = fingerprint.or(member.fingerprint);
                self.complaints.remove(&id);
                (self.request.hear)(&judgement)
            }
            Looked::Unreadable(unreadable) => {
                // It may just have been moved or removed, which the search tells, or be whole again soon.
                member.trace = None;
                let root = member.root.clone();
                self.finder.want();
                let pause = (since.elapsed() / 4).clamp(BUSY.0, BROKEN);
                self.due.entry(id.clone()).or_insert(Due { at: Instant::now() + pause, since, cause });
                if !root.exists() || self.complaints.get(&id) == Some(&unreadable.why) {
                    return true;
                }
                self.complaints.insert(id, unreadable.why.clone());
                let around = Surroundings { worktree: root, ..self.around.clone() };
                (self.request.hear)(&early(&around, None, Verdict::unreadable(unreadable), now()))
            }
        }
    }

    /// What other processes wrote down: ends of sessions, and verdicts that make ours superfluous.
    fn read(&mut self, tail: &mut Tail) {
        // A store that cannot be read now is read with the next change.
        while let Ok(events) = tail.read() {
            if events.is_empty() {
                return;
            }
            for event in events.iter().filter(|event| !is_ours(&event.id)) {
                self.read_one(event);
            }
        }
    }

    fn read_one(&mut self, event: &Event) {
        let Some(member) = self.roster.get_mut(&event.worktree) else {
            // It may be one that came unheard.
            if event.kind == kind::BASELINE {
                self.finder.want();
            }
            return;
        };
        match event.kind.as_str() {
            kind::SESSION_ENDED => self.make_due(event.worktree.clone(), Cause::Ended, SETTLE),
            kind::BASELINE | kind::SESSION_STARTED => self.make_due(event.worktree.clone(), Cause::Head, SETTLE),
            kind::VERDICT => {
                let reason = event.data["reason"].as_str();
                let looked_at = [Reason::Locked, Reason::SessionActive].iter().all(|busy| reason != Some(busy.as_str()));
                if let Some(head) = event.data["head"].as_str().filter(|_| looked_at) {
                    member.seen = Some(if head == "unborn" { Point::Unborn } else { Point::Commit(head.to_owned()) });
                    self.due.remove(&event.worktree);
                    // Whether HEAD moved on since then is for the next look to tell.
                    member.trace = None;
                    self.make_due(event.worktree.clone(), Cause::Head, BUSY.0);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self) {
        self.around.courier.wake(&self.store);
        let (since, at) = self.last_round;
        let by_wall = Duration::try_from(now().duration_since(at)).unwrap_or(ROUND);
        let slept = by_wall.abs_diff(since.elapsed()) > SLEPT;
        if slept || since.elapsed() >= ROUND {
            self.last_round = (Instant::now(), now());
            self.all_due();
        } else if self.polls() {
            let changed: Vec<String> =
                self.roster.names().into_iter().filter(|id| self.roster.get(id).is_some_and(|m| m.dirs.trace() != m.trace)).collect();
            for id in changed {
                self.make_due(id, Cause::Head, SETTLE);
            }
            // Without ears nobody knows for how long changes were left alone; that they are judged once is what remains.
            if self.request.quiet_for.is_some_and(|quiet| self.last_work.elapsed() >= quiet) {
                self.last_work = Instant::now();
                for id in self.roster.names() {
                    self.make_due(id, Cause::Quiet, SETTLE);
                }
            }
        }
    }

    /// Takes in what a search came to.
    fn found(&mut self, search: Search) {
        let before = self.roster.size();
        for note in search.notes {
            self.around.tell(&note);
        }
        let new = self.roster.replace(&search.worktrees);
        let mut wanted = BTreeMap::new();
        for member in self.roster.members() {
            wanted.extend(member.dirs.own());
            wanted.extend(member.dirs.shared());
            if self.request.quiet_for.is_some() {
                wanted.insert(member.root.clone(), Depth::Tree);
            }
        }
        self.ears.listen_to(wanted);
        // What moved between the search and the watch is seen by this look.
        for id in new {
            self.make_due(id, Cause::Head, Duration::ZERO);
        }
        if before != self.roster.size() {
            let (worktrees, repositories) = self.roster.size();
            let of = if repositories == 1 { "1 repository".to_owned() } else { format!("{repositories} repositories") };
            let told =
                format!("watching {} of {of}, in {}", plural(worktrees as u64, "worktree"), plural(self.ears.count() as u64, "folder"));
            self.around.tell(&told);
        }
        if let Some(error) = self.ears.deaf.as_ref().filter(|_| !self.told_deaf) {
            self.around.tell(&format!("{error}; looking every {} s instead", self.request.poll.as_secs_f64()));
        }
        self.told_deaf = self.ears.deaf.is_some();
    }
}
