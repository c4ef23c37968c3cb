//! The settings file itself: read and replaced atomically, and never over another process's change.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use watchdog_system::read_regular_begin;

use super::settings_text::SettingsEdit;

/// Larger files are no settings.
const MOST: u64 = 4 * 1024 * 1024;

/// A settings file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// The real path: a link was followed, so that replacing it keeps the link.
    pub path: PathBuf,
    /// Its text; `None` where there is no such file.
    pub text: Option<String>,
    /// Whether a link led there.
    pub is_linked: bool,
}

/// Why a settings file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFileError {
    /// The system refuses.
    #[error("failed to {what} {}: {source}", path.display())]
    Io {
        /// The failed action, as a verb.
        what: &'static str,
        /// The settings file, or the folder of it.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Not a text.
    #[error("{} is not UTF-8 text", path.display())]
    NotText {
        /// The settings file.
        path: PathBuf,
    },
    /// Too large to be one.
    #[error("{} is larger than {} MiB, too large for a settings file", path.display(), MOST / 1024 / 1024)]
    TooLarge {
        /// The settings file.
        path: PathBuf,
    },
    /// Another process wrote to it meanwhile.
    #[error("{} was changed by somebody else just now; nothing was written", path.display())]
    Changed {
        /// The settings file.
        path: PathBuf,
    },
}

impl SettingsFile {
    /// Reads it.
    ///
    /// # Errors
    /// When it is there and cannot be read as a text of reasonable size.
    pub fn from_path(path: &Path) -> Result<Self, SettingsFileError> {
        let failed = |source| SettingsFileError::Io {
            what: "read",
            path: path.to_owned(),
            source,
        };
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && fs::symlink_metadata(path).is_err() =>
            {
                return Ok(SettingsFile {
                    path: path.to_owned(),
                    text: None,
                    is_linked: false,
                });
            }
            Err(error) => return Err(failed(error)),
        };
        let bytes = read_regular_begin(&real, MOST + 1).map_err(failed)?;
        if bytes.len() as u64 > MOST {
            return Err(SettingsFileError::TooLarge { path: real });
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let is_linked = fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
                Ok(SettingsFile {
                    path: real,
                    text: Some(text),
                    is_linked,
                })
            }
            Err(_) => Err(SettingsFileError::NotText { path: real }),
        }
    }

    /// The text to put in its place after an edit: none where only an empty object is left. A file that a link leads to stays.
    pub fn text_after(&self, edited: &SettingsEdit) -> Option<String> {
        let is_gone = edited.text.is_empty() || (edited.is_emptied && !self.is_linked);
        (!is_gone).then(|| edited.text.clone())
    }

    /// Puts another text in its place, with the same rights, at once or not at all; without a text it removes the file.
    ///
    /// # Errors
    /// When the system refuses, or the file has changed since it was read.
    pub fn replace(&self, text: Option<&str>) -> Result<(), SettingsFileError> {
        let failed = |what| {
            move |source| SettingsFileError::Io {
                what,
                path: self.path.clone(),
                source,
            }
        };
        let Some(text) = text else {
            return match Self::from_path(&self.path)?.text {
                None => Ok(()),
                text if text == self.text => fs::remove_file(&self.path).map_err(failed("remove")),
                Some(_) => Err(SettingsFileError::Changed {
                    path: self.path.clone(),
                }),
            };
        };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(failed("make the folder of"))?;
        let draft = self
            .path
            .with_extension(format!("watchdog-{}", std::process::id()));
        let write = || -> io::Result<()> {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&draft)?;
            if let Ok(there) = fs::metadata(&self.path) {
                file.set_permissions(there.permissions())?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        let written = write().map_err(failed("write")).and_then(|()| {
            // Between this look and the rename lies a moment that no file system closes.
            if Self::from_path(&self.path)?.text != self.text {
                return Err(SettingsFileError::Changed {
                    path: self.path.clone(),
                });
            }
            fs::rename(&draft, &self.path).map_err(failed("replace"))
        });
        if written.is_err() {
            // The first error is the one that matters.
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn replaced_file_keeps_permissions_and_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("dotfiles.json");
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        let link = folder.path().join("settings.json");
        symlink(&real, &link).unwrap();
        SettingsFile::from_path(&link)
            .unwrap()
            .replace(Some("{\"a\": 1}"))
            .unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "{\"a\": 1}");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            2,
            "no draft is left"
        );
    }

    #[test]
    fn emptied_file_is_removed_unless_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plugin.js");
        fs::write(&path, "ours").unwrap();
        let file = SettingsFile::from_path(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(
            file.replace(None),
            Err(SettingsFileError::Changed { .. })
        ));
        SettingsFile::from_path(&path)
            .unwrap()
            .replace(None)
            .unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_missing_file_is_made_with_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".claude/settings.json");
        let file = SettingsFile::from_path(&path).unwrap();
        assert_eq!(file.text, None);
        file.replace(Some("{}\n")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let missing = SettingsFile::from_path(&path).unwrap();
        fs::write(&path, "{\"theirs\": 1}").unwrap();
        assert!(matches!(
            missing.replace(Some("{}")),
            Err(SettingsFileError::Changed { .. })
        ));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"theirs\": 1}");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no draft is left"
        );
    }

    #[test]
    fn what_is_no_settings_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(
            SettingsFile::from_path(&path),
            Err(SettingsFileError::NotText { .. })
        ));
        fs::write(&path, vec![b' '; 5 * 1024 * 1024]).unwrap();
        assert!(matches!(
            SettingsFile::from_path(&path),
            Err(SettingsFileError::TooLarge { .. })
        ));
        fs::remove_file(&path).unwrap();
        symlink("nowhere", &path).unwrap();
        assert!(matches!(
            SettingsFile::from_path(&path),
            Err(SettingsFileError::Io { .. })
        ));
        assert!(SettingsFile::from_path(folder.path()).is_err());
    }
}
