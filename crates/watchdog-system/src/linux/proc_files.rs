//! Further facts of `/proc`: who has a file open, who was called how, what is caught, the name of
//! the machine.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;

use super::process_table::{list_pids, read_one};
use crate::NamedProcess;

/// How many processes above one are asked for their folder.
const MOST_ABOVE: usize = 32;

/// Finds the process that has `file` open; else the first one that works in `folder` and whose
/// program `may_hold` names; `None` where there is none, or the system does not show it.
pub fn find_holder(
    file: &Path,
    folder: &Path,
    may_hold: impl Fn(&str) -> bool,
) -> Option<NamedProcess> {
    let mut at_work = None;
    for pid in list_pids().ok()? {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let name = || {
            std::fs::read_to_string(process.join("comm"))
                .map(|name| name.trim().to_owned())
                .unwrap_or_default()
        };
        let open = std::fs::read_dir(process.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        if open
            .into_iter()
            .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == file))
        {
            return Some(NamedProcess { pid, name: name() });
        }
        let inside =
            || std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        let name = name();
        if at_work.is_none() && may_hold(&name) && inside() {
            at_work = Some(NamedProcess { pid, name });
        }
    }
    at_work
}

/// The processes that began with this variable, each with its command line.
pub fn with_variable(name: &str, value: &str) -> Vec<NamedProcess> {
    let wanted = format!("{name}={value}");
    let has_it = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == wanted.as_bytes())
    };
    let pids = list_pids().into_iter().flatten().filter(has_it);
    pids.map(|pid| NamedProcess {
        pid,
        name: program_words(pid).unwrap_or_default().join(" "),
    })
    .collect()
}

/// The words that a process was called with, its program's name first; `None` where it is gone.
pub fn program_words(pid: u32) -> Option<Vec<String>> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(
        line.split(|byte| *byte == 0)
            .filter(|word| !word.is_empty())
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect(),
    )
}

/// The file that the input of a process leads to, if it may be read.
pub fn stdin_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()
}

/// The folder that a process of this user works in; `None` where it is gone, or another user's. A
/// process that hides itself from debuggers, as release builds of Codex do (`PR_SET_DUMPABLE`),
/// hides its folder as well: then that of the nearest process above which shows one.
pub fn folder_of(pid: u32) -> Option<PathBuf> {
    let mut at = pid;
    // A circle cannot be, but pids come again while they are read.
    for _ in 0..MOST_ABOVE {
        let process = format!("/proc/{at}");
        let owner = std::fs::metadata(&process).ok()?.uid();
        if owner != rustix::process::geteuid().as_raw() {
            return None;
        }
        match std::fs::read_link(format!("{process}/cwd")) {
            Ok(folder) => return Some(folder),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                at = read_one(at)?.parent
            }
            Err(_) => return None,
        }
    }
    None
}

/// The processes with the folders that they work in, other users' as well where they are shown: one link is read for each.
pub fn list_working_folders() -> Vec<(u32, PathBuf)> {
    let folder = |pid| match std::fs::read_link(format!("/proc/{pid}/cwd")) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => folder_of(pid),
        link => link.ok(),
    };
    let pids = list_pids().into_iter().flatten();
    pids.filter_map(|pid| Some((pid, folder(pid)?))).collect()
}

/// Whether a process has a handler of this signal.
pub fn handles_signal(pid: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    mask & (1 << (signal.as_raw() - 1)) != 0
}

/// The same pipe or terminal opened once more, with flags of its own; `None` where the system does not allow it.
pub fn reopen_stream(stream: BorrowedFd<'_>, flags: OFlags) -> Option<OwnedFd> {
    rustix::fs::open(
        format!("/proc/self/fd/{}", stream.as_raw_fd()),
        flags,
        Mode::empty(),
    )
    .ok()
}

/// The name of this machine; `None` where it is not known.
pub fn host_name() -> Option<String> {
    ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .find_map(|file| std::fs::read_to_string(file).ok())
}
