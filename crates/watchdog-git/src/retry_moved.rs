//! Reads again if a concurrent `git pack-refs`, `gc` or `repack` moved refs or objects during the read, when an existing ref may be in
//! neither file for a moment.
//!
//! git writes the new file first and clears the old one afterwards, so a reader that has cached the old state of one, and comes late to
//! the other, finds nothing. A second read without the cache finds it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::Error;
use super::open::Worktree;

/// How often it is looked again at most, and the pause before the first time, which grows with each.
const AGAIN: u32 = 12;
const PAUSE: Duration = Duration::from_millis(2);
/// A change within this time may still be in progress. An older repository is read once.
const RECENT: Duration = Duration::from_secs(10);

/// The stat data that change when `packed-refs` is written.
#[derive(PartialEq, Eq)]
struct PackedRefsStamp(Option<(u64, u64, i64, i64, i64, i64)>);

impl Worktree {
    /// Calls `read` again, a bounded number of times, while it fails and the repository is being packed.
    pub(super) fn retry_while_packing<T>(
        &self,
        read: impl Fn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.retry(read, |_, _| false)
    }

    /// The same, and also after a success if `packed-refs` changed during the read, because a missed ref causes no error.
    pub(super) fn retry_if_refs_moved<T>(
        &self,
        read: impl Fn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.retry(read, |before, after| before != after)
    }

    fn retry<T>(
        &self,
        read: impl Fn() -> Result<T, Error>,
        suspect: impl Fn(&PackedRefsStamp, &PackedRefsStamp) -> bool,
    ) -> Result<T, Error> {
        for again in 1..=AGAIN {
            let before = self.packed_refs();
            let outcome = read();
            let once_more = match &outcome {
                Ok(_) => suspect(&before, &self.packed_refs()),
                Err(_) => self.is_being_packed(),
            };
            if !once_more {
                return outcome;
            }
            std::thread::sleep(PAUSE * again);
            self.forget_packed_refs();
        }
        read()
    }

    /// Forces the next read to load `packed-refs` again. gix compares its time alone, which may be the same.
    pub(super) fn forget_packed_refs(&self) {
        // The file may be missing; another fault shows when it is read.
        self.repo.refs.force_refresh_packed_buffer().ok();
    }

    fn packed_refs(&self) -> PackedRefsStamp {
        let of = |m: Metadata| {
            (
                m.ino(),
                m.size(),
                m.mtime(),
                m.mtime_nsec(),
                m.ctime(),
                m.ctime_nsec(),
            )
        };
        PackedRefsStamp(
            self.common_dir
                .join("packed-refs")
                .symlink_metadata()
                .ok()
                .map(of),
        )
    }

    /// Whether refs or objects were moved a moment ago, or a garbage collection says that it runs.
    fn is_being_packed(&self) -> bool {
        let recent = |path: &Path| {
            let at = path
                .symlink_metadata()
                .and_then(|metadata| metadata.modified());
            at.is_ok_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() < RECENT)
        };
        let common = &self.common_dir;
        common.join("gc.pid").exists()
            || ["", "objects", "objects/pack", "refs", "refs/heads"]
                .iter()
                .any(|name| recent(&common.join(name)))
    }
}
