//! The stat data that change with a file: its times, kind, size and inode. If they are the same and
//! older than a reading of the file, it has not changed since; git trusts its index by the same
//! rule.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How much older than the reading a file must be, for clocks that tick every few milliseconds.
const TICK: Duration = Duration::from_millis(50);

/// The same for a file system that keeps whole seconds, or two.
const COARSE: Duration = Duration::from_secs(4);

/// The stat data that change with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StatStamp {
    pub(super) seconds: [i64; 2],
    pub(super) nanos: [i64; 2],
    pub(super) rest: [u64; 4],
}

impl StatStamp {
    pub(crate) fn from_stat(stat: &rustix::fs::Stat) -> Self {
        StatStamp {
            seconds: [stat.st_mtime, stat.st_ctime],
            nanos: [stat.st_mtime_nsec as i64, stat.st_ctime_nsec as i64],
            rest: [
                stat.st_mode as u64,
                stat.st_ino,
                stat.st_size as u64,
                u64::from(stat.st_uid),
            ],
        }
    }

    /// Whether the file is so much older than a reading that any change since the reading began shows in its times.
    pub(crate) fn is_older_than(&self, begun: SystemTime) -> bool {
        let margin = if self.nanos == [0, 0] { COARSE } else { TICK };
        let latest = begun
            .checked_sub(margin)
            .and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let latest = latest.and_then(|at| {
            Some((
                i64::try_from(at.as_secs()).ok()?,
                i64::from(at.subsec_nanos()),
            ))
        });
        latest.is_some_and(|latest| (0..2).all(|at| (self.seconds[at], self.nanos[at]) < latest))
    }
}

/// The version of a file or folder; `None` where there is none.
pub(super) fn version_of(path: &Path) -> rustix::io::Result<Option<StatStamp>> {
    match rustix::fs::stat(path) {
        Ok(stat) => Ok(Some(StatStamp::from_stat(&stat))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether there surely is nothing at a path. If the system does not say, there may be.
pub fn is_absent(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// Whether a folder lies on another machine, whose clock and caches are its own. So one of an unknown kind is taken for.
pub(super) fn is_remote(folder: &Path) -> bool {
    // NFS, SMB, SMB2, CIFS, 9P, FUSE, AFS, Ceph.
    const REMOTE: [u32; 8] = [
        0x6969,
        0x517b,
        0xfe53_4d42,
        0xff53_4d42,
        0x0102_1997,
        0x6573_5546,
        0x5346_414f,
        0x00c3_6400,
    ];
    watchdog_system::file_system_kind(folder).is_none_or(|kind| REMOTE.contains(&kind))
}

/// Whether this user owns a path itself.
pub(super) fn is_own(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.uid() == user)
}
