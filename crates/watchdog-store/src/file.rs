//! Files and directories of the state directory: private whatever the umask says, and replaced whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::error::StoreError;

/// Opens a file for reading and writing, creates it if need be, and makes it ours alone. Follows no symlink.
pub(super) fn open_private(path: &Path) -> Result<File, StoreError> {
    let no_follow =
        i32::try_from(OFlags::NOFOLLOW.bits()).expect("open flags fit the type that open takes");
    let open = || -> io::Result<File> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(no_follow)
            .open(path)?;
        let meta = file.metadata()?;
        if meta.mode() & 0o777 != 0o600 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    };
    open().map_err(|e| StoreError::io("open", path, &e))
}

/// Creates one directory with mode 0700 whatever the umask says. It may be there already.
pub(super) fn create_private_dir(path: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o700))
            .map_err(|e| StoreError::io("set the permissions of", path, &e)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(StoreError::io("create", path, &e)),
    }
}

/// Writes a file of the state directory, for its owner alone (0600), so that a reader, or a crash, sees all of it or nothing of it.
///
/// # Errors
/// If it cannot be written.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let dir = path
        .parent()
        .expect("a file of the state directory has a parent");
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(dir)?.sync_all()
    };
    write().map_err(|e| {
        // The draft is of no use to anyone; the error that matters is the first.
        let _ = fs::remove_file(&draft);
        StoreError::io("write", path, &e)
    })
}
