//! Mends what is watchdog's own and loses nothing by it: rights of its state, lock files of the dead, hooks of another version.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::judge::command_env::CommandEnv;
use crate::judge::doctor_finding::{DoctorFinding, FindingState, SafeMend};
use watchdog_facts::display::plural;
use watchdog_store::lock;

/// Mends what was found, where that is safe. What cannot be mended is wrong, with the reason.
pub fn fix(command_env: &CommandEnv, finding: &mut DoctorFinding) {
    match finding
        .safe
        .as_ref()
        .map(|safe| apply_mend(command_env, safe))
    {
        None => {}
        Some(Ok(done)) => finding.fixed = Some(done),
        Some(Err(why)) => {
            finding.state = FindingState::Wrong;
            finding.detail = format!("{}; {why}", finding.detail);
        }
    }
}

/// Mends it; returns what was done, or what the system refused.
fn apply_mend(command_env: &CommandEnv, safe: &SafeMend) -> Result<String, String> {
    match safe {
        SafeMend::Close(paths) => {
            for path in paths {
                let refused = |error: std::io::Error| {
                    format!("failed to close {} to others: {error}", path.display())
                };
                // A link in its place would lead elsewhere.
                let metadata = fs::symlink_metadata(path).map_err(refused)?;
                if !metadata.is_symlink() {
                    fs::set_permissions(
                        path,
                        Permissions::from_mode(metadata.permissions().mode() & 0o700),
                    )
                    .map_err(refused)?;
                }
            }
            Ok(format!(
                "closed to other users: {}",
                plural(paths.len() as u64, "path")
            ))
        }
        SafeMend::RemoveLocks(paths) => {
            let mut removed = 0;
            for path in paths {
                removed += u64::from(lock::remove_left(path).map_err(|error| error.to_string())?);
            }
            Ok(format!("removed {}", plural(removed, "lock file")))
        }
        SafeMend::WriteHooks { file, text } => {
            file.replace(Some(text))
                .map_err(|error| error.to_string())?;
            if let Ok(worktree) = command_env.open_worktree()
                && let Ok(path) = file.path.strip_prefix(worktree.root())
                && let Some(path) = path.to_str()
            {
                command_env.note_own_file(&worktree, path);
            }
            Ok(format!(
                "wrote the hooks of this version into {}",
                file.path.display()
            ))
        }
    }
}
