//! `watchdog trust` and `watchdog untrust`: which configuration files may name commands, as their bytes are.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::{TrustArgs, UntrustArgs};
use crate::cli::failure::Failure;
use crate::cli::terminal::Terminal;
use crate::config::parse_bytes;
use crate::decision::display::escape_to_one_line;
use crate::git::{Point, Worktree};
use crate::store::trust::{Grant, TrustStore, fingerprint};
use crate::supervisor::{CONFIGURATION_FILE, Surroundings, bad_configuration, now};

/// Allows a file as its bytes are now, and shows the commands that it names.
pub fn trust(surroundings: &Surroundings, terminal: &Terminal, args: TrustArgs) -> Result<u8, Failure> {
    surroundings.state.ensure()?;
    let store = TrustStore::new(&surroundings.state);
    if args.list {
        return list(terminal, &store);
    }
    let worktree = Worktree::open(&surroundings.worktree)?;
    let (path, relative) = named(&worktree, surroundings, args.file)?;
    let bytes = match &args.rev {
        None => std::fs::read(&path).map_err(|error| Failure::usage(format!("failed to read {}: {error}", path.display())))?,
        Some(rev) => at_revision(&worktree, rev, &relative)?,
    };
    let grant = allow(&worktree, &store, &path, &relative, &bytes)?;
    if terminal.json {
        terminal.value(&json!({"schema": 1, "trusted": grant.hash, "path": relative.display().to_string(), "commands": grant.commands}));
        return Ok(0);
    }
    terminal.line(&format!("trusted: {} ({})", path.display(), &grant.hash[..16]));
    for command in &grant.commands {
        terminal.line(&format!("  may run {}", escape_to_one_line(command)));
    }
    if grant.commands.is_empty() {
        terminal.line("  it names no commands");
    }
    Ok(0)
}

/// Pins the fingerprint of a configuration's bytes.
pub fn allow(worktree: &Worktree, store: &TrustStore, path: &Path, relative: &Path, bytes: &[u8]) -> Result<Grant, Failure> {
    let parsed = parse_bytes(bytes, path).map_err(|error| Failure::from(bad_configuration(&error)))?;
    let grant = Grant {
        hash: fingerprint(&worktree.repository_id(), relative, bytes),
        repository: worktree.common_dir().to_owned(),
        path: relative.to_owned(),
        at: now(),
        commands: parsed.settings.commands(),
    };
    store.allow(&grant)?;
    Ok(grant)
}

/// Takes the trust in a file's present bytes back.
pub fn untrust(surroundings: &Surroundings, terminal: &Terminal, args: UntrustArgs) -> Result<u8, Failure> {
    let worktree = Worktree::open(&surroundings.worktree)?;
    let store = TrustStore::new(&surroundings.state);
    let (path, relative) = named(&worktree, surroundings, args.file)?;
    // Every grant for this path goes: whoever takes trust back does not mean one version of the file only.
    let grants = store.list()?;
    let mut revoked = 0;
    for grant in grants.iter().filter(|grant| grant.path == relative && grant.repository == worktree.common_dir()) {
        revoked += usize::from(store.revoke(&grant.hash)?);
    }
    if terminal.json {
        terminal.value(&json!({"schema": 1, "revoked": revoked}));
    } else if revoked == 0 {
        terminal.line(&format!("{} was not trusted", path.display()));
    } else {
        terminal.line(&format!("no longer trusted: {}", path.display()));
    }
    Ok(0)
}

fn named(worktree: &Worktree, surroundings: &Surroundings, file: Option<PathBuf>) -> Result<(PathBuf, PathBuf), Failure> {
    let Some(file) = file else {
        return Ok((worktree.root().join(CONFIGURATION_FILE), CONFIGURATION_FILE.into()));
    };
    let path = std::path::absolute(surroundings.worktree.join(&file))
        .and_then(|path| path.canonicalize())
        .map_err(|error| Failure::usage(format!("failed to find {}: {error}", file.display())))?;
    let relative = path
        .strip_prefix(worktree.root())
        .map_err(|_| Failure::usage(format!("{} is not in the worktree {}", path.display(), worktree.root().display())))?
        .to_owned();
    Ok((path, relative))
}

fn at_revision(worktree: &Worktree, rev: &str, relative: &Path) -> Result<Vec<u8>, Failure> {
    let missing = || Failure::usage(format!("{} is not in revision '{rev}'", relative.display()));
    match worktree.resolve(rev)? {
        Point::Unborn => Err(missing()),
        Point::Commit(commit) => worktree.blob_at(&commit, &relative.to_string_lossy())?.ok_or_else(missing),
    }
}

fn list(terminal: &Terminal, store: &TrustStore) -> Result<u8, Failure> {
    let grants = store.list()?;
    if terminal.json {
        let grants = grants.iter().map(|grant| {
            json!({"hash": grant.hash, "repository": grant.repository.display().to_string(), "path": grant.path.display().to_string(),
                   "at": grant.at.to_string(), "commands": grant.commands})
        });
        terminal.value(&json!({"schema": 1, "trusted": grants.collect::<Vec<_>>()}));
        return Ok(0);
    }
    if grants.is_empty() {
        terminal.line("nothing is trusted");
    }
    for grant in &grants {
        terminal.line(&format!("{}  {:.0}  {} in {}", &grant.hash[..16], grant.at, grant.path.display(), grant.repository.display()));
    }
    Ok(0)
}
