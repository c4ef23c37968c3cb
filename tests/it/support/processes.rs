//! Looks at processes from outside, through `/proc`: tests of process trees must not trust what they test.

use std::fs;
use std::path::Path;

/// A process that was seen alive.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its command line, arguments joined by spaces.
    pub command: String,
}

impl Process {
    /// Whether it still lives. A zombie that nobody has reaped does not.
    pub fn lives(&self) -> bool {
        let folder = Path::new("/proc").join(self.pid.to_string());
        folder.exists() && !is_zombie(&folder)
    }

    /// Ends it at once; one that is gone already is none the worse.
    pub fn kill(&self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// The live processes (zombies aside) whose environment has `name=value`, other than this one.
pub fn with_variable(name: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{name}={value}").into_bytes();
    let own = std::process::id() as i32;
    let Ok(entries) = fs::read_dir("/proc") else {
        panic!("these tests look for processes in /proc, and it is not there")
    };
    entries
        .flatten()
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .parse::<i32>()
                .ok()
                .map(|pid| (pid, entry.path()))
        })
        .filter(|(pid, _)| *pid != own)
        .filter(|(_, folder)| {
            fs::read(folder.join("environ"))
                .is_ok_and(|all| all.split(|b| *b == 0).any(|one| one == wanted))
        })
        .filter(|(_, folder)| !is_zombie(folder))
        .map(|(pid, folder)| Process {
            pid,
            command: command_line(&folder),
        })
        .collect()
}

/// The most memory of its own that a live process ever held, in KiB: without the pages of its program, of which an unoptimised one has
/// many (`VmHWM` less `RssFile`).
pub fn peak_own_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let of = |key: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(key))?
            .trim()
            .strip_suffix(" kB")?
            .parse::<u64>()
            .ok()
    };
    Some(of("VmHWM:")?.saturating_sub(of("RssFile:")?))
}

/// Whether a process was stopped by a signal.
pub fn is_stopped(pid: u32) -> bool {
    state(&Path::new("/proc").join(pid.to_string())) == Some('T')
}

fn is_zombie(folder: &Path) -> bool {
    state(folder) == Some('Z')
}

fn state(folder: &Path) -> Option<char> {
    // The state follows the command name, which stands in parentheses and may hold anything.
    fs::read_to_string(folder.join("stat"))
        .ok()?
        .rsplit(')')
        .next()?
        .trim_start()
        .chars()
        .next()
}

fn command_line(folder: &Path) -> String {
    let bytes = fs::read(folder.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .split('\0')
        .collect::<Vec<_>>()
        .join(" ")
        .trim_end()
        .to_string()
}
