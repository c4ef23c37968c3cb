//! The trees of this process, so that each can be ended without affecting another, and the reaping of their orphans.
//!
//! Trees are registered while they start and removed while they are reaped, both under one lock that every scan of the table takes
//! as well: no scan ever sees a child of ours that is not yet, or no longer, known as a leader.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, getpgrp, waitpid};
use watchdog_system::ProcessRow;

use super::spared_programs::SparedPrograms;
use super::tree_members::{OwnProcess, ProcessTrees, TableContext, TrackedTree, TreeMark};

/// The environment variable that every started process carries: the trees that it is in, outermost first, separated by colons.
pub(crate) const TREE_VARIABLE: &str = "WATCHDOG_TREE";

/// Marks of watchdogs around this one that are handed on; each is some 30 bytes.
const MARKS_KEPT: usize = 8;

#[derive(Default)]
struct TreeRegistry {
    process_trees: ProcessTrees,
    last: u64,
}

/// The result of signalling a tree.
#[derive(Debug, Default)]
pub(super) struct TreeSignalResult {
    /// Living members at the time of the round.
    pub alive: Vec<ProcessRow>,
    /// Whether one of its members died since the previous scan: it may have left a child that this scan does not show.
    pub restless: bool,
}

/// The result of scanning a tree.
struct TreeScanResult {
    /// The living members.
    alive: Vec<ProcessRow>,
    /// Members other than the leader that have ended since the previous scan. Reaped by now.
    ended: Vec<ProcessRow>,
}

/// How many scans of a tree that keeps changing; then the members that just died count as left.
const SCANS: usize = 40;
/// Rounds in which the children of this process are read again after the table, for those born meanwhile.
const CATCH_UP: usize = 8;

fn lock_registry() -> MutexGuard<'static, TreeRegistry> {
    static REGISTRY: OnceLock<Mutex<TreeRegistry>> = OnceLock::new();
    // The registry is a plain map, consistent after each statement: a panic in another thread cannot leave it half-changed.
    REGISTRY
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process adopt the orphans below it, so that a daemon cannot leave its tree. Done once per process, by the first start;
/// `false` where the system has no such thing; a tree is then its process group and every process with its mark.
pub fn become_subreaper() -> bool {
    static DONE: OnceLock<bool> = OnceLock::new();
    *DONE.get_or_init(watchdog_system::adopt_orphans)
}

/// Whether a process was started by some watchdog, this one or another. `false` also where that is unreadable.
pub fn started_by_a_watchdog(pid: u32) -> bool {
    watchdog_system::read_variable(pid, TREE_VARIABLE).is_some_and(|mark| !mark.is_empty())
}

/// The watchdogs that this process runs under, by the marks in its environment.
pub(super) fn marking_watchdogs() -> Vec<u32> {
    let marks = std::env::var_os(TREE_VARIABLE).unwrap_or_default();
    let pids = marks.to_str().unwrap_or_default().split(':');
    pids.filter_map(|mark| u32::from_str_radix(mark.split_once('-')?.0, 16).ok())
        .collect()
}

/// A number that no other process has, now or after this one: pids come again.
fn get_salt() -> u64 {
    static SALT: OnceLock<u64> = OnceLock::new();
    *SALT.get_or_init(|| RandomState::new().hash_one(std::process::id()))
}

/// Names this process in marks.
fn get_token() -> &'static str {
    static TOKEN: OnceLock<String> = OnceLock::new();
    TOKEN.get_or_init(|| format!("{:x}-{:016x}", std::process::id(), get_salt()))
}

/// The mark of a new tree, after those of the watchdogs that this one itself runs under.
fn mark_for(id: u64, inherited: Option<&OsStr>) -> OsString {
    let inherited = inherited.and_then(OsStr::to_str).unwrap_or_default();
    let outer: Vec<&str> = inherited
        .split(':')
        .filter(|mark| !mark.is_empty() && mark.len() <= 64)
        .collect();
    let mut marks: Vec<String> = outer[outer.len().saturating_sub(MARKS_KEPT)..]
        .iter()
        .map(ToString::to_string)
        .collect();
    marks.push(format!("{}.{id}", get_token()));
    OsString::from(marks.join(":"))
}

/// Which tree of this process a mark names.
fn tree_of(mark: &[u8]) -> TreeMark {
    let named = String::from_utf8_lossy(mark);
    let id = named.split(':').rev().find_map(|mark| {
        mark.strip_prefix(get_token())?
            .strip_prefix('.')?
            .parse()
            .ok()
    });
    id.map_or(TreeMark::None, TreeMark::Tree)
}

/// Starts the leader of a new tree. `start` is given the value of [`TREE_VARIABLE`] and returns the pid of the leader.
pub(super) fn start_tree<T>(
    start: impl FnOnce(&OsStr) -> io::Result<(u32, T)>,
) -> io::Result<(u64, T)> {
    become_subreaper();
    let mut registry = lock_registry();
    registry.last += 1;
    let id = registry.last;
    let mark = mark_for(id, std::env::var_os(TREE_VARIABLE).as_deref());
    let (tree_mark, result) = watchdog_system::start_with_mark(get_salt(), id, || start(&mark));
    let (leader, started_thing) = result?;
    let started = watchdog_system::read_one(leader).map_or(0, |row| row.started);
    if let Some(tree_mark) = tree_mark {
        registry.process_trees.ended_marks.remove(&tree_mark);
    }
    registry.process_trees.trees.insert(
        id,
        TrackedTree {
            leader,
            started,
            tree_mark,
            members: HashMap::new(),
        },
    );
    Ok((id, started_thing))
}

/// Looks once: the living members of a tree; `None` where the system does not show processes. It costs what this process started, whatever
/// else runs.
pub(super) fn list_living(id: u64) -> Option<Vec<ProcessRow>> {
    let mut registry = lock_registry();
    let table = if become_subreaper() {
        read_own(&registry)?
    } else {
        read_whole_table()?
    };
    Some(scan_table(&mut registry, id, &table).alive)
}

/// The living members of a tree whose leader has ended. It is empty only once two scans in a row found no member, neither alive nor
/// freshly dead: a daemon's parent that just ended may have left a child that the scan came too early for.
pub(super) fn left_by_ended_leader(id: u64) -> Option<Vec<ProcessRow>> {
    let mut quiet = 0;
    let mut last = Vec::new();
    for _ in 0..SCANS {
        let scan = scan_orphans(id)?;
        if !scan.alive.is_empty() {
            return Some(scan.alive);
        }
        quiet = if scan.ended.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            return Some(Vec::new());
        }
        if !scan.ended.is_empty() {
            last = scan.ended;
        }
    }
    Some(last)
}

/// Scans once, quick in the common case that this process has no children but leaders.
fn scan_orphans(id: u64) -> Option<TreeScanResult> {
    let mut registry = lock_registry();
    if become_subreaper() && has_leaders_alone(&registry) == Some(true) {
        return Some(TreeScanResult {
            alive: Vec::new(),
            ended: Vec::new(),
        });
    }
    scan_tree(&mut registry, id)
}

/// Signals every living member of a tree but the spared ones, parents first, so that none restarts its children.
pub(super) fn signal_tree(
    id: u64,
    signal: Signal,
    spared: &SparedPrograms,
) -> Option<TreeSignalResult> {
    let mut registry = lock_registry();
    let TreeScanResult { mut alive, ended } = scan_tree(&mut registry, id)?;
    spared.remove_from(&mut alive);
    for row in &alive {
        watchdog_system::signal_process(row, signal);
    }
    Some(TreeSignalResult {
        alive,
        restless: !ended.is_empty(),
    })
}

/// Removes a tree after `reap` has reaped its leader; remembers its living members as left behind.
pub(super) fn forget_tree<T>(id: u64, reap: impl FnOnce() -> T) -> T {
    let mut registry = lock_registry();
    let reaped = reap();
    if let Some(tree) = registry.process_trees.trees.remove(&id) {
        registry.process_trees.ended_marks.extend(tree.tree_mark);
        registry.process_trees.left.extend(
            tree.members
                .into_iter()
                .filter(|(pid, _)| *pid != tree.leader),
        );
    }
    reaped
}

/// Reaps the orphans that ended since the last scan. Every scan of a tree does this too; call it where no tree may run for long.
pub fn reap_orphans() {
    let registry = lock_registry();
    if has_leaders_alone(&registry) == Some(false)
        && let Ok(table) = watchdog_system::read_all()
    {
        reap_dead_children(&registry, &table);
    }
}

/// Whether leaders are the only children of this process; `None` where the system does not show them.
fn has_leaders_alone(registry: &TreeRegistry) -> Option<bool> {
    let mut children = watchdog_system::children_of_main_thread()?.into_iter();
    Some(children.all(|pid| registry.process_trees.is_leader(pid)))
}

/// The processes below this one, which adopts their orphans, and those below the leaders, which any thread may have started. A list of
/// children may miss those whose siblings end meanwhile: members that were seen before are read by themselves.
fn read_own(registry: &TreeRegistry) -> Option<Vec<ProcessRow>> {
    let trees = || registry.process_trees.trees.values();
    let leaders: Vec<u32> = trees().map(|tree| tree.leader).collect();
    let mut table = watchdog_system::read_below(std::process::id(), &leaders)?;
    let pids: HashSet<u32> = table.iter().map(|row| row.pid).collect();
    let members =
        (trees().flat_map(|tree| tree.members.keys())).chain(registry.process_trees.left.keys());
    let missing = members.filter(|pid| !pids.contains(pid));
    table.extend(missing.filter_map(|pid| watchdog_system::read_one(*pid)));
    Some(table)
}

fn read_whole_table() -> Option<Vec<ProcessRow>> {
    let mut table = watchdog_system::read_all().ok()?;
    catch_up(&mut table);
    Some(table)
}

fn scan_tree(registry: &mut TreeRegistry, id: u64) -> Option<TreeScanResult> {
    let table = read_whole_table()?;
    Some(scan_table(registry, id, &table))
}

fn scan_table(registry: &mut TreeRegistry, id: u64, table: &[ProcessRow]) -> TreeScanResult {
    let leader = registry
        .process_trees
        .trees
        .get(&id)
        .map(|tree| tree.leader);
    let members = with_sight(table, |sight| {
        registry.process_trees.members(id, table, sight)
    });
    reap_dead_children(registry, table);
    let (ended, alive) = members.into_iter().partition(|row| row.dead);
    let own = std::process::id();
    // A living parent reaps its own children; only a process that was handed to this one shows that children were handed on.
    let ended: Vec<ProcessRow> = Vec::into_iter(ended)
        .filter(|row| Some(row.pid) != leader && row.parent == own)
        .collect();
    TreeScanResult { alive, ended }
}

/// The names of all processes are listed before the first is read, so one that was born and handed to this process meanwhile is missing, and a
/// parent may be shown that has handed its child on. The children of this process are read again, until no new one turns up.
fn catch_up(table: &mut Vec<ProcessRow>) {
    for _ in 0..CATCH_UP {
        let Some(children) = watchdog_system::children_of_main_thread() else {
            return;
        };
        let count = table.len();
        for row in children.into_iter().filter_map(watchdog_system::read_one) {
            table.retain(|row_before| row_before.pid != row.pid);
            table.push(row);
        }
        if table.len() == count {
            return;
        }
    }
}

fn reap_dead_children(registry: &TreeRegistry, table: &[ProcessRow]) {
    if !table
        .iter()
        .any(|row| row.dead && row.parent == std::process::id())
    {
        return;
    }
    with_sight(table, |sight| {
        for row in registry.process_trees.to_reap(table, sight) {
            if let Some(pid) = i32::try_from(row.pid).ok().and_then(Pid::from_raw) {
                // It was a zombie child of ours when the table was read and only we reap those, so the pid is still its own.
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    });
}

fn with_sight<T>(table: &[ProcessRow], use_it: impl FnOnce(&TableContext<'_>) -> T) -> T {
    let pid = std::process::id();
    let own = OwnProcess {
        pid,
        // In a pid namespace without a session of its own the call gives 0, which is no `Pid`.
        group: table.iter().find(|row| row.pid == pid).map_or_else(
            || getpgrp().as_raw_nonzero().get().unsigned_abs(),
            |row| row.group,
        ),
        reaper: become_subreaper(),
    };
    let adopted: HashSet<u32> = watchdog_system::children_of_main_thread().unwrap_or_default();
    let mark = |pid| {
        watchdog_system::read_variable(pid, TREE_VARIABLE)
            .map_or(TreeMark::None, |value| tree_of(&value))
    };
    use_it(&TableContext {
        own,
        adopted: &adopted,
        mark: &mark,
        tree_mark: &watchdog_system::mark_of,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_found_among_other_watchdogs_marks() {
        let nested = mark_for(7, Some(OsStr::new("1-00ff.3:2-00fe.7")));
        assert_eq!(tree_of(nested.as_encoded_bytes()), TreeMark::Tree(7));
        let inner = format!("{}:9-0001.4", nested.to_string_lossy());
        assert_eq!(
            tree_of(inner.as_bytes()),
            TreeMark::Tree(7),
            "an inner watchdog appends its own"
        );
        assert_eq!(tree_of(b"1-00ff.3:2-00fe.7"), TreeMark::None);
        assert_eq!(tree_of(b"\xff\xfe::"), TreeMark::None);
    }

    #[test]
    fn nested_watchdogs_keep_the_environment_bounded() {
        let mut mark = OsString::new();
        for id in 0..100 {
            mark = mark_for(id, Some(&mark));
        }
        assert!(mark.len() < 64 * (MARKS_KEPT + 1), "{mark:?}");
        assert_eq!(tree_of(mark.as_encoded_bytes()), TreeMark::Tree(99));
        let hostile = "x".repeat(1 << 20);
        assert!(mark_for(1, Some(OsStr::new(&hostile))).len() < 64);
    }
}
