//! The substitutes of other systems: plain POSIX where that will do, else that nothing is known.
//! The tests try them on Linux, too.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, test_kill_process};
use rustix::time::{ClockId, clock_gettime};

use crate::{BootReading, ListingBuffer, NamedProcess, ProcessHandle, ProcessLife, ProcessRow};

/// How a folder is opened that is only entered.
pub const FOLDER_TO_ENTER: OFlags = OFlags::RDONLY;

/// The error of a start that failed for want of a namespace.
pub const NOT_MOUNTED: Errno = Errno::NOSYS;

/// The most that a pipe which is ready for writing takes at once for sure: what POSIX grants.
pub const PIPE_PIECE: usize = 512;

/// The system has no handles of processes.
///
/// # Errors
/// Always `ENOSYS`: the caller polls the pid.
pub fn hold_process(_pid: Pid) -> rustix::io::Result<ProcessHandle> {
    Err(Errno::NOSYS)
}

/// Signals a process that is held, of which there is none.
///
/// # Errors
/// Always `ENOSYS`.
pub fn signal_held(_process: &ProcessHandle, _signal: Signal) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

/// Waits for a process that is held, of which there is none.
pub fn wait_for_held(_: &ProcessHandle, _: Option<BorrowedFd<'_>>, _: Duration) -> bool {
    false
}

/// The table of processes.
///
/// # Errors
/// Always: the system shows none that could be read without code of its own.
pub fn read_all() -> io::Result<Vec<ProcessRow>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A row of the table.
pub fn read_one(_pid: u32) -> Option<ProcessRow> {
    None
}

/// A variable of another process.
pub fn read_variable(_pid: u32, _name: &str) -> Option<Vec<u8>> {
    None
}

/// The arguments of another process.
pub fn command_line(_pid: u32, _bytes: u64) -> Option<Vec<OsString>> {
    None
}

/// The executable of another process.
pub fn program_file(_pid: u32) -> Option<PathBuf> {
    None
}

/// The words of another process.
pub fn program_words(_pid: u32) -> Option<Vec<String>> {
    None
}

/// The input of another process.
pub fn stdin_of(_pid: u32) -> Option<PathBuf> {
    None
}

/// A process, others and all below them.
pub fn read_below(_root: u32, _others: &[u32]) -> Option<Vec<ProcessRow>> {
    None
}

/// The children of the main thread.
pub fn children_of_main_thread() -> Option<HashSet<u32>> {
    None
}

/// How long the system has been up, on the clock on which processes begin.
pub fn read_uptime() -> Option<Duration> {
    None
}

/// Ticks of the process table as time.
pub fn of_ticks(_ticks: u64) -> Duration {
    Duration::ZERO
}

/// Signals a process of the table, of which there is none.
pub fn signal_process(_row: &ProcessRow, _signal: Signal) -> bool {
    false
}

/// Whether a process runs. The system does not show since when.
pub fn process_life(pid: u32) -> ProcessLife {
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // Not being allowed to signal it proves that it is there.
    match target.map(test_kill_process) {
        None | Some(Err(Errno::SRCH)) => ProcessLife::Gone,
        Some(_) => ProcessLife::Running { began: None },
    }
}

/// Refuses to start a command where another folder stands in a place.
///
/// # Errors
/// Always [`NOT_MOUNTED`].
pub fn mount_folder(_command: &mut Command, _pair: (&Path, &Path), _cwd: &Path) -> io::Result<()> {
    Err(NOT_MOUNTED.into())
}

/// Orphans are not adopted.
pub fn adopt_orphans() -> bool {
    false
}

/// Starts a tree without a mark.
pub fn start_with_mark<T>(_salt: u64, _id: u64, start: impl FnOnce() -> T) -> (Option<u64>, T) {
    (None, start())
}

/// The mark of a process.
pub fn mark_of(_pid: u32) -> Option<u64> {
    None
}

/// Whether a process has a handler of this signal: assumed, as every loop that runs here has one.
pub fn handles_signal(_pid: u32, _signal: Signal) -> bool {
    true
}

/// Finds the process that has a file open.
pub fn find_holder(
    _file: &Path,
    _folder: &Path,
    _may_hold: impl Fn(&str) -> bool,
) -> Option<NamedProcess> {
    None
}

/// The processes that began with a variable.
pub fn with_variable(_name: &str, _value: &str) -> Vec<NamedProcess> {
    Vec::new()
}

/// How much memory this process may address. Systems differ in whether they hold to such a limit.
pub fn address_space_limit() -> Option<u64> {
    None
}

/// Whether no limit is near. That is not known: threads are tried.
pub fn limits_leave_plenty(_plenty: u64) -> bool {
    false
}

/// Threads have no priority of their own.
pub fn lower_thread_priority() {}

/// The C library keeps as many arenas as it likes.
pub fn limit_arenas(_most: u8) {}

/// A pipe keeps the size that it has.
pub fn enlarge_pipe(_pipe: impl AsFd, _bytes: usize) {}

/// The stream cannot be opened once more.
pub fn reopen_stream(_stream: BorrowedFd<'_>, _flags: OFlags) -> Option<OwnedFd> {
    None
}

/// The boot has no name: leases go by the wall clock.
pub fn boot_reading() -> Option<BootReading> {
    None
}

/// The time of a clock that nobody can set. On macOS it counts while the machine sleeps.
pub fn time_since_boot() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

/// The same: the system has no clock that stands still while the machine sleeps.
pub fn time_awake() -> Duration {
    time_since_boot()
}

/// The folder of another process is not shown.
pub fn folder_of(_pid: u32) -> Option<PathBuf> {
    None
}

/// Nor of any.
pub fn list_working_folders() -> Vec<(u32, PathBuf)> {
    Vec::new()
}

/// The kind of a file system has no number that systems share.
pub fn file_system_kind(_folder: &Path) -> Option<u32> {
    None
}

/// No call waits until a whole file system is flushed.
pub fn flush_file_system(_on: impl AsFd) -> Option<rustix::io::Result<()>> {
    None
}

/// Calls `visit` for everything in a folder, `.` and `..` included.
///
/// # Errors
/// If the folder cannot be read; what was found until then was handed over.
pub fn list_folder(
    folder: &OwnedFd,
    _buffer: &mut ListingBuffer,
    mut visit: impl FnMut(&[u8], FileType),
) -> rustix::io::Result<()> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        visit(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

/// Other systems have no control groups.
pub fn control_group(_pid: u32) -> Option<String> {
    None
}

/// The name of this machine; `None` where it is not known.
pub fn host_name() -> Option<String> {
    std::fs::read_to_string("/etc/hostname").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it is not started")]
    fn facts_missing_on_other_systems_are_never_wrong() {
        let own = std::process::id();
        let row = ProcessRow {
            pid: own,
            parent: 1,
            group: 1,
            session: 1,
            dead: false,
            started: 1,
            ticks: 1,
            name: String::new(),
        };
        assert_eq!(
            read_all().expect_err("no table").kind(),
            io::ErrorKind::Unsupported
        );
        assert_eq!(
            (
                read_one(own),
                read_variable(own, "PATH"),
                command_line(own, 100),
                program_file(own)
            ),
            (None, None, None, None)
        );
        assert_eq!(
            (
                program_words(own),
                stdin_of(own),
                children_of_main_thread(),
                read_below(own, &[])
            ),
            (None, None, None, None)
        );
        assert_eq!(
            (
                read_uptime(),
                of_ticks(7),
                mark_of(own),
                address_space_limit()
            ),
            (None, Duration::ZERO, None, None)
        );
        assert!(
            !signal_process(&row, Signal::KILL),
            "nothing is signalled that is not known for the right one"
        );
        assert_eq!(start_with_mark(1, 2, || 3), (None, 3));
        let here = Path::new("/");
        let refused = mount_folder(&mut Command::new("true"), (here, here), here);
        let refusal = refused.expect_err("no namespace").raw_os_error();
        assert_eq!(refusal, Some(NOT_MOUNTED.raw_os_error()));
        assert!(!adopt_orphans() && !limits_leave_plenty(1) && handles_signal(own, Signal::TERM));
        assert_eq!(find_holder(Path::new("/"), Path::new("/"), |_| true), None);
        assert_eq!(
            (
                with_variable("PATH", ""),
                boot_reading(),
                file_system_kind(Path::new("/"))
            ),
            (Vec::new(), None, None)
        );
        assert_eq!(control_group(own), None);
        lower_thread_priority();
        limit_arenas(2);
    }

    #[test]
    fn process_is_polled_without_a_descriptor() {
        let own = std::process::id();
        let pid = i32::try_from(own)
            .ok()
            .and_then(Pid::from_raw)
            .expect("every process has one");
        let signal_and_wait = hold_process(pid).map(|process| {
            (
                signal_held(&process, Signal::TERM),
                wait_for_held(&process, None, Duration::ZERO),
            )
        });
        assert_eq!(signal_and_wait, Err(Errno::NOSYS));
        assert_eq!(process_life(own), ProcessLife::Running { began: None });
        assert_eq!(
            process_life(1),
            ProcessLife::Running { began: None },
            "also one that takes no signal from us"
        );
        assert_eq!(process_life(u32::MAX), ProcessLife::Gone);
        assert_eq!(process_life(0), ProcessLife::Gone);
    }

    #[test]
    fn folder_listing_and_clock_work_as_on_linux() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        std::fs::create_dir(scratch.path().join("folder")).expect("a folder can be made");
        std::fs::write(scratch.path().join("file"), "").expect("a file can be written");
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || {
            let flags = FOLDER_TO_ENTER | flags;
            rustix::fs::open(scratch.path(), flags, rustix::fs::Mode::empty())
                .expect("a folder can be opened")
        };
        let mut plain = Vec::new();
        list_folder(&open(), &mut ListingBuffer::default(), |name, kind| {
            plain.push((name.to_vec(), kind))
        })
        .expect("it can be listed");
        let mut raw = Vec::new();
        let listable = rustix::fs::open(scratch.path(), flags, rustix::fs::Mode::empty())
            .expect("a folder can be opened");
        crate::list_folder(&listable, &mut ListingBuffer::default(), |name, kind| {
            raw.push((name.to_vec(), kind))
        })
        .expect("as well");
        plain.sort_by(|a, b| a.0.cmp(&b.0));
        raw.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(plain, raw);
        assert_eq!(
            plain.len(),
            4,
            "with the folder itself and its parent: {plain:?}"
        );
        assert!(
            flush_file_system(open()).is_none()
                && reopen_stream(open().as_fd(), OFlags::RDONLY).is_none()
        );
        enlarge_pipe(open(), PIPE_PIECE);
        let before = time_since_boot();
        assert!(time_since_boot() >= before && time_awake() >= before);
        assert!(list_working_folders().is_empty() && folder_of(1).is_none());
        assert!(host_name().is_none_or(|name| !name.is_empty()));
    }
}
