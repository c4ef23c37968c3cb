//! Finds the configuration in force: the one that the user named, else that of the anchor, else that of the baseline commit, else that of
//! the worktree. Says whether it is trusted.

use std::io::{self, Read as _};
use std::path::Path;

use crate::session::anchor::point_of;
use watchdog_core::config::settings::{CheckKind, CheckSpec, ConfigSettings, single_checks};
use watchdog_core::config::{ConfigError, parse_bytes};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::evidence::{Degradation, FaultKind, UnreadableFact, WarningCode};
use watchdog_facts::page_address;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::anchor::{self, CriteriaAnchor};
use watchdog_store::trust::{TrustStore, fingerprint_config};
use watchdog_system::read_regular_file;

use super::command_env::{CommandEnv, find_top};
use super::open_worktree::OpenWorktree;

/// The name of the configuration at the root of a worktree.
pub const FILE: &str = "completion.json";

/// The largest configuration that is read, in bytes.
pub const MAX_BYTES: u64 = 4 << 20;

/// The configuration in force for a judgement.
#[derive(Debug, Clone, Default)]
pub struct EffectiveConfig {
    /// The settings; defaults where there is no file, or no trusted one.
    pub settings: ConfigSettings,
    /// Whether a file was found and is not trusted.
    pub trust: ConfigTrust,
    /// Warnings for a person.
    pub notes: Vec<Degradation>,
    /// The anchor of the spec, where it has one.
    pub anchor: Option<CriteriaAnchor>,
    /// The text of the file in force, trusted or not; `None` where there is none.
    pub file: Option<String>,
    /// Whether it is the file of the worktree, and not one that `--config` names.
    pub own: bool,
    /// Whether the settings say whom to ask. Otherwise the default agent is asked, which nobody named.
    pub names_agent: bool,
    /// Whether they set `rescue.mode`: where nobody did, a rescue whose session may still live is a snapshot.
    pub sets_rescue_mode: bool,
}

impl EffectiveConfig {
    /// The defaults, which hold where there is no file.
    pub(crate) fn without_file() -> Self {
        EffectiveConfig {
            own: true,
            ..EffectiveConfig::default()
        }
    }

    /// Whether the file in force was trusted before this session: then it must not vanish.
    pub fn pins_file(&self) -> bool {
        self.own
            && self.trust == ConfigTrust::Settled
            && self
                .anchor
                .as_ref()
                .is_some_and(|anchor| anchor.file.is_some())
    }
}

/// Finds, reads and judges the configuration. The anchor's file governs; without an anchor the baseline's.
pub fn load_effective(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    spec: Option<&str>,
    baseline: Option<&HistoryPoint>,
) -> Result<EffectiveConfig, UnreadableFact> {
    let anchor = anchor::find_effective_anchor(open.store.as_ref(), &open.worktree_id, spec)?;
    resolve_effective_config(command_env, &open.worktree, anchor, baseline)
}

/// The warning that the criteria of the worktree differ from those in force, unless it is known already. A file that does not even parse
/// any more does not count.
pub fn criteria_changed(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    (spec, baseline): (Option<&str>, Option<&HistoryPoint>),
    known_notes: &[Degradation],
) -> Option<Degradation> {
    let effective = load_effective(command_env, open, spec, baseline).ok()?;
    effective
        .notes
        .into_iter()
        .find(|note| note.code == WarningCode::CriteriaChanged && !known_notes.contains(note))
}

/// The configuration of a worktree from its files alone, for commands that only check whether it is right.
pub fn config_without_anchor(
    command_env: &CommandEnv,
    worktree: &Worktree,
) -> Result<EffectiveConfig, UnreadableFact> {
    resolve_effective_config(command_env, worktree, None, None)
}

fn resolve_effective_config(
    command_env: &CommandEnv,
    worktree: &Worktree,
    anchor: Option<CriteriaAnchor>,
    baseline: Option<&HistoryPoint>,
) -> Result<EffectiveConfig, UnreadableFact> {
    let path = worktree.root().join(FILE);
    let commands = command_env.commands(worktree.root());
    if let Some(named) = &command_env.config {
        let bytes =
            read_named(named, worktree.root()).map_err(|error| io_error_to_fact(named, &error))?;
        let mut effective = parse_with_trust((command_env, worktree.root()), &bytes, named)?;
        if let Some((folder, is_nested)) = find_typed_beside(command_env, worktree.root(), named) {
            effective.settings.run_below(&folder, is_nested);
        }
        let compared = anchor.as_ref().map(point_of).or_else(|| baseline.cloned());
        let whose = if anchor.is_some() {
            "the anchor's"
        } else {
            "the baseline's"
        };
        effective.notes.extend(named_one_changed(
            worktree,
            compared.as_ref().map(|point| (point, whose)),
            named,
            &bytes,
        ));
        // Kept for later judgements that name no file. An unreadable file does not concern this
        // judgement.
        let file = in_force(
            (worktree, &commands),
            None,
            baseline,
            read_if_there(&path).unwrap_or_default(),
        )
        .unwrap_or_default();
        return Ok(EffectiveConfig {
            anchor,
            file: file.map(|config_file| config_file.text()),
            own: false,
            ..effective
        });
    }
    let in_worktree = read_if_there(&path)?;
    let hash = |bytes: &[u8]| fingerprint_config(&worktree.repository_id(), Path::new(FILE), bytes);
    let store = TrustStore::new(&command_env.state);
    // A caller that names the hash of these bytes has read them.
    let named_now = |bytes: &[u8]| {
        let listed = command_env.trusted.as_deref().unwrap_or_default();
        let hash = hash(bytes);
        listed
            .split(',')
            .any(|listed_hash| listed_hash.trim().eq_ignore_ascii_case(&hash))
    };
    let allowed = |bytes: &[u8]| store.is_trusted(&hash(bytes), command_env.trusted.as_deref());
    let mut chosen_file = match &in_worktree {
        Some(bytes) if named_now(bytes) => Some(EffectiveConfigFile::without_note(bytes.clone())),
        _ => in_force(
            (worktree, &commands),
            anchor.as_ref(),
            baseline,
            in_worktree.clone(),
        )?,
    };
    // An untrusted copy does not displace a trusted one.
    if let (Some(pinned), Some(bytes)) = (&chosen_file, &in_worktree)
        && pinned.note.is_some()
        && anchor.is_some()
        && !allowed(&pinned.bytes)?
        && allowed(bytes)?
    {
        chosen_file = Some(EffectiveConfigFile::without_note(bytes.clone()));
    }
    let Some(config_file) = chosen_file else {
        return Ok(EffectiveConfig {
            anchor,
            ..EffectiveConfig::without_file()
        });
    };
    let mut notes: Vec<Degradation> = config_file
        .note
        .iter()
        .map(|detail| Degradation::new(WarningCode::CriteriaChanged, detail))
        .collect();
    let file = Some(config_file.text());
    // Parses an untrusted file, too: that reports a mistake at once, and runs nothing.
    let effective = parse_with_trust((command_env, worktree.root()), &config_file.bytes, &path)?;
    if allowed(&config_file.bytes)? {
        notes.extend(effective.notes);
        return Ok(EffectiveConfig {
            notes,
            anchor,
            file,
            ..effective
        });
    }
    let allow_with = match config_file.rev {
        None => commands.watchdog("trust"),
        Some(rev) => rev.map_or_else(
            || commands.watchdog("snapshot --accept-criteria"),
            |rev| commands.watchdog(&format!("trust --rev {}", &rev[..rev.len().min(12)])),
        ),
    };
    notes.push(Degradation::new(
        WarningCode::Untrusted,
        format!("{FILE} is not trusted and not used; read it, then allow it with: {allow_with}"),
    ));
    Ok(EffectiveConfig {
        trust: ConfigTrust::Untrusted { allow_with },
        notes,
        anchor,
        file,
        ..EffectiveConfig::without_file()
    })
}

/// The file in force; trust is not checked yet.
struct EffectiveConfigFile {
    bytes: Vec<u8>,
    /// The place of these bytes for a person: in the worktree, else in a commit, else unknown.
    rev: Option<Option<String>>,
    /// How the worktree's differs.
    note: Option<String>,
}

impl EffectiveConfigFile {
    fn without_note(bytes: Vec<u8>) -> Self {
        EffectiveConfigFile {
            bytes,
            rev: None,
            note: None,
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The anchor's file; where the anchor has none, the worktree's; without an anchor the baseline's, and the worktree's where that has none.
fn in_force(
    (worktree, commands): (&Worktree, &WorktreeCommands),
    anchor: Option<&CriteriaAnchor>,
    baseline: Option<&HistoryPoint>,
    in_worktree: Option<Vec<u8>>,
) -> Result<Option<EffectiveConfigFile>, UnreadableFact> {
    let point = anchor.map(point_of);
    let point = point.as_ref().or(baseline);
    let committed = || {
        point
            .and_then(HistoryPoint::commit)
            .map_or(Ok(None), |commit| worktree.blob_at(commit, FILE))
    };
    let whose = if anchor.is_some() {
        "the one that was accepted"
    } else {
        "the baseline's"
    };
    let pinned = match anchor {
        Some(anchor) => anchor.file.clone().map(String::into_bytes),
        None => committed()?,
    };
    let Some(pinned) = pinned else {
        return Ok(in_worktree.map(EffectiveConfigFile::without_note));
    };
    if in_worktree.as_ref() == Some(&pinned) {
        return Ok(Some(EffectiveConfigFile::without_note(pinned)));
    }
    let note = match in_worktree {
        Some(_) => format!(
            "{FILE} differs from {whose}, which governs; accept the new one with: {}",
            commands.watchdog("trust")
        ),
        None => format!(
            "{FILE} was removed; {whose} governs; accept that it is gone with: {}",
            commands.watchdog("untrust")
        ),
    };
    // A commit that is gone, or cannot be read, only costs the hint.
    let rev = point.and_then(HistoryPoint::to_commit).filter(|commit| {
        worktree
            .blob_at(commit, FILE)
            .is_ok_and(|blob| blob.as_ref() == Some(&pinned))
    });
    Ok(Some(EffectiveConfigFile {
        bytes: pinned,
        rev: Some(rev),
        note: Some(note),
    }))
}

/// The folder below the root in which the command was typed, and whether the file that it names lies in a worktree of the repository, too;
/// `None` where one of them is its root.
fn find_typed_beside(
    command_env: &CommandEnv,
    root: &Path,
    named: &Path,
) -> Option<(String, bool)> {
    let folder_of_file = named.canonicalize().ok()?.parent()?.to_owned();
    let top = find_top(&folder_of_file, root);
    let typed = command_env.typed_folder(root);
    let below = typed.strip_prefix(root).ok()?.to_str()?;
    (top != Some(&folder_of_file) && !below.is_empty()).then(|| (below.to_owned(), top.is_some()))
}

/// A warning about a file that the user named, and that lies where the session could change it.
fn named_one_changed(
    worktree: &Worktree,
    compared: Option<(&HistoryPoint, &str)>,
    path: &Path,
    bytes: &[u8],
) -> Option<Degradation> {
    let inside = path
        .canonicalize()
        .ok()?
        .strip_prefix(worktree.root())
        .ok()?
        .to_str()?
        .to_owned();
    let Some((HistoryPoint::Commit(commit), whose)) = compared else {
        return None;
    };
    // If that commit has no such file, or is unreadable, there is nothing to compare.
    let before = worktree.blob_at(commit, &inside).ok().flatten()?;
    let detail = format!(
        "{inside} differs from {whose}, and counts all the same, because --config names it"
    );
    (before != bytes).then_some(Degradation::new(WarningCode::CriteriaChanged, detail))
}

/// Whether a file names an agent.
fn names_agent(bytes: &[u8]) -> bool {
    let value = serde_json::from_slice::<serde_json::Value>(bytes).unwrap_or_default();
    value["agent"]["preset"].is_string() || value["agent"]["probe"].is_array()
}

/// The type of a check whose number neither the file nor the command line gives, by the name of that number.
fn find_missing_number(bytes: &[u8], checks: &[CheckSpec]) -> Option<&'static str> {
    let value = serde_json::from_slice::<serde_json::Value>(bytes).unwrap_or_default();
    let is_of_project = value["behavior"]["completionType"] == "project";
    let mut checks = single_checks(checks).into_iter();
    checks.find_map(|(_, criterion)| match criterion {
        CheckKind::Issue(issue) if issue.number.or(issue.pull_request).is_none() => Some("issue"),
        CheckKind::Phase(phase)
            if is_of_project && phase.project.is_none() && phase.field.is_none() =>
        {
            Some("project")
        }
        _ => None,
    })
}

fn sets_rescue_mode(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(bytes)
        .is_ok_and(|value| value["rescue"]["mode"].is_string())
}

fn parse_with_trust(
    (command_env, root): (&CommandEnv, &Path),
    bytes: &[u8],
    origin: &Path,
) -> Result<EffectiveConfig, UnreadableFact> {
    let mut parsed = parse_bytes(bytes, origin).map_err(|error| config_error_to_fact(&error))?;
    command_env.numbers.fill(&mut parsed.settings.checks);
    if let Some(name) = find_missing_number(bytes, &parsed.settings.checks) {
        let why = format!(
            "{}: the type `{name}` needs its number, in the file or with --var {name}=N",
            origin.display()
        );
        return Err(new_config_fact(why));
    }
    command_env
        .check_presets(&parsed, root, origin)
        .map_err(|error| config_error_to_fact(&error))?;
    let mut notes: Vec<_> = parsed
        .notes
        .iter()
        .cloned()
        .map(|detail| Degradation::new(WarningCode::Configuration, detail))
        .collect();
    notes.extend(
        command_env
            .untrusted_presets(&parsed, root)
            .map(|detail| Degradation::new(WarningCode::Untrusted, detail)),
    );
    Ok(EffectiveConfig {
        settings: parsed.settings,
        notes,
        names_agent: names_agent(bytes),
        sets_rescue_mode: sets_rescue_mode(bytes),
        ..EffectiveConfig::without_file()
    })
}

/// A configuration error as a fact that could not be read.
pub fn config_error_to_fact(error: &ConfigError) -> UnreadableFact {
    new_config_fact(error.to_string())
}

fn new_config_fact(why: String) -> UnreadableFact {
    UnreadableFact {
        kind: FaultKind::Config,
        why,
        hint: Some(
            concat!(
                "see `man completion.json`, or ",
                page_address!("configuration.md")
            )
            .into(),
        ),
    }
}

/// The bytes of the file that `--config` names. Outside of the worktree it may be a pipe, as a shell's `<(…)` is.
///
/// # Errors
/// Fails if it cannot be read, or is too large.
pub fn read_named(path: &Path, root: &Path) -> io::Result<Vec<u8>> {
    if std::path::absolute(path).is_ok_and(|named| named.starts_with(root)) {
        return read_regular_file(path, MAX_BYTES);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        Err(io::ErrorKind::FileTooLarge.into())
    } else {
        Ok(bytes)
    }
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, UnreadableFact> {
    match read_regular_file(path, MAX_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error_to_fact(path, &error)),
    }
}

fn io_error_to_fact(path: &Path, error: &io::Error) -> UnreadableFact {
    UnreadableFact::new(
        FaultKind::Config,
        format!("failed to read {}: {error}", path.display()),
    )
}
