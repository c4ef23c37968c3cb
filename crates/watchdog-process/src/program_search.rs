//! Looks for a program in the folders of `PATH`.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use watchdog_system::open_regular_file;

/// The program of this name that the environment of this process leads to. Folders that are relative do not count: what is in them
/// depends on where one stands.
pub fn program_in_path(name: &str) -> Option<PathBuf> {
    find_program(name, &std::env::var_os("PATH")?)
}

/// The same in the folders of this search path.
pub fn find_program(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Whether this is a regular file that somebody may execute.
pub fn is_executable(file: &Path) -> bool {
    std::fs::metadata(file)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether programs are looked up in this folder or below.
pub fn searches_below(folder: &Path) -> bool {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search_path).any(|entry| entry.starts_with(folder))
}

/// The file that `search_path` leads to for this name, where the system surely starts it as it is.
/// Returns `None` to leave the search to `exec`, which knows what to do if a folder may not be
/// read, or a script does not say what runs it.
///
/// A name that `exec` looks up itself costs a copy of this process's memory map first, a path does not.
pub(super) fn find_startable(name: &OsStr, search_path: &OsStr) -> Option<PathBuf> {
    for folder in std::env::split_paths(search_path) {
        if !folder.is_absolute() {
            return None;
        }
        let file = folder.join(name);
        match access(&file, Access::EXEC_OK) {
            Ok(()) => return Some(file).filter(|file| says_what_runs_it(file)),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Whether it is a program of the machine, or a script with a first line that names one.
fn says_what_runs_it(file: &Path) -> bool {
    let mut start = [0; 4];
    let read = open_regular_file(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start == *b"\x7fELF" || start.starts_with(b"#!"))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn name_resolves_to_path_only_as_exec_would() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
        create_dir(&first).unwrap();
        create_dir(&second).unwrap();
        let put = |path: PathBuf, text: &str, mode| {
            write(&path, text).unwrap();
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        put(second.join("script"), "#!/bin/sh\n", 0o755);
        put(second.join("unsaid"), "echo hello\n", 0o755);
        put(second.join("short"), "#", 0o755);
        put(first.join("no-program"), "#!/bin/sh\n", 0o644);
        put(second.join("no-program"), "#!/bin/sh\n", 0o755);
        create_dir(first.join("folder")).unwrap();
        let both = std::env::join_paths([&first, &second]).unwrap();
        let startable_path = |name: &str, path: &OsStr| find_startable(OsStr::new(name), path);
        assert_eq!(startable_path("script", &both), Some(second.join("script")));
        for left_to_exec in ["unsaid", "short", "no-program", "folder", "absent"] {
            assert_eq!(startable_path(left_to_exec, &both), None, "{left_to_exec}");
        }
        let relative = [b"here:".as_slice(), both.as_bytes()].concat();
        assert_eq!(
            startable_path("script", OsStr::from_bytes(&relative)),
            None,
            "what is in it depends on where one stands"
        );
    }
}
