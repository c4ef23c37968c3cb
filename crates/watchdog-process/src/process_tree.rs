//! A started program and its descendants: waits for its leader, and ends all of them.
//!
//! Ending: TERM to the leader's process group (and CONT, for a stopped process takes no TERM), the grace period, then KILL to all that is left,
//! including those in another session or process group, round after round until a scan finds none.
//! If the system shows its table of processes, that shows the descendants; elsewhere a tree is its
//! process group.
//! A program that another service starts (a service supervisor, a container engine, cron) leaves no trace to follow.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use watchdog_system::{ProcessHandle, hold_process, wait_for_held};

use super::cancel::CancelFlag;
use super::spared_programs::SparedPrograms;
use super::tree_registry;
use watchdog_facts::evidence::ProcessExit;

/// The longest time between two polls of [`CancelFlag`].
pub(super) const TICK: Duration = Duration::from_millis(100);
/// The longest wait where the flag ends it: pauses of the leader are measured so exactly.
const ALARMED_WAIT: Duration = Duration::from_secs(1);

/// How long killed processes may take to go before they are reported, from the last birth among them.
const KILL_PATIENCE: Duration = Duration::from_millis(700);
/// How often whatever is born meanwhile is killed, too. On a busy machine a round may take seconds, and none of it is theirs.
const KILL_ROUNDS: usize = 100;

/// Between TERM and KILL for a tree without a waiter: git removes its locks at a TERM.
const DROPPED: Duration = Duration::from_millis(500);

/// A longer time between two polls is a pause of this process too, or of the machine.
const LONGEST_POLL: Duration = Duration::from_secs(2);

/// How soon after the start descendants are scanned; the interval then grows to the second figure. Orphans born meanwhile have the mark.
const FIRST_TRACKING: Duration = Duration::from_millis(50);
const LAST_TRACKING: Duration = Duration::from_secs(4);

/// A process that outlived the program that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurvivingProcess {
    /// Its pid.
    pub pid: u32,
    /// Its name, as the system's process list shows it.
    pub name: String,
}

impl fmt::Display for SurvivingProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

impl SurvivingProcess {
    /// Whether a process of this pid and name runs. A process that only waits to be reaped, as by
    /// this process itself, does not; another one that got both by chance looks the same.
    pub fn still_runs(&self) -> bool {
        watchdog_system::read_one(self.pid).is_some_and(|row| !row.dead && row.name == self.name)
    }
}

/// Why [`ProcessTree::wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeWaitOutcome {
    /// The leader has ended.
    Ended,
    /// The deadline has passed, and the leader runs.
    Deadline,
    /// The wait was cancelled, and the leader runs.
    Cancelled,
}

/// A leader that was started in a process group of its own, and its descendants. Dropped unfinished it ends them all.
pub(crate) struct ProcessTree {
    handle: duct::Handle,
    id: u64,
    leader: Pid,
    process: Option<ProcessHandle>,
    tracking: DescendantScanSchedule,
    paused: Duration,
    finished: bool,
    spared: SparedPrograms,
}

/// When to scan the descendants next.
struct DescendantScanSchedule {
    next: Instant,
    interval: Duration,
}

impl ProcessTree {
    /// Takes over the tree that the builder has registered as `id` and started as `leader`.
    pub(super) fn new(handle: duct::Handle, id: u64, leader: Pid) -> Self {
        ProcessTree {
            handle,
            id,
            leader,
            process: hold_process(leader).ok(),
            tracking: DescendantScanSchedule {
                next: Instant::now() + FIRST_TRACKING,
                interval: FIRST_TRACKING,
            },
            paused: Duration::ZERO,
            finished: false,
            spared: SparedPrograms::default(),
        }
    }

    /// Counts these programs as no survivors, and spares them once the leader has ended.
    pub(super) fn spare(&mut self, spared: SparedPrograms) {
        self.spared = spared;
    }

    /// The pid of the leader, which is the id of its process group too.
    pub(crate) fn pid(&self) -> u32 {
        self.leader.as_raw_nonzero().get().unsigned_abs()
    }

    /// The leader, as system calls name it.
    pub(super) fn leader(&self) -> Pid {
        self.leader
    }

    /// Its number in the registry.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// How long the leader stood still during [`wait`](Self::wait): stopped by a person, or together with this process.
    pub(super) fn pause_time(&self) -> Duration {
        self.paused
    }

    /// Waits until the leader has ended, `until` has passed or the wait is cancelled. The leader is not reaped, so its pid stays its own.
    pub(super) fn wait(&mut self, until: Option<Instant>, cancel: &CancelFlag) -> TreeWaitOutcome {
        let mut last_poll = Instant::now();
        // Before the flag is read: raised after that, it ends the sleep.
        let alarm = self.process.as_ref().and(cancel.alarm());
        let longest = alarm.map_or(TICK, |_| ALARMED_WAIT);
        loop {
            if self.leader_has_ended() {
                return TreeWaitOutcome::Ended;
            }
            if cancel.is_cancelled() {
                return TreeWaitOutcome::Cancelled;
            }
            let now = Instant::now();
            let since_poll = now.saturating_duration_since(std::mem::replace(&mut last_poll, now));
            if since_poll > LONGEST_POLL || is_paused(self.leader) {
                self.paused += since_poll;
            }
            if until.is_some_and(|until| until <= now) {
                return TreeWaitOutcome::Deadline;
            }
            if self.tracking.next <= now {
                self.track();
            }
            let stop = until
                .map_or(now + longest, |until| until.min(now + longest))
                .min(self.tracking.next);
            self.sleep_until_leader_ends(stop.saturating_duration_since(now), alarm);
        }
    }

    /// The living members of the tree, without the leader and the helpers.
    pub(crate) fn survivors(&self) -> Vec<SurvivingProcess> {
        let rows = if self.leader_has_ended() {
            tree_registry::left_by_ended_leader(self.id)
        } else {
            tree_registry::list_living(self.id)
        };
        let own = self.pid();
        match rows {
            Some(mut rows) => {
                rows.retain(|row| row.pid != own);
                self.spared.remove_from(&mut rows);
                rows.into_iter()
                    .map(|row| SurvivingProcess {
                        pid: row.pid,
                        name: row.name,
                    })
                    .collect()
            }
            None if self.group_is_empty() => Vec::new(),
            None if !self.leader_has_ended() => Vec::new(),
            None => vec![SurvivingProcess {
                pid: own,
                name: "process group".into(),
            }],
        }
    }

    /// Ends the tree: TERM, at most `grace`, KILL. Returns what could not be ended: nothing, but for processes of another user or stuck in the kernel.
    pub(super) fn end(&mut self, grace: Duration, cancel: &CancelFlag) -> Vec<SurvivingProcess> {
        let until = Instant::now().checked_add(grace);
        let leader_ended_before = self.leader_has_ended();
        if !leader_ended_before {
            // A session that is cut short takes everything with it.
            self.spared = SparedPrograms::default();
        }
        self.signal_all(Signal::TERM, leader_ended_before);
        self.signal_all(Signal::CONT, false);
        let over = || cancel.is_urgent() || until.is_some_and(|until| until <= Instant::now());
        while !over() && !self.leader_has_ended() {
            let remaining = until.map_or(TICK, |until| {
                until.saturating_duration_since(Instant::now())
            });
            self.sleep_until_leader_ends(remaining.min(TICK), None);
        }
        let group = self.pid();
        let graced = || match tree_registry::left_by_ended_leader(self.id) {
            Some(mut rows) => {
                self.spared.remove_from(&mut rows);
                rows.iter()
                    .any(|row| leader_ended_before || row.group == group)
            }
            None => !self.group_is_empty(),
        };
        let mut pause = Duration::from_millis(5);
        while !over() && graced() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        self.kill()
    }

    /// Kills the remaining processes, round after round.
    fn kill(&mut self) -> Vec<SurvivingProcess> {
        let (mut give_up, mut youngest) = (Instant::now() + KILL_PATIENCE, None);
        let mut pause = Duration::from_micros(500);
        let mut empty_rounds = 0;
        for _ in 0..KILL_ROUNDS {
            // A single empty scan is not enough: a process may be born of a parent that was already
            // read and die of nothing.
            if empty_rounds == 2 || give_up <= Instant::now() {
                break;
            }
            if !self.has_spared() {
                self.signal_group(Signal::KILL);
            }
            let Some(round) = tree_registry::signal_tree(self.id, Signal::KILL, &self.spared)
            else {
                break;
            };
            let born = round.alive.iter().map(|row| row.started).max();
            if round.restless || born > youngest {
                // A process that was born since the last round got away from it, and is none that stays.
                youngest = youngest.max(born);
                give_up = Instant::now() + KILL_PATIENCE;
            }
            if round.alive.is_empty() {
                empty_rounds = if round.restless { 0 } else { empty_rounds + 1 };
                continue;
            }
            empty_rounds = 0;
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        while !self.leader_has_ended() && Instant::now() < give_up {
            self.sleep_until_leader_ends(give_up.saturating_duration_since(Instant::now()), None);
        }
        self.survivors()
    }

    /// Reaps the leader and forgets the tree; `None` if the leader still runs, which only an
    /// unkillable one does.
    pub(super) fn finish(&mut self) -> Option<ProcessExit> {
        self.finished = true;
        let handle = &self.handle;
        let status = tree_registry::forget_tree(self.id, || {
            handle.try_wait().ok().flatten().map(|output| output.status)
        })?;
        match (status.code(), status.signal()) {
            (Some(code), _) => Some(ProcessExit::Code(code)),
            (None, signal) => signal.map(ProcessExit::Signal),
        }
    }

    /// Remembers the processes below the leader while they are visible, so that those who leave it later are recognised.
    fn track(&mut self) {
        let begin = Instant::now();
        tree_registry::list_living(self.id);
        // A table of many thousand processes takes long to read; looking may cost two percent of one core, no more.
        let cost = begin.elapsed() * 50;
        self.tracking.interval = (self.tracking.interval * 2).min(LAST_TRACKING);
        self.tracking.next = Instant::now() + self.tracking.interval.max(cost);
    }

    fn leader_has_ended(&self) -> bool {
        loop {
            match waitid(
                WaitId::Pid(self.leader),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG,
            ) {
                Ok(status) => return status.is_some(),
                Err(Errno::INTR) => {}
                // No such child: it has been reaped.
                Err(_) => return true,
            }
        }
    }

    fn sleep_until_leader_ends(&self, limit: Duration, alarm: Option<BorrowedFd<'_>>) {
        if let Some(process) = &self.process {
            wait_for_held(process, alarm, limit);
            return;
        }
        let until = Instant::now() + limit;
        while !self.leader_has_ended() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5).min(limit));
        }
    }

    /// Signals the group, and each member where `each` says so, or where the group holds a helper.
    fn signal_all(&self, signal: Signal, each: bool) {
        let has_spared = self.has_spared();
        if !has_spared {
            self.signal_group(signal);
        }
        if each || has_spared {
            // No process is left that would pass the signal on.
            tree_registry::signal_tree(self.id, signal, &self.spared);
        }
    }

    fn has_spared(&self) -> bool {
        // The table of processes is read for helpers alone: an end must keep up with whatever forks.
        !self.spared.is_empty()
            && tree_registry::list_living(self.id)
                .is_some_and(|rows| rows.iter().any(|row| self.spared.is_helper(row)))
    }

    /// Signals the process group of the leader. The unreaped leader keeps the id of the group from being used again.
    fn signal_group(&self, signal: Signal) {
        if !self.finished {
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// Only asked where there is no process table. An ended leader is reaped first, for as long as it is a zombie its group counts as inhabited.
    fn group_is_empty(&self) -> bool {
        let _ = self.handle.try_wait();
        test_kill_process_group(self.leader).is_err()
    }
}

/// Whether a child of this process stands still because it was stopped. A child that a terminal
/// stopped, for it may not read there, brought that about itself.
pub(super) fn is_paused(child: Pid) -> bool {
    let status = waitid(
        WaitId::Pid(child),
        WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG,
    );
    let stopped_by = status
        .ok()
        .flatten()
        .and_then(|status| status.stopping_signal());
    stopped_by.is_some_and(|by| [Signal::STOP.as_raw(), Signal::TSTP.as_raw()].contains(&by))
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.end(DROPPED, &CancelFlag::new());
            self.finish();
        }
    }
}

impl std::fmt::Debug for ProcessTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree")
            .field("leader", &self.pid())
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
