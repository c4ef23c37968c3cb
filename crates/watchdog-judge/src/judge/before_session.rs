//! Before a session: keeps, and records with its baseline, what it could destroy beside its own work.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::rescue::{BEFORE_SESSION, take_snapshot};
use crate::session::RecordedBaseline;
use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_git::HistoryPoint;
use watchdog_process::git_program::{describe_failure, new_git_run};
use watchdog_store::uncommitted;

use super::command_env::CommandEnv;
use super::lost_ignored::describe_bound;
use super::open_worktree::OpenWorktree;
use super::siblings::keep_siblings;

/// The list of refs in a bundle is read up to this many bytes.
const LARGEST_LIST: u64 = 64 << 20;

/// Writes the bundle where it is wanted, and keeps what is uncommitted in other worktrees. Nothing depends on it.
pub fn keep_beside(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    recorded: &mut RecordedBaseline,
    settings: &RescueSettings,
) {
    if let Some(bound) = describe_bound(&recorded.work.ignored) {
        command_env.tell(&bound);
    }
    if let Some(id) = recorded.clone_id.clone() {
        let bundle = command_env.state.bundle(&id);
        if settings.bundle
            && let Err(error) = write_bundle(open, recorded, &bundle, settings)
        {
            command_env.tell(&format!("cannot write the bundle of all refs: {error}"));
        }
        let text = bundle.to_string_lossy().into_owned();
        recorded.work.bundle = bundle.exists().then_some(text);
    }
    keep_siblings(command_env, open, recorded, settings);
    let (store, id) = (open.store.as_ref(), &open.worktree_id);
    let (spec, work) = (&recorded.spec, &recorded.work);
    let changed = uncommitted::change_work(store, id, spec, recorded.at, |edge| {
        edge.siblings.clone_from(&work.siblings);
        edge.unread_siblings.clone_from(&work.unread_siblings);
        edge.bundle.clone_from(&work.bundle);
    });
    if let Err(error) = changed {
        command_env.tell(&format!("cannot record what is beside the work: {error}"));
    }
}

/// Writes a bundle of all refs, unless the one that is there has them. A bundle with commits that the repository lacks stays beside it.
fn write_bundle(
    open: &OpenWorktree,
    recorded: &RecordedBaseline,
    bundle: &Path,
    settings: &RescueSettings,
) -> Result<(), String> {
    let tips = recorded.refs.tips().map_err(|error| error.to_string())?;
    let is_ref = |name: &str| name.starts_with("refs/") && !name.contains("@{");
    let mut wanted: BTreeSet<(String, String)> = (tips.iter())
        .filter(|(name, _)| is_ref(name))
        .map(|(name, id)| (name.to_owned(), id.to_owned()))
        .collect();
    let detached = match &recorded.point {
        HistoryPoint::Commit(commit) if open.worktree.branch().is_none() => Some(commit.clone()),
        _ => None,
    };
    wanted.extend(
        detached
            .iter()
            .map(|commit| ("HEAD".to_owned(), commit.clone())),
    );
    if wanted.is_empty() {
        return Ok(());
    }
    // The session's first snapshot finds this one.
    if settings.mode != RescueMode::Off {
        let request = (recorded.spec.as_str(), recorded.at, BEFORE_SESSION);
        let taken = take_snapshot(&open.worktree, request, settings)
            .ok()
            .flatten();
        wanted.extend(taken.map(|snapshot| (snapshot.name, snapshot.commit)));
    }
    let present = read_bundled_refs(bundle);
    let is_extra = |(name, _): &&(String, String)| {
        is_ref(name) && !name.starts_with("refs/watchdog/") && !name.ends_with("/HEAD")
    };
    if wanted.is_subset(&present)
        && (present.iter().filter(is_extra)).all(|bundled| wanted.contains(bundled))
    {
        return Ok(());
    }
    let fail = |error: std::io::Error| error.to_string();
    let folder = bundle.parent().unwrap_or(bundle);
    fs::create_dir_all(folder).map_err(fail)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(fail)?;
    let aside = bundle.with_extension(format!("{}.tmp", std::process::id()));
    let path = aside.to_string_lossy();
    let mut args = vec!["bundle", "create", path.as_ref(), "--all"];
    args.extend(detached.as_ref().map(|_| "HEAD"));
    let written = new_git_run(open.root(), &args, &[], true, settings.timeout)
        .run()
        .map_err(|error| error.to_string())
        .and_then(
            |finished| match finished.exit.success() && !finished.timed_out {
                true => Ok(()),
                false => Err(describe_failure("git", &finished, settings.timeout)),
            },
        )
        .and_then(|()| {
            fs::set_permissions(&aside, Permissions::from_mode(0o600)).map_err(fail)?;
            File::open(&aside)
                .and_then(|file| file.sync_all())
                .map_err(fail)
        });
    if let Err(error) = written {
        // It may not be there.
        let _ = fs::remove_file(&aside);
        return Err(error);
    }
    let lacks = |(name, id): &(String, String)| {
        name.starts_with("refs/heads/") && !open.worktree.has_commit(id)
    };
    if present.iter().any(lacks) {
        let seconds = crate::clock::now().as_second();
        fs::rename(
            bundle,
            bundle.with_extension(format!("lost-{seconds}.bundle")),
        )
        .map_err(fail)?;
    }
    fs::rename(&aside, bundle).map_err(fail)?;
    // A bundle of a shallow clone does not say that it is one.
    let (shallow, beside) = (
        open.worktree.common_dir().join("shallow"),
        bundle.with_extension("shallow"),
    );
    match fs::copy(&shallow, &beside) {
        Err(error) if error.kind() == ErrorKind::NotFound => match fs::remove_file(&beside) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(fail(error)),
            _ => Ok(()),
        },
        copied => copied.map(drop).map_err(fail),
    }
}

/// The refs in a bundle, each with its object; empty where there is none, or none that can be read.
fn read_bundled_refs(bundle: &Path) -> BTreeSet<(String, String)> {
    let Ok(file) = File::open(bundle) else {
        return BTreeSet::new();
    };
    let lines = BufReader::new(file.take(LARGEST_LIST)).split(b'\n');
    let list = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty());
    list.filter(|line| !matches!(line[0], b'#' | b'@' | b'-'))
        .filter_map(|line| {
            let line = String::from_utf8(line).ok()?;
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), id.to_owned()))
        })
        .collect()
}
