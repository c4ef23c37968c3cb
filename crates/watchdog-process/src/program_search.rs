//! Looks for a program in the folders of `PATH`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// The program of this name that the environment of this process leads to. Folders that are relative do not count: what is in them
/// depends on where one stands.
pub fn program_in_path(name: &str) -> Option<PathBuf> {
    let search_path = std::env::var_os("PATH")?;
    let runs = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&search_path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(runs)
}
