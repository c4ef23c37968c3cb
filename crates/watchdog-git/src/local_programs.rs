//! Settings that keep git from running what a repository's own configuration names, while git makes
//! a worktree or merges in it. Any user of a repository can write that configuration; the user's
//! and the system's own programs, such as git-lfs, stay.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::config::source::Kind;

use super::config_fault::ConfigFile;
use super::error::Error;
use super::open::Worktree;

/// So many files of configuration are read, included ones too.
const MOST_FILES: usize = 64;

/// The keys that name programs which git may run then.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "core",
        &["sshCommand", "gitProxy", "askPass", "alternateRefsCommand"],
    ),
    ("credential", &["helper"]),
    ("filter", &["clean", "smudge", "process", "required"]),
    ("gpg", &["program", "defaultKeyCommand"]),
    ("merge", &["driver"]),
    ("protocol", &["allow"]),
    ("remote", &["uploadpack"]),
];

/// The value of such a key with which git does what it does without one.
fn usual_value(section: &str, subsection: Option<&[u8]>, key: &str) -> &'static str {
    match (section, subsection, key) {
        ("core", _, "sshCommand") => "ssh",
        ("filter", _, "required") => "false",
        ("gpg", Some(b"ssh"), "program") => "ssh-keygen",
        ("gpg", Some(b"x509"), "program") => "gpgsm",
        ("gpg", _, "program") => "gpg",
        // An empty driver would take one side without a word.
        ("merge", ..) => "git merge-file --quiet %A %O %B",
        ("protocol", Some(b"ext"), _) => "never",
        ("protocol", ..) => "user",
        ("remote", ..) => "git-upload-pack",
        _ => "",
    }
}

impl Worktree {
    /// The keys and values to add to git's configuration, so that none of the repository's own
    /// programs runs. If the user's or the system's configuration sets such a key, too, that value
    /// counts.
    ///
    /// # Errors
    /// If the configuration cannot be read.
    pub fn without_local_programs(&self) -> Result<Vec<(String, String)>, Error> {
        let mut overrides: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let own = self.repo.config_snapshot();
        let mut files = vec![
            self.common_dir().join("config"),
            self.git_dir().join("config.worktree"),
        ];
        let mut read = 0;
        while let Some(path) = files.pop() {
            if read == MOST_FILES {
                let why = format!("more than {MOST_FILES} files are included");
                return Err(Error::read_failure(
                    "read the configuration of the repository",
                    why,
                ));
            }
            read += 1;
            let Some(config) = ConfigFile::read(path)? else {
                continue;
            };
            let path = &config.path;
            for section in config.settings.sections() {
                let header = section.header();
                let name = header.name().to_str_lossy().to_lowercase();
                let subsection = header.subsection_name();
                if name == "include" || name == "includeif" {
                    for included in section.values("path") {
                        files.push(resolve_include(&included, path)?);
                    }
                    continue;
                }
                let keys = PROGRAMS
                    .iter()
                    .filter(|(of, _)| *of == name)
                    .flat_map(|(_, keys)| *keys);
                for key in keys.filter(|key| !section.values(key).is_empty()) {
                    let sections = own.plumbing().sections_by_name(&name).into_iter().flatten();
                    let outer_sections = sections
                        .filter(|section| section.meta().source.kind() != Kind::Repository)
                        .filter(|section| section.header().subsection_name() == subsection);
                    let outer_values = outer_sections
                        .flat_map(|section| section.values(key))
                        .map(|value| value.to_str_lossy().into_owned());
                    let middle = subsection
                        .map(|subsection| format!("{}.", subsection.to_str_lossy()))
                        .unwrap_or_default();
                    let usual = usual_value(
                        &name,
                        subsection.map(|subsection| subsection.as_bytes()),
                        key,
                    )
                    .to_owned();
                    overrides
                        .entry(format!("{name}.{middle}{key}"))
                        .or_insert_with(|| [usual].into_iter().chain(outer_values).collect());
                }
            }
        }
        Ok(overrides
            .into_iter()
            .flat_map(|(key, values)| values.into_iter().map(move |value| (key.clone(), value)))
            .collect())
    }
}

/// Resolves the path of an included file. The folder of another user (`~name`) and of git's
/// installation (`%(prefix)`) are known to git alone.
fn resolve_include(included: &[u8], from: &Path) -> Result<PathBuf, Error> {
    let path = Path::new(OsStr::from_bytes(included));
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => Ok(home.join(below)),
        _ if included.starts_with(b"~") || included.starts_with(b"%(") => {
            let why = format!(
                "it includes {}, whose place git alone knows",
                path.display()
            );
            Err(Error::read_failure(format!("read {}", from.display()), why))
        }
        _ => Ok(from.parent().unwrap_or(from).join(path)),
    }
}
