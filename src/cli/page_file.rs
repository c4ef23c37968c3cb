//! A file that a command was asked to write, whole or not at all: a full disk or a kill leaves what was there before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::cli::failure::CommandFailure;

/// Writes a file beside its place, then puts it there. A link is followed; a device or a pipe is written to as it is.
///
/// # Errors
/// When it cannot be written. A failed write leaves no part of it behind.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), CommandFailure> {
    write_page(path, content).map_err(|error| {
        let failure = CommandFailure::store_failure(format!("failed to write {}: {error}", path.display()));
        CommandFailure {
            reason: "output_error",
            ..failure.hint("name a file in a folder that exists and has room, or - for stdout; what was there before is unchanged")
        }
    })
}

fn write_page(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let there = fs::metadata(&target).ok();
    if let Some(there) = &there
        && !there.is_file()
    {
        return fs::OpenOptions::new()
            .write(true)
            .open(&target)?
            .write_all(content);
    }
    let draft = draft_of(&target)?;
    let put = || -> io::Result<()> {
        let mut file = File::create_new(&draft)?;
        if let Some(there) = &there {
            file.set_permissions(there.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, &target)
    };
    put().inspect_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            // The first error is the one that matters.
            let _ = fs::remove_file(&draft);
        }
    })
}

pub(super) fn draft_of(target: &Path) -> io::Result<PathBuf> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::IsADirectory, "it names a folder"))?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}.draft", std::process::id()));
    Ok(target.with_file_name(draft))
}
