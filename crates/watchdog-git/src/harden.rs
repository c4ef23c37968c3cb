//! Rules for opening a repository, so that it cannot choose what runs, or where watchdog reads.
//!
//! The repository's settings that change what git sees (line endings, file modes, excludes) stay in
//! force, or the verdict would differ from git's; only its programs are dropped.

use std::ffi::OsString;
use std::path::PathBuf;

use gix::config::source::Kind;
use gix::odb::store::init::Slots;
use gix::open::{Options, Permissions};

use super::error::Error;
use super::reftable;

/// How many packs a repository may have while it is open, at least: a snapshot of many files makes one, until there are fifty.
const PACKS: usize = 128;

/// The options with which gix opens a repository, with settings of the environment.
pub(super) fn build_open_options(settings: &[(String, String)]) -> Options {
    let mut permissions = deny_environment();
    // Any process in the repository can create refs/replace, so gix must not follow them.
    // git stores nanoseconds in the index; comparing them saves reading every file of a fresh checkout.
    let options = Options::default()
        .config_overrides(["gitoxide.core.useNsec=true", "core.useReplaceRefs=false"])
        // A key that is no plain one would be cut at the wrong place.
        .cli_overrides(
            (settings.iter())
                .filter(|(key, _)| !key.contains('='))
                .map(|(key, value)| format!("{key}={value}")),
        );
    // gix has room for so many packs as there were when it opened the repository, and a reserve. A session of hours may bring many more.
    let options = options.object_store_slots(Slots::AsNeededByDiskState {
        multiplier: 1.1,
        minimum: PACKS,
    });
    let options = user_files(options, &mut permissions, |name| std::env::var_os(name));
    options.permissions(permissions)
}

/// All permissions but for variables that say which repository, objects or settings to read.
pub(super) fn deny_environment() -> Permissions {
    let mut permissions = Permissions::all();
    permissions.env.git_prefix = gix::sec::Permission::Deny;
    permissions.env.objects = gix::sec::Permission::Deny;
    permissions.config.env = false;
    permissions
}

/// The user's own configuration files, if moved. They are the user's words and hold
/// `safe.directory`, so unlike every other `GIT_*` variable they count.
///
/// gix has no switch for these alone: the two outer slots (installation, system) take the system's and
/// the user's file instead, which keeps their order. gix would hear no `safe.directory` of the system's file there; git is asked.
fn user_files(
    options: Options,
    permissions: &mut Permissions,
    env: impl Fn(&str) -> Option<OsString>,
) -> Options {
    let no_system = env("GIT_CONFIG_NOSYSTEM")
        .is_some_and(|v| !matches!(v.to_str(), Some("" | "0" | "false" | "no" | "off")));
    let system = if no_system {
        None
    } else {
        env("GIT_CONFIG_SYSTEM").map(PathBuf::from)
    };
    permissions.config.system = !no_system;
    let Some(global) = env("GIT_CONFIG_GLOBAL").map(PathBuf::from) else {
        return match system {
            Some(path) => options.system_config_path(path),
            None => options,
        };
    };
    permissions.config.git = false;
    permissions.config.user = false;
    // The system file in the installation's slot, the user's file in the system's slot.
    let options = match system.or_else(|| (!no_system).then(default_system_file).flatten()) {
        Some(path) => {
            permissions.config.git_binary = true;
            options.git_installation_config_path(path)
        }
        None => options,
    };
    if global.is_file() {
        permissions.config.system = true;
        options.system_config_path(global)
    } else {
        permissions.config.system = false;
        options
    }
}

/// Whether a folder is in the place of the user's file of settings, as a container leaves one: git refuses it, and gix skips it.
pub(super) fn is_user_file_a_folder() -> bool {
    let named = std::env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let file = named.or_else(|| Some(std::env::home_dir()?.join(".gitconfig")));
    file.is_some_and(|file| file.is_dir())
}

fn default_system_file() -> Option<PathBuf> {
    gix::config::Source::System.storage_location(&mut |_| None)
}

/// Removes the sections of the repository's own configuration (its includes too) that name programs to
/// run while reading. Returns how many filter drivers went. The user's and the system's own, such as
/// git-lfs, stay.
pub(super) fn drop_local_programs(repo: &mut gix::Repository) -> gix::Result<usize> {
    let local = |repo: &gix::Repository, name: &str| {
        let config = repo.config_snapshot();
        config
            .plumbing()
            .sections_and_ids_by_name(name)
            .into_iter()
            .flatten()
            .any(|(s, _)| s.meta().source.kind() == Kind::Repository)
    };
    // A commit of the snapshot re-reads every cached value, so it is worth asking first.
    let (filters, drivers) = (local(repo, "filter"), local(repo, "diff"));
    if !filters && !drivers {
        return Ok(0);
    }
    let mut config = repo.config_snapshot_mut();
    let mut ids = Vec::new();
    let mut dropped = 0;
    for name in ["filter", "diff"] {
        for (section, id) in config.sections_and_ids_by_name(name).into_iter().flatten() {
            // `[diff]` itself holds harmless settings but for `external`; its subsections are drivers.
            if section.meta().source.kind() == Kind::Repository
                && (name == "filter"
                    || section.header().subsection_name().is_some()
                    || section.value("external").is_some())
            {
                dropped += usize::from(name == "filter");
                ids.push(id);
            }
        }
    }
    for id in ids {
        config.remove_section_by_id(id);
    }
    config.commit()?;
    Ok(dropped)
}

/// How a repository keeps its refs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefStorage {
    /// As files, which gix reads.
    Files,
    /// As tables, which git reads for us.
    Reftable,
}

/// How the repository keeps its refs; a storage that is not read here is refused.
pub(super) fn find_ref_storage(repo: &gix::Repository) -> Result<RefStorage, Error> {
    match repo.config_snapshot().string("extensions.refStorage") {
        None => Ok(RefStorage::Files),
        Some(name) if name.eq_ignore_ascii_case(b"files") => Ok(RefStorage::Files),
        Some(name)
            if name.eq_ignore_ascii_case(reftable::REFTABLE.as_bytes())
                && reftable::is_served() =>
        {
            Ok(RefStorage::Reftable)
        }
        Some(name) => Err(Error::read_failure(
            format!("read the refs of {}", repo.common_dir().display()),
            format!("extensions.refStorage is '{name}', and only 'files' is understood"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn opened(home: &Path, config: &str) -> gix::Repository {
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(home.join(".git").join(folder)).unwrap();
        }
        std::fs::write(home.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(home.join(".git/config"), config).unwrap();
        gix::open_opts(home.join(".git"), build_open_options(&[])).unwrap()
    }

    #[test]
    fn repository_programs_are_dropped_and_settings_stay() {
        let home = tempfile::tempdir().unwrap();
        let settings = "[core]\n\tautocrlf = input\n[diff]\n\talgorithm = histogram\n";
        for (programs, dropped) in [
            ("", 0),
            ("[diff]\n\texternal = evil\n", 0),
            ("[diff \"driver\"]\n\tcommand = evil\n", 0),
            (
                "[filter \"one\"]\n\tclean = evil\n[filter \"two\"]\n\tprocess = evil\n",
                2,
            ),
            (
                "[filter \"one\"]\n\tclean = evil\n[diff \"driver\"]\n\ttextconv = evil\n",
                1,
            ),
        ] {
            let mut repo = opened(home.path(), &format!("{settings}{programs}"));
            assert_eq!(
                drop_local_programs(&mut repo).unwrap(),
                dropped,
                "{programs}"
            );
            let config = repo.config_snapshot();
            let value_of = |key: &str| config.string(key).map(|value| value.to_string());
            assert_eq!(
                value_of("core.autocrlf").as_deref(),
                Some("input"),
                "{programs}"
            );
            assert_eq!(
                value_of("diff.algorithm").as_deref(),
                Some("histogram"),
                "{programs}"
            );
            let gone = [
                "diff.external",
                "diff.driver.command",
                "diff.driver.textconv",
                "filter.one.clean",
                "filter.two.process",
            ];
            assert!(gone.iter().all(|key| value_of(key).is_none()), "{programs}");
        }
    }

    #[test]
    fn replaced_object_is_read_in_its_original_form() {
        let home = tempfile::tempdir().unwrap();
        let repo = opened(home.path(), "");
        let [own, other] = ["own", "other"].map(|text| repo.write_blob(text).unwrap().detach());
        let replace = home.path().join(".git/refs/replace");
        std::fs::create_dir_all(&replace).unwrap();
        std::fs::write(replace.join(own.to_string()), format!("{other}\n")).unwrap();
        let reads = |options: Options| {
            gix::open_opts(home.path().join(".git"), options)
                .unwrap()
                .find_blob(own)
                .unwrap()
                .data
                .clone()
        };
        assert_eq!(reads(build_open_options(&[])), b"own");
        assert_eq!(
            reads(Options::default()),
            b"other",
            "it is a replacement that git would follow"
        );
    }

    #[test]
    fn unknown_ref_storage_is_refused() {
        let home = tempfile::tempdir().unwrap();
        for (version, extension, expected) in [
            (1, "", Ok(RefStorage::Files)),
            (1, "refStorage = files", Ok(RefStorage::Files)),
            (1, "refStorage = FILES", Ok(RefStorage::Files)),
            (1, "refStorage = stone", Err("'stone'")),
            // Nothing in this process asks git about it.
            (1, "refStorage = reftable", Err("'reftable'")),
        ] {
            let repo = opened(
                home.path(),
                &format!(
                    "[core]\n\trepositoryFormatVersion = {version}\n[extensions]\n\t{extension}\n"
                ),
            );
            match (find_ref_storage(&repo), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{extension}"),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, _) => panic!("{extension}: {found:?}"),
            }
        }
    }

    #[test]
    fn system_config_is_read_unless_user_disables_it() {
        let home = tempfile::tempdir().unwrap();
        let (global, system) = (home.path().join("global"), home.path().join("system"));
        std::fs::write(&global, "[a]\n\tuser = yes\n").unwrap();
        std::fs::write(&system, "[a]\n\tsystem = yes\n").unwrap();
        opened(home.path(), "");
        for (no_system, expected) in [
            (None, true),
            (Some("0"), true),
            (Some("false"), true),
            (Some("1"), false),
            (Some("true"), false),
        ] {
            for system in [Some(&system), None] {
                let env = |name: &str| match name {
                    "GIT_CONFIG_GLOBAL" => Some(global.clone().into_os_string()),
                    "GIT_CONFIG_SYSTEM" => system.map(|file| file.clone().into_os_string()),
                    _ => no_system.map(OsString::from),
                };
                let mut permissions = Permissions::all();
                let options = user_files(Options::default(), &mut permissions, env);
                assert_eq!(
                    permissions.config.git_binary, expected,
                    "{no_system:?}: whether there is room for a file of the system"
                );
                let repo =
                    gix::open_opts(home.path().join(".git"), options.permissions(permissions))
                        .unwrap();
                let config = repo.config_snapshot();
                assert!(config.string("a.user").is_some(), "{no_system:?}");
                assert_eq!(
                    config.string("a.system").is_some(),
                    expected && system.is_some(),
                    "{no_system:?}"
                );
            }
        }
    }
}
