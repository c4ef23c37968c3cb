//! Gives files and folders that watchdog writes into a repository the modes that git gives them (`core.sharedRepository`): gix writes
//! objects and refs by the umask alone, and then another member's git cannot write beside them.

use std::fs::File;
use std::io;
use std::path::Path;

use gix::ObjectId;
use gix::config::tree::Core;

/// The setting of one repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SharedModes(i32);

impl SharedModes {
    pub(super) fn for_repository(repo: &gix::Repository) -> Self {
        let value = repo.config_snapshot().string("core.sharedRepository");
        // A bare key means `true`, which gix tells from a key that is not there by its boolean alone.
        let bare = value.is_none()
            && repo.config_snapshot().boolean("core.sharedRepository") == Some(true);
        let parsed = (value.is_some() || bare)
            .then(|| Core::SHARED_REPOSITORY.try_into_shared_repository(value));
        SharedModes(parsed.and_then(Result::ok).unwrap_or(0))
    }

    /// The setting as gix's locks take it.
    pub(super) fn for_lock(self) -> i32 {
        self.0
    }

    /// Adjusts an open file that is ours.
    pub(super) fn adjust_file(self, file: &File) -> io::Result<()> {
        if self.0 == 0 {
            return Ok(());
        }
        file.set_permissions(gix::fs::adjust_shared_repository_permissions(
            file.metadata()?.permissions(),
            self.0,
        ))
    }

    /// Adjusts a file and the folders that lead to it below `top`. An entry of another member is the other's to adjust.
    pub(super) fn adjust_path(self, path: &Path, top: &Path) {
        if self.0 != 0 {
            for entry in path
                .ancestors()
                .take_while(|entry| *entry != top && entry.starts_with(top))
            {
                gix::fs::set_shared_repository_permissions(entry, self.0).ok();
            }
        }
    }

    /// Adjusts an object that was just written, if it is a loose one.
    pub(super) fn adjust_object(self, repo: &gix::Repository, id: ObjectId) {
        if self.0 != 0 {
            let (objects, hex) = (repo.objects.store_ref().path(), id.to_string());
            self.adjust_path(&objects.join(&hex[..2]).join(&hex[2..]), objects);
        }
    }
}
