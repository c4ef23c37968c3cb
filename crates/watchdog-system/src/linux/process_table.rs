//! Reads the system's table of processes, and signals one of them without PID-reuse races (pidfd).

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::{ProcessLife, ProcessRow};

/// Every process that this user may see.
pub fn read_all() -> io::Result<Vec<ProcessRow>> {
    let rows: Vec<ProcessRow> = list_pids()?.filter_map(read_one).collect();
    if rows.is_empty() {
        return Err(io::Error::other("/proc shows no process"));
    }
    Ok(rows)
}

/// The names in `/proc` that are processes.
pub(super) fn list_pids() -> io::Result<impl Iterator<Item = u32>> {
    let names = std::fs::read_dir("/proc")?.flatten();
    Ok(names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// A process, others that may be below it, and all below them, parents before children; `None` where the first is gone. A child that is born
/// or handed on meanwhile may be missing, and of this process those that another thread than the main one started.
pub fn read_below(root: u32, others: &[u32]) -> Option<Vec<ProcessRow>> {
    let mut rows = vec![read_one(root)?];
    let mut first = children_of(root);
    let whole_table = match first {
        Some(_) => Vec::new(),
        // This kernel does not list children.
        None => read_all().ok()?,
    };
    let mut seen = HashSet::from([root]);
    let others = others.iter().copied().filter(|pid| seen.insert(*pid));
    rows.extend(others.filter_map(read_one));
    let mut next = 0;
    while let Some(parent) = rows.get(next).map(|row| row.pid) {
        let children = first.take().or_else(|| children_of(parent));
        let children = children.into_iter().flatten();
        rows.extend(
            children
                .filter(|pid| seen.insert(*pid))
                .filter_map(read_one),
        );
        let children = whole_table.iter().filter(|row| row.parent == parent);
        rows.extend(children.filter(|row| seen.insert(row.pid)).cloned());
        next += 1;
    }
    Some(rows)
}

/// A process; none if it is gone.
pub fn read_one(pid: u32) -> Option<ProcessRow> {
    parse_stat(&read_file(&format!("/proc/{pid}/stat"))?)
}

/// A small file of `/proc` in two reads: `std::fs::read` asks for its size first, which is 0 there, and feels its way.
fn read_file(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1024);
    let mut file = File::open(path).ok()?.take(u64::MAX);
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The line of `/proc/<pid>/stat`. The name is in parentheses and may itself contain spaces and parentheses.
fn parse_stat(line: &[u8]) -> Option<ProcessRow> {
    let open = line.iter().position(|b| *b == b'(')?;
    let close = line.iter().rposition(|b| *b == b')')?;
    let pid = std::str::from_utf8(&line[..open])
        .ok()?
        .trim()
        .parse()
        .ok()?;
    let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
    let fields: Vec<&str> = std::str::from_utf8(line.get(close + 1..)?)
        .ok()?
        .split_ascii_whitespace()
        .collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let small = |at: usize| u32::try_from(number(at)?).ok();
    // A main thread that has ended before other threads is shown as a zombie with more than one thread.
    let dead = matches!(*fields.first()?, "Z" | "X" | "x") && number(17)? <= 1;
    let ticks = (11..=14).filter_map(number).fold(0, u64::saturating_add);
    Some(ProcessRow {
        pid,
        parent: small(1)?,
        group: small(2)?,
        session: small(3)?,
        dead,
        started: number(19)?,
        ticks,
        name,
    })
}

/// How long the system has been up, on the clock on which processes begin.
pub fn read_uptime() -> Option<Duration> {
    let seconds = std::fs::read_to_string("/proc/uptime")
        .ok()?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Ticks of the process table as time.
pub fn of_ticks(ticks: u64) -> Duration {
    Duration::from_millis(
        ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1),
    )
}

/// The value of an environment variable that a process began with; none if it has none or may not be read.
pub fn read_variable(pid: u32, name: &str) -> Option<Vec<u8>> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment
        .split(|b| *b == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(value.to_vec())
}

/// The arguments of a process as it shows them, at most so many bytes; none if it is gone, or shows none.
pub fn command_line(pid: u32, bytes: u64) -> Option<Vec<OsString>> {
    let mut line = Vec::new();
    File::open(format!("/proc/{pid}/cmdline"))
        .ok()?
        .take(bytes)
        .read_to_end(&mut line)
        .ok()?;
    // A process that wrote a title over its arguments leaves zeros behind it.
    let end = line.iter().rposition(|byte| *byte != 0)? + 1;
    Some(
        line[..end]
            .split(|byte| *byte == 0)
            .map(|word| OsString::from_vec(word.to_vec()))
            .collect(),
    )
}

/// The executable of a process; `None` where the kernel hides it.
pub fn program_file(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The children of this process that its main thread holds, the orphans that the kernel hands to it among them; `None` where the kernel does
/// not show them.
pub fn children_of_main_thread() -> Option<HashSet<u32>> {
    let own = std::process::id();
    children_of_thread(own, &own.to_string())
}

fn children_of(pid: u32) -> Option<HashSet<u32>> {
    if pid == std::process::id() {
        return children_of_main_thread();
    }
    let (main, mut all) = (pid.to_string(), HashSet::new());
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let thread = thread.ok()?.file_name().into_string().ok()?;
        if thread != main {
            all.extend(children_of_thread(pid, &thread).unwrap_or_default());
        }
    }
    // A thread that ended meanwhile has handed its children on: the main thread is read last to meet them.
    all.extend(children_of_thread(pid, &main)?);
    Some(all)
}

fn children_of_thread(pid: u32, thread: &str) -> Option<HashSet<u32>> {
    let bytes = read_file(&format!("/proc/{pid}/task/{thread}/children"))?;
    let pids = std::str::from_utf8(&bytes).ok()?.split_ascii_whitespace();
    Some(pids.filter_map(|pid| pid.parse().ok()).collect())
}

/// Signals the process that `row` describes; says whether it took the signal.
///
/// The pidfd is opened first and the table is read again after: if the row is still right then, the pidfd holds that very process,
/// and a pid that is reused later cannot redirect the signal.
pub fn signal_process(row: &ProcessRow, signal: Signal) -> bool {
    let Some(pid) = i32::try_from(row.pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let still_it = || read_one(row.pid).is_some_and(|now| now.started == row.started);
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => still_it() && pidfd_send_signal(pidfd, signal).is_ok(),
        // Kernels before 5.3 and some sandboxes have no pidfd.
        Err(Errno::NOSYS | Errno::PERM) => still_it() && kill_process(pid, signal).is_ok(),
        Err(_) => false,
    }
}

/// Whether a process runs, and since when.
pub fn process_life(pid: u32) -> ProcessLife {
    let Some(row) = read_one(pid).filter(|row| !row.dead) else {
        return ProcessLife::Gone;
    };
    ProcessLife::Running {
        began: read_boot_time().and_then(|boot| boot.checked_add(of_ticks(row.started))),
    }
}

/// When this system was started, since 1970 by its wall clock.
fn read_boot_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let seconds = text
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_and_spaces_do_not_shift_fields() {
        let line = b"42 (a) S (b c) Z 7 8 9 0 -1 4228100 0 0 0 0 1 2 3 4 20 0 1 0 123456 0 0\n";
        let row = parse_stat(line).expect("a row");
        assert_eq!(
            (
                row.pid,
                row.name.as_str(),
                row.parent,
                row.group,
                row.session
            ),
            (42, "a) S (b c", 7, 8, 9)
        );
        assert_eq!((row.dead, row.started, row.ticks), (true, 123456, 10));
        let threads = b"42 (a) Z 7 8 9 0 -1 4228100 0 0 0 0 0 0 0 0 20 0 3 0 123456 0 0\n";
        assert!(
            !parse_stat(threads).expect("a row").dead,
            "its other threads run on"
        );
        for broken in [&b""[..], b"42", b"42 (a", b"42 (a) S 1", b"x (a) S 1 2 3"] {
            assert_eq!(parse_stat(broken), None);
        }
    }

    #[test]
    fn stale_process_row_is_never_signalled() {
        let own = std::process::id();
        let row = read_all()
            .expect("a table")
            .into_iter()
            .find(|row| row.pid == own)
            .expect("own row");
        let again = read_one(own).expect("it still runs");
        assert_eq!(
            (row.pid, row.started, &row.name),
            (again.pid, again.started, &again.name)
        );
        let former = ProcessRow {
            started: row.started - 1,
            ..row
        };
        assert!(!signal_process(&former, Signal::KILL));
    }
}
