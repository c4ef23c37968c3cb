//! Folders and file systems: listing without a string for each name, what kind one is, one flush for a whole one.

use std::mem::MaybeUninit;
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, OFlags, RawDir};

use crate::ListingBuffer;

/// How a folder is opened that is only entered: one that may be entered but not listed still has files that can be read.
pub const FOLDER_TO_ENTER: OFlags = OFlags::PATH;

/// The size of the buffer, in bytes.
const RAW: usize = 32 << 10;

/// Calls `visit` for everything in a folder, `.` and `..` included.
///
/// # Errors
/// If the folder cannot be read; what was found until then was handed over.
pub fn list_folder(
    folder: &OwnedFd,
    buffer: &mut ListingBuffer,
    mut visit: impl FnMut(&[u8], FileType),
) -> rustix::io::Result<()> {
    buffer.0.resize(RAW, MaybeUninit::uninit());
    // Moves the offset of the descriptor, which no other code reads from.
    let mut entries = RawDir::new(folder.as_fd(), &mut buffer.0);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        visit(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

/// The magic number of the file system that a folder lies on; `None` where it is not known.
pub fn file_system_kind(folder: &Path) -> Option<u32> {
    rustix::fs::statfs(folder)
        .ok()
        .map(|stat| stat.f_type as u32)
}

/// Flushes the whole file system that a file lies on; `None` where no call waits for that.
pub fn flush_file_system(on: impl AsFd) -> Option<rustix::io::Result<()>> {
    Some(rustix::fs::syncfs(on))
}
