//! Metrics in a file, for the node exporter's textfile collector: the file is replaced whole or stays as it is.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use super::page_file::draft_of;
use super::result_output;

/// The collector runs as another user.
const MODE: u32 = 0o644;

/// Writes the text; `-` is stdout.
///
/// # Errors
/// Fails if it cannot be written whole. The earlier file then stays.
pub fn write_metrics(path: &Path, text: &str) -> io::Result<()> {
    if path == Path::new("-") {
        return result_output::write_result(&mut io::stdout().lock(), text.as_bytes());
    }
    let draft = draft_of(path)?;
    let written = replace_file(path, &draft, text);
    if written.is_err() {
        // Of no use to anyone; the error that matters is the first.
        let _ = fs::remove_file(&draft);
    }
    written
}

fn replace_file(path: &Path, draft: &Path, text: &str) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a folder",
        ));
    }
    // Removes the draft of an earlier process with this id; never follows one that somebody else
    // put there.
    let _ = fs::remove_file(draft);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(draft)?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_file_is_replaced_atomically_and_world_readable() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("watchdog.prom");
        for text in ["one\n", "two\n"] {
            write_metrics(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            MODE
        );
        assert_eq!(
            fs::read_dir(scratch.path()).unwrap().count(),
            1,
            "no draft is left"
        );
    }

    #[test]
    fn link_is_replaced_and_folder_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let (other, path) = (
            scratch.path().join("other"),
            scratch.path().join("watchdog.prom"),
        );
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        write_metrics(&path, "one\n").unwrap();
        assert_eq!(
            (
                fs::read_to_string(&other).unwrap(),
                fs::read_to_string(&path).unwrap()
            ),
            ("mine".into(), "one\n".into())
        );
        for folder in [
            scratch.path(),
            Path::new("/"),
            &scratch.path().join("missing/file"),
        ] {
            assert!(
                write_metrics(folder, "one\n").is_err(),
                "{}",
                folder.display()
            );
        }
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2);
    }
}
