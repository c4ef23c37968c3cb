//! Selects the files for the private part of a snapshot, in a ref that is never merged or pushed, ignored files included. Takes such snapshots.

use jiff::Timestamp;

use super::copied_secrets::repeats_secret;
use super::secrets::{in_generated_folder, looks_secret, secret_in};
use super::selection::PathPatterns;
use watchdog_core::config::settings::RescueSettings;
use watchdog_facts::secret_shapes::LIMIT;
use watchdog_facts::session_work::in_tool_folder;
use watchdog_git::{Snapshot, SnapshotCandidate, SnapshotRequest, Worktree};

/// Why a snapshot is taken when a session begins: it alone has the ignored files of `rescue.keep_ignored`.
pub const BEFORE_SESSION: &str = "before the session";

/// Why a snapshot is taken before a worktree is removed: status names it while the folder is gone.
pub const BEFORE_REMOVAL: &str = "before the worktree was removed";

/// The rule for [`watchdog_git::Worktree::take_snapshot_with_private`]: possible secrets by name or by new content, copies of
/// secrets, and files larger than `max_bytes`. Everything that is never committed for one of these reasons belongs here, too.
pub fn private_rule(
    settings: &RescueSettings,
) -> impl Fn(&SnapshotCandidate<'_>) -> Option<&'static str> + use<> {
    private_rule_with(settings, &[])
}

/// The same, which also selects the ignored files of these names or globs.
fn private_rule_with(
    settings: &RescueSettings,
    keep_ignored: &[String],
) -> impl Fn(&SnapshotCandidate<'_>) -> Option<&'static str> + use<> {
    let (max_bytes, keep) = (settings.max_bytes, KeptIgnored::new(keep_ignored));
    move |candidate| {
        if candidate.folder {
            return keep.enters(candidate.path).then_some("ignored");
        }
        if candidate.ignored {
            if keep.patterns.matches(candidate.path) {
                return Some("ignored");
            }
            let is_work = candidate.newly_ignored && candidate.bytes <= LIMIT;
            return worth_keeping(candidate.path, candidate.bytes)
                .then_some("ignored")
                .or_else(|| is_work.then_some("newly_ignored"));
        }
        if looks_secret(candidate.path) {
            Some("secret")
        } else if candidate.bytes > max_bytes {
            Some("too_large")
        } else if candidate.bytes <= LIMIT
            && let Some(content) = (candidate.content)()
            && (repeats_secret(
                candidate.path,
                &content,
                || (candidate.committed)().is_none(),
                candidate.secrets,
            ) || secret_in(candidate.path, None, &content).is_some()
                && secret_in(candidate.path, (candidate.committed)().as_deref(), &content)
                    .is_some())
        {
            Some("secret")
        } else {
            None
        }
    }
}

/// The ignored files that the user wants to be kept.
struct KeptIgnored {
    texts: Vec<String>,
    patterns: PathPatterns,
}

impl KeptIgnored {
    fn new(texts: &[String]) -> Self {
        KeptIgnored {
            texts: texts.to_vec(),
            patterns: PathPatterns::new(texts),
        }
    }

    /// Whether files below an ignored folder may be among them. A folder of tools has to be named.
    fn enters(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let names_it = |text: &String| text.trim_start_matches(['.', '/']).starts_with(&below);
        let is_named = self.patterns.matches(folder) || self.texts.iter().any(names_it);
        is_named || !self.texts.is_empty() && !in_tool_folder(&below)
    }
}

/// Larger ignored files are not kept: files that a person wrote by hand are small.
const SMALL: u64 = 64 << 10;
/// Names of ignored files that hold a machine's own settings, made by hand and hard to make again.
const SETTINGS: [&str; 6] = [
    ".envrc",
    "local.properties",
    "local.settings.json",
    "settings.local.json",
    "docker-compose.override.yml",
    "compose.override.yml",
];
/// Parts of such names, with a dot on each side, where they end like data.
const LOCAL: [&str; 3] = ["local", "secret", "private"];
/// The extensions of such data.
const DATA: [&str; 9] = [
    "json",
    "yml",
    "yaml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "tfvars",
];

/// Whether an ignored file is a small secret or setting (`.env` and the like) that cannot be created again, and not
/// a tool's file in a generated folder.
fn worth_keeping(path: &str, bytes: u64) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let mut parts = name.rsplit('.');
    let data = parts.next().is_some_and(|ending| DATA.contains(&ending));
    let local = data && (name.ends_with(".tfvars") || parts.any(|part| LOCAL.contains(&part)));
    bytes <= SMALL
        && !in_generated_folder(path)
        && (name.starts_with(".env") || SETTINGS.contains(&name) || local || looks_secret(path))
}

/// Takes a snapshot of the uncommitted files of a worktree, by the settings of its rescue and with secrets apart; `None` where nothing is
/// uncommitted.
///
/// # Errors
/// Where the work cannot be read or kept.
pub fn take_snapshot(
    worktree: &Worktree,
    (spec, at, why): (&str, Timestamp, &str),
    settings: &RescueSettings,
) -> Result<Option<Snapshot>, watchdog_git::Error> {
    let request = SnapshotRequest {
        spec,
        at,
        why,
        max_new_bytes: settings.max_snapshot_bytes,
        even_clean: false,
    };
    // Later snapshots do without these files, which may be many: the loss is one of what was there before.
    let keep_ignored: &[String] = match why == BEFORE_SESSION {
        true => &settings.keep_ignored,
        false => &[],
    };
    let rule = private_rule_with(settings, keep_ignored);
    worktree.take_snapshot_with_private(&request, &rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_settings_are_kept_but_tool_output_dropped() {
        for path in [
            ".env",
            "api/.env.local",
            ".env.example",
            ".envrc",
            "local.properties",
            ".claude/settings.local.json",
            "config.local.yml",
            "prod.tfvars",
            "server.pem",
            "id_ed25519",
        ] {
            assert!(worth_keeping(path, 100), "{path}");
        }
        for path in [
            "node_modules/x/.env",
            "target/debug/.env",
            ".venv/settings.local.json",
            "vendor/a/server.pem",
            "debug.log",
            "a.out",
            "local.rs",
            "dist/main.js",
        ] {
            assert!(!worth_keeping(path, 100), "{path}");
        }
        assert!(!worth_keeping(".env", SMALL + 1));
    }
}
