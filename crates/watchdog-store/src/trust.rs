//! Records which configuration files may run commands: those whose exact bytes a person allowed, one small readable file for each.
//!
//! They are plain files, so that `ls` shows trust and `rm` revokes it, and trust holds where the database does not.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use watchdog_system::{is_missing, read_entries};

use super::codec::{path_from_text, path_to_text, sha256_hex};
use super::error::StoreError;
use super::file::replace_file;
use super::state_dir::StateDir;

/// Keeps these hashes apart from hashes of the same bytes made for any other purpose.
const DOMAIN: &[u8] = b"watchdog-trust-v1";

/// The fingerprint of a configuration: of its repository, its path in the worktree and its bytes, in lower-case hexadecimal digits.
///
/// The worktree is no part of it, so the same bytes in another worktree of the repository need no new permission; changed bytes do.
pub fn fingerprint_config(repository_id: &str, relative_path: &Path, bytes: &[u8]) -> String {
    sha256_hex(&[
        DOMAIN,
        repository_id.as_bytes(),
        relative_path.as_os_str().as_bytes(),
        bytes,
    ])
}

/// Something that was allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustGrant {
    /// Its fingerprint.
    pub hash: String,
    /// The repository, for people.
    pub repository: PathBuf,
    /// The path in the worktree.
    pub path: PathBuf,
    /// When it was allowed.
    pub at: Timestamp,
    /// The commands that were shown when it was allowed.
    pub commands: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct GrantV1 {
    version: u64,
    hash: String,
    repository: String,
    path: String,
    allowed_at: Timestamp,
    commands: Vec<String>,
}

/// The folder of grants.
#[derive(Debug, Clone)]
pub struct TrustStore {
    dir: PathBuf,
}

impl TrustStore {
    /// The grants of a state directory.
    pub fn new(dir: &StateDir) -> Self {
        TrustStore { dir: dir.trust() }
    }

    /// Allows what has this fingerprint, durably.
    pub fn allow(&self, grant: &TrustGrant) -> Result<(), StoreError> {
        let file = self.file(&grant.hash)?;
        let disk = GrantV1 {
            version: 1,
            hash: grant.hash.to_ascii_lowercase(),
            repository: path_to_text(&grant.repository),
            path: path_to_text(&grant.path),
            allowed_at: grant.at,
            commands: grant.commands.clone(),
        };
        let mut text =
            serde_json::to_vec_pretty(&disk).expect("a grant holds nothing that JSON cannot");
        text.push(b'\n');
        replace_file(&file, &text)
    }

    /// Revokes a grant, and returns whether there was one.
    pub fn revoke(&self, hash: &str) -> Result<bool, StoreError> {
        let file = self.file(hash)?;
        match fs::remove_file(&file) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(StoreError::io("delete", &file, &e)),
        }
    }

    /// Every valid grant, oldest first. Skips other files, which grant nothing.
    pub fn list(&self) -> Result<Vec<TrustGrant>, StoreError> {
        let mut grants = Vec::new();
        for entry in read_entries(&self.dir, usize::MAX)
            .map_err(|error| StoreError::io("read", &self.dir, &error))?
        {
            let name = entry.file_name();
            if let Some(hash) = name
                .to_str()
                .filter(|name| is_hash(name) && !entry.path().is_dir())
            {
                grants.extend(self.grant(hash)?);
            }
        }
        grants.sort_by(|a, b| (a.at, &a.hash).cmp(&(b.at, &b.hash)));
        Ok(grants)
    }

    /// Whether what has this fingerprint may run commands: because `env_list` (the value of `WATCHDOG_TRUST`, hashes with commas
    /// between them) names it, or because it was allowed. An error is no grant.
    pub fn is_trusted(&self, hash: &str, env_list: Option<&str>) -> Result<bool, StoreError> {
        let file_named = self.file(hash)?;
        let named = env_list
            .unwrap_or_default()
            .split(',')
            .any(|listed| listed.trim().eq_ignore_ascii_case(hash));
        if named {
            return Ok(true);
        }
        let name = file_named
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        Ok(self.grant(name)?.is_some())
    }

    /// The grant for a hash. A file that does not name its own hash is none: it was cut short, or somebody copied it.
    fn grant(&self, hash: &str) -> Result<Option<TrustGrant>, StoreError> {
        let file = self.dir.join(hash);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(e) if is_missing(&e) => {
                return Ok(None);
            }
            Err(e) => return Err(StoreError::io("read", &file, &e)),
        };
        let Ok(disk) = serde_json::from_slice::<GrantV1>(&bytes) else {
            return Ok(None);
        };
        Ok(
            (disk.version == 1 && disk.hash == hash).then(|| TrustGrant {
                hash: disk.hash,
                repository: path_from_text(&disk.repository),
                path: path_from_text(&disk.path),
                at: disk.allowed_at,
                commands: disk.commands,
            }),
        )
    }

    /// The file of a hash. Refuses anything but a hash, so that no text can name a file in another folder.
    fn file(&self, hash: &str) -> Result<PathBuf, StoreError> {
        if is_hash(hash) {
            Ok(self.dir.join(hash.to_ascii_lowercase()))
        } else {
            Err(StoreError::NotAHash { text: hash.into() })
        }
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust() -> (tempfile::TempDir, TrustStore) {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::resolve(Some(tmp.path().join("state")), None, None).unwrap();
        dir.ensure().unwrap();
        (tmp, TrustStore::new(&dir))
    }

    fn grant(hash: &str) -> TrustGrant {
        TrustGrant {
            hash: hash.into(),
            repository: "/src/app".into(),
            path: "completion.json".into(),
            at: Timestamp::UNIX_EPOCH,
            commands: vec!["check tests: cargo test".into()],
        }
    }

    #[test]
    fn changed_bytes_path_or_repository_need_new_trust() {
        let hash = fingerprint_config("repo", Path::new("completion.json"), b"{}");
        assert!(is_hash(&hash));
        assert_eq!(
            hash,
            fingerprint_config("repo", Path::new("completion.json"), b"{}")
        );
        for other_hash in [
            fingerprint_config("repo", Path::new("completion.json"), b"{ }"),
            fingerprint_config("repo", Path::new("sub/completion.json"), b"{}"),
            fingerprint_config("rep", Path::new("ocompletion.json"), b"{}"),
            fingerprint_config("other", Path::new("completion.json"), b"{}"),
        ] {
            assert_ne!(hash, other_hash);
        }
    }

    #[test]
    fn granted_file_stays_trusted_and_listed_until_revoked() {
        let (_tmp, trust) = trust();
        let hash = fingerprint_config("repo", Path::new("completion.json"), b"{}");
        assert!(!trust.is_trusted(&hash, None).unwrap());
        trust.allow(&grant(&hash)).unwrap();
        assert!(trust.is_trusted(&hash, None).unwrap());
        assert_eq!(trust.list().unwrap(), [grant(&hash)]);
        assert!(trust.revoke(&hash).unwrap());
        assert!(!trust.revoke(&hash).unwrap());
        assert!(!trust.is_trusted(&hash, None).unwrap());
    }

    #[test]
    fn the_environment_names_hashes_and_nothing_else() {
        let (_tmp, trust) = trust();
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        for (list, trusted) in [
            (a.clone(), true),
            (format!(" {b} , {} ,", a.to_uppercase()), true),
            (b.clone(), false),
            ("*".into(), false),
            ("all".into(), false),
            (a[..63].to_string(), false),
            (String::new(), false),
        ] {
            assert_eq!(
                trust.is_trusted(&a, Some(&list)).unwrap(),
                trusted,
                "{list:?}"
            );
        }
    }

    #[test]
    fn damaged_copied_or_escaping_grant_is_invalid() {
        let (_tmp, trust) = trust();
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        trust.allow(&grant(&a)).unwrap();
        fs::copy(trust.dir.join(&a), trust.dir.join(&b)).unwrap();
        assert!(!trust.is_trusted(&b, None).unwrap());
        fs::write(trust.dir.join(&a), "").unwrap();
        assert!(!trust.is_trusted(&a, None).unwrap());
        assert!(trust.list().unwrap().is_empty());
        for text in ["../watchdog.db", "", "..", &"g".repeat(64)] {
            assert!(
                matches!(trust.revoke(text), Err(StoreError::NotAHash { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn unreadable_or_undeletable_grant_is_an_error() {
        let (_tmp, trust) = trust();
        let hash = "a".repeat(64);
        let other_hash = "b".repeat(64);
        trust.allow(&grant(&other_hash)).unwrap();
        fs::create_dir(trust.dir.join(&hash)).unwrap();
        assert!(
            trust.is_trusted(&hash, None).is_err(),
            "a folder is in its place"
        );
        assert_eq!(
            trust.list().unwrap(),
            [grant(&other_hash)],
            "a folder hides no other grant"
        );
        assert!(trust.revoke(&hash).is_err(), "it is still there");
        fs::remove_dir_all(&trust.dir).unwrap();
        assert_eq!(
            (trust.list().unwrap(), trust.revoke(&hash).unwrap()),
            (vec![], false),
            "a folder that is gone holds none"
        );
        fs::write(&trust.dir, "").unwrap();
        assert!(
            trust.list().is_err(),
            "a file is in the place of the folder"
        );
    }
}
