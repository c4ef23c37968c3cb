//! Limits on processes and memory: the user's own, and those of the control groups.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// How much memory this process may address, in bytes; `None` where that has no limit.
pub fn address_space_limit() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// Whether neither the user's own limit nor one of the control groups is near: so many processes and threads are left, four times as many
/// of the user's, who has others.
pub fn limits_leave_plenty(plenty: u64) -> bool {
    let allowed = getrlimit(Resource::Nproc).current;
    allowed.is_none_or(|allowed| allowed >= 4 * plenty)
        && control_groups(&std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
            .iter()
            .all(|group| left_in(group) >= plenty)
}

/// The control groups of a process, as the system names them; `None` where it is gone.
pub fn control_group(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
}

/// The control groups of a process that may limit its number of processes, each with its parents, from the system's file.
fn control_groups(text: &str) -> Vec<PathBuf> {
    let folders = text.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let top = match controllers {
            "" => "/sys/fs/cgroup",
            named if named.split(',').any(|name| name == "pids") => "/sys/fs/cgroup/pids",
            _ => return None,
        };
        Some(Path::new(top).join(path.trim_start_matches('/')))
    });
    folders
        .flat_map(|folder| {
            folder
                .ancestors()
                .take_while(|above| above.starts_with("/sys/fs/cgroup"))
                .map(Path::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// How many processes and threads a control group still allows; as many as there may be where it has no limit.
fn left_in(group: &Path) -> u64 {
    let number = |name: &str| {
        std::fs::read_to_string(group.join(name))
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    match number("pids.max") {
        Some(most) => most.saturating_sub(number("pids.current").unwrap_or(0)),
        None => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_groups_above_count_as_well() {
        let groups = |text: &str| {
            control_groups(text)
                .iter()
                .map(|group| group.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            groups("0::/user.slice/a.scope\n"),
            [
                "/sys/fs/cgroup/user.slice/a.scope",
                "/sys/fs/cgroup/user.slice",
                "/sys/fs/cgroup"
            ]
        );
        assert_eq!(
            groups("5:cpu,cpuacct:/x\n4:pids:/y\n")[0],
            "/sys/fs/cgroup/pids/y"
        );
        assert_eq!(groups("nonsense"), [""; 0]);
    }

    #[test]
    fn limited_control_group_leaves_its_unused_part() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        assert_eq!(left_in(scratch.path()), u64::MAX);
        for (most, left) in [("max\n", u64::MAX), ("100\n", 58), ("10\n", 0)] {
            std::fs::write(scratch.path().join("pids.max"), most).expect("a file can be written");
            std::fs::write(scratch.path().join("pids.current"), "42\n")
                .expect("a file can be written");
            assert_eq!(left_in(scratch.path()), left, "{most}");
        }
    }
}
