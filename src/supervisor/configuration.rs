//! Which configuration governs: the one that the user named, else the baseline commit's, else the worktree's; and whether it is trusted.

use std::io;
use std::path::Path;

use crate::config::settings::Settings;
use crate::config::{ConfigError, parse_bytes};
use crate::decision::evidence::{Degraded, FaultKind, Unreadable};
use crate::decision::machine::Trust;
use crate::git::{Point, Worktree};
use crate::store::trust::{TrustStore, fingerprint};

use super::surroundings::Surroundings;

/// The name of the configuration at the root of a worktree.
pub const FILE: &str = "completion.json";

/// The configuration that governs a judgement.
#[derive(Debug, Clone)]
pub struct Governing {
    /// What it asks for; defaults where there is none, or none that is trusted.
    pub settings: Settings,
    /// Whether a file was found that does not count.
    pub trust: Trust,
    /// What a person should know about it.
    pub notes: Vec<Degraded>,
}

/// Finds, reads and judges the configuration.
pub fn governing(surroundings: &Surroundings, worktree: &Worktree, baseline: Option<&Point>) -> Result<Governing, Unreadable> {
    if let Some(path) = &surroundings.config {
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
        let mut governing = trusted(&bytes, path)?;
        governing.notes.extend(named_one_changed(worktree, baseline, path, &bytes));
        return Ok(governing);
    }
    let path = worktree.root().join(FILE);
    let in_worktree = read_if_there(&path)?;
    let in_baseline = match baseline {
        Some(Point::Commit(commit)) => worktree.blob_at(commit, FILE)?,
        Some(Point::Unborn) | None => None,
    };
    let mut notes = Vec::new();
    let (bytes, rev) = match (in_baseline, in_worktree) {
        (None, None) => return Ok(Governing { settings: Settings::default(), trust: Trust::Settled, notes }),
        (None, Some(bytes)) => (bytes, None),
        (Some(bytes), in_worktree) => {
            let same = in_worktree.as_ref() == Some(&bytes);
            if !same {
                let detail = match in_worktree {
                    Some(_) => format!("{FILE} differs from the baseline's, which governs"),
                    None => format!("{FILE} was removed; the baseline's governs"),
                };
                notes.push(Degraded { code: "criteria_changed", detail });
            }
            (bytes, if same { None } else { baseline.map(|point| point.as_str().to_owned()) })
        }
    };
    // Also an untrusted file is parsed: a mistake in it is told at once, and parsing runs nothing.
    let governing = trusted(&bytes, &path)?;
    let hash = fingerprint(&worktree.repository_id(), Path::new(FILE), &bytes);
    let store = TrustStore::new(&surroundings.state);
    if store.is_trusted(&hash, surroundings.trusted.as_deref())? {
        notes.extend(governing.notes);
        return Ok(Governing { notes, ..governing });
    }
    let allow_with = match rev {
        None => "watchdog trust".to_string(),
        Some(rev) => format!("watchdog trust --rev {}", &rev[..rev.len().min(12)]),
    };
    notes.push(Degraded {
        code: "untrusted",
        detail: format!("{FILE} is not trusted and not used; read it, then allow it with: {allow_with}"),
    });
    Ok(Governing { settings: Settings::default(), trust: Trust::Untrusted { allow_with }, notes })
}

/// A word about a file that the user named, and that lies where the session could change it.
fn named_one_changed(worktree: &Worktree, baseline: Option<&Point>, path: &Path, bytes: &[u8]) -> Option<Degraded> {
    let inside = path.canonicalize().ok()?.strip_prefix(worktree.root()).ok()?.to_str()?.to_owned();
    let Some(Point::Commit(commit)) = baseline else { return None };
    // Where the baseline has none, or cannot be read, there is nothing that it could differ from.
    let before = worktree.blob_at(commit, &inside).ok().flatten()?;
    let detail = format!("{inside} differs from the baseline's, and counts all the same, because --config names it");
    (before != bytes).then_some(Degraded { code: "criteria_changed", detail })
}

fn trusted(bytes: &[u8], origin: &Path) -> Result<Governing, Unreadable> {
    let parsed = parse_bytes(bytes, origin).map_err(|error| bad(&error))?;
    let notes = parsed.notes.into_iter().map(|detail| Degraded { code: "configuration", detail }).collect();
    Ok(Governing { settings: parsed.settings, trust: Trust::Settled, notes })
}

/// A configuration error as a fact that could not be read.
pub fn bad(error: &ConfigError) -> Unreadable {
    Unreadable { kind: FaultKind::Config, why: error.to_string(), hint: Some("see docs/configuration.md".into()) }
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Unreadable> {
    // Whoever works in the worktree could put a pipe there, which to open is to wait for ever.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(unreadable(path, &io::Error::other("it is no file")));
    }
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Unreadable {
    Unreadable { kind: FaultKind::Config, why: format!("failed to read {}: {error}", path.display()), hint: None }
}
