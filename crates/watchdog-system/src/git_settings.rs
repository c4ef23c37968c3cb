//! git's settings in the environment (`GIT_CONFIG_COUNT`, and `GIT_CONFIG_PARAMETERS` of `git -c`), without those that
//! run a program or lead to another repository.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

static WITHIN_SESSION: AtomicBool = AtomicBool::new(false);

/// Last words of keys that name a program, or another place to work in.
const REFUSED_NAMES: &[&str] = &[
    "alternaterefscommand",
    "askpass",
    "bare",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "helper",
    "hookspath",
    "packobjectshook",
    "pager",
    "process",
    "program",
    "receivepack",
    "repositoryformatversion",
    "smudge",
    "sshcommand",
    "templatedir",
    "textconv",
    "update",
    "uploadpack",
    "usereplacerefs",
    "vcs",
    "worktree",
];

/// Sections of which each key does.
const REFUSED_SECTIONS: &[&str] = &[
    "alias",
    "extensions",
    "filter",
    "hook",
    "include",
    "includeif",
    "pager",
    "protocol",
];

/// Heeds from now on only settings that can hide no work: the caller's environment is that of a session.
pub fn distrust_git_settings() {
    WITHIN_SESSION.store(true, Ordering::Relaxed);
}

/// The settings that count here, by key and value, in git's order; `env` reads a variable.
///
/// # Errors
/// git's own words where it would refuse them all.
pub fn read_git_settings(
    env: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, String)>, String> {
    let mut settings = parse_settings(env)?;
    let is_personal = |key: &str| {
        let personal = ["safe.directory", "user.", "author.", "committer."];
        personal
            .iter()
            .any(|start| key.to_ascii_lowercase().starts_with(start))
    };
    let within_session = WITHIN_SESSION.load(Ordering::Relaxed);
    settings.retain(|(key, _)| is_harmless(key) && (!within_session || is_personal(key)));
    Ok(settings)
}

fn is_harmless(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let section = key.split('.').next().unwrap_or_default();
    let name = key.rsplit('.').next().unwrap_or_default();
    !REFUSED_SECTIONS.contains(&section) && !REFUSED_NAMES.contains(&name)
}

fn parse_settings(env: impl Fn(&str) -> Option<OsString>) -> Result<Vec<(String, String)>, String> {
    let text = |name: &str| env(name).map(|value| value.to_string_lossy().into_owned());
    let mut settings = Vec::new();
    if let Some(count) = text("GIT_CONFIG_COUNT").filter(|count| !count.is_empty()) {
        let number: usize =
            (count.trim().parse()).map_err(|_| "bogus count in GIT_CONFIG_COUNT")?;
        for n in 0..number {
            let part = |part: &str| {
                let name = format!("GIT_CONFIG_{}_{n}", part.to_ascii_uppercase());
                text(&name).ok_or_else(|| format!("missing config {part} {name}"))
            };
            settings.push((part("key")?, part("value")?));
        }
    }
    let parameters = text("GIT_CONFIG_PARAMETERS").unwrap_or_default();
    let mut unread = parameters.trim();
    while !unread.is_empty() {
        let bogus = || "bogus format in GIT_CONFIG_PARAMETERS".to_owned();
        let (first, after) = unquote(unread).ok_or_else(bogus)?;
        let (setting, after) = match after.strip_prefix('=') {
            // git 2.31 and later quote key and value apart.
            Some(quoted) if quoted.starts_with('\'') => {
                let (value, after) = unquote(quoted).ok_or_else(bogus)?;
                ((first, value), after)
            }
            Some(after) => ((first, "true".to_owned()), after),
            None => match first.split_once('=') {
                Some((key, value)) => ((key.to_owned(), value.to_owned()), after),
                None => ((first, "true".to_owned()), after),
            },
        };
        if !after.is_empty() && !after.starts_with(' ') {
            return Err(bogus());
        }
        settings.push(setting);
        unread = after.trim_start();
    }
    match settings.iter().find(|(key, _)| !key.contains('.')) {
        Some((key, _)) => Err(format!("key does not contain a section: {key}")),
        None => Ok(settings),
    }
}

/// The text of a word in single quotes as a shell reads it, and what follows it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut unread = quoted.strip_prefix('\'')?;
    let mut word = String::new();
    loop {
        let (part, after) = unread.split_once('\'')?;
        word.push_str(part);
        let escaped = ["\\''", "\\!'"]
            .iter()
            .find(|escape| after.starts_with(**escape));
        let Some(escape) = escaped else {
            return Some((word, after));
        };
        word.push_str(&escape[1..2]);
        unread = &after[3..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_git_reads_them() {
        let read = |variables: &[(&str, &str)]| {
            let find = |name: &str| {
                let same = variables.iter().find(|(variable, _)| *variable == name);
                same.map(|(_, value)| OsString::from(value))
            };
            parse_settings(find).map(|settings| {
                let texts = settings.iter().map(|(key, value)| format!("{key}={value}"));
                texts.collect::<Vec<_>>().join(" ")
            })
        };
        let parameters = |text| read(&[("GIT_CONFIG_PARAMETERS", text)]);
        let bogus = Err("bogus format in GIT_CONFIG_PARAMETERS".to_owned());
        assert_eq!(read(&[]), Ok(String::new()));
        let pair = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "a"),
            (
                "GIT_CONFIG_PARAMETERS",
                "'user.email'='b@c' 'core.eol=lf' 'core.x'",
            ),
        ];
        assert_eq!(
            read(&pair),
            Ok("user.name=a user.email=b@c core.eol=lf core.x=true".into())
        );
        assert_eq!(
            read(&pair[..2]),
            Err("missing config value GIT_CONFIG_VALUE_0".into())
        );
        assert_eq!(
            read(&[("GIT_CONFIG_COUNT", "x")]),
            Err("bogus count in GIT_CONFIG_COUNT".into())
        );
        assert_eq!(
            parameters(r"'a.b'='it'\''s' 'c.d='\!''"),
            Ok("a.b=it's c.d=!".into())
        );
        assert_eq!(parameters("'a.b'="), Ok("a.b=true".into()));
        for text in ["a.b=c", "'a.b", "'a.b'c", "'a.b'='c"] {
            assert_eq!(parameters(text), bogus, "{text}");
        }
    }

    #[test]
    fn programs_and_other_places_are_refused() {
        for key in [
            "core.fsmonitor",
            "core.hooksPath",
            "core.bare",
            "core.worktree",
            "filter.a.clean",
            "diff.a.textconv",
            "merge.a.driver",
            "credential.https://a.b.helper",
            "alias.x",
            "include.path",
            "gpg.ssh.program",
            "sequence.editor",
            "extensions.worktreeConfig",
        ] {
            assert!(!is_harmless(key), "{key}");
        }
        for key in [
            "safe.directory",
            "user.name",
            "core.excludesFile",
            "url.https://a.b.insteadOf",
        ] {
            assert!(is_harmless(key), "{key}");
        }
    }
}
