//! The stat data that change with a file: its times, kind, size and inode.

/// The stat data that change with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StatStamp {
    pub(super) seconds: [i64; 2],
    pub(super) nanos: [i64; 2],
    pub(super) rest: [u64; 4],
}

impl StatStamp {
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        StatStamp {
            seconds: [stat.st_mtime, stat.st_ctime],
            nanos: [stat.st_mtime_nsec as i64, stat.st_ctime_nsec as i64],
            rest: [stat.st_mode as u64, stat.st_ino, stat.st_size as u64, u64::from(stat.st_uid)],
        }
    }
}
