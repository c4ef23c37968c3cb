//! The other worktrees of a repository, and of those that have it as a submodule, which a session here can disturb: keeps what is uncommitted there before it begins, and names at
//! its end what is gone. They are not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::origins::left_commit_words;
use crate::clock::now;
use crate::rescue::take_snapshot;
use crate::session::{RecordedBaseline, record_lives, session_lives};
use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_facts::display::{escape_to_one_line, name_first};
use watchdog_facts::session_work::SiblingWork;
use watchdog_facts::shell_line::{WorktreeCommands, shell_path, shell_word};
use watchdog_git::{
    ContentAtBaseline, Error, FoundWorktree, ListedWorktree, OriginEvidence, Worktree,
    WorktreeState, is_absent, named_git_dirs, refuse_home_folder,
};
use watchdog_store::{LocalStore, baseline, session};

use super::command_env::CommandEnv;
use super::lost_ignored::find_lost_at;
use super::open_worktree::OpenWorktree;

/// More worktrees than this are not looked at.
const MOST: usize = 20;

/// How long a session waits for them to be looked at.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many files of one are named, and how many of its ignored files are recorded.
const NAMED: usize = 3;
const MOST_IGNORED: usize = 200;

/// Keeps what is uncommitted in the other worktrees that are there and have no live session. Tells and records which it did not look at;
/// nothing depends on it.
pub fn keep_siblings(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    recorded: &mut RecordedBaseline,
    settings: &RescueSettings,
) {
    let store = open.store.as_ref();
    let is_own = |git_dir: &Path| git_dir == open.worktree.git_dir();
    let mut listed = open.worktree.list_neighbours();
    let repositories: BTreeSet<PathBuf> = (listed.iter())
        .map(|sibling| sibling.common_dir.clone())
        .collect();
    // The others never take the time of this.
    listed.sort_by_key(|sibling| !is_own(&sibling.git_dir));
    if settings.mode == RescueMode::Off {
        return;
    }
    let (mut unread, mut siblings, mut missed) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut listed = listed.into_iter();
    while missed.len() < MOST
        && let Some(sibling) = listed.next()
    {
        let is_idle = is_own(&sibling.git_dir)
            || !session_lives(store, &sibling.worktree_id()).unwrap_or(true);
        let sibling = sibling.read_state();
        unread.extend(describe_unreadable(&sibling));
        // This one counts for the files of its submodules: everything else of it is recorded by content.
        let has_work = !is_own(&sibling.git_dir) || sibling.root.join(".gitmodules").exists();
        if (is_idle && has_work && sibling.standing == WorktreeState::There)
            && missed.insert(sibling.root.clone())
        {
            siblings.push(sibling);
        }
    }
    let subjects: Vec<_> = siblings
        .into_iter()
        .map(|sibling| {
            let latest = baseline::read_latest_baseline(store, &sibling.worktree_id());
            let spec = latest.ok().flatten().map(|(spec, _)| spec);
            match is_own(&sibling.git_dir) {
                true => (sibling, Some(recorded.spec.clone()), "before the session"),
                false => (sibling, spec, "before a session of another worktree"),
            }
        })
        .collect();
    let (count, at, settings) = (subjects.len(), recorded.at, settings.clone());
    let (sender, receiver) = channel();
    // A worktree whose files have to be read as a whole holds up no session.
    let thread = std::thread::Builder::new();
    let _ = thread.name("siblings".into()).spawn(move || {
        for (sibling, spec, why) in subjects {
            let work = keep_sibling(&sibling, spec, (at, why), &settings);
            if sender.send((sibling, work)).is_err() {
                break;
            }
        }
    });
    let deadline = Instant::now() + PATIENCE;
    // A thread that could not be had hung up already.
    for _ in 0..count {
        let patience = deadline.saturating_duration_since(Instant::now());
        let Ok((sibling, work)) = receiver.recv_timeout(patience) else {
            break;
        };
        missed.remove(&sibling.root);
        // Worktrees inside of this one are listed by themselves.
        let is_listed = |folder: &Path| {
            named_git_dirs(&sibling.root.join(folder))
                .is_some_and(|(_, repository)| repositories.contains(&repository))
        };
        let work = work.map(|mut work| {
            work.ignored.files.retain(|path, _| {
                !is_own(&sibling.git_dir) && !list_folders_above(path).any(is_listed)
            });
            work
        });
        match work {
            Ok(work) if work == SiblingWork::default() => {}
            Ok(mut work) => {
                work.root = sibling.root.to_string_lossy().into_owned();
                let outer = Some(sibling.common_dir.as_path());
                let outer = outer.filter(|outer| *outer != open.worktree.common_dir());
                work.outer = outer.map(|outer| outer.to_string_lossy().into_owned());
                recorded.work.siblings.insert(sibling.worktree_id(), work);
            }
            Err(error) => unread.push(format!(
                "cannot keep what is uncommitted in {}: {error}",
                sibling.root.display()
            )),
        }
    }
    // Of very many, those that are gone are not told apart.
    for sibling in listed
        .by_ref()
        .take(MOST)
        .map(|sibling| sibling.read_state())
    {
        unread.extend(describe_unreadable(&sibling));
        if sibling.standing == WorktreeState::There {
            missed.insert(sibling.root);
        }
    }
    let mut named: Vec<String> = missed
        .iter()
        .map(|root| root.display().to_string())
        .collect();
    named.resize(named.len() + listed.len(), String::new());
    if !named.is_empty() {
        unread.push(format!(
            "no look at {}: watchdog looks at {MOST} worktrees, for {} s",
            quote_first(&named),
            PATIENCE.as_secs()
        ));
    }
    unread
        .iter()
        .for_each(|sentence| command_env.tell(sentence));
    recorded.work.unread_siblings = unread;
}

/// A sentence about a worktree that is there and that git cannot use.
fn describe_unreadable(sibling: &FoundWorktree) -> Option<String> {
    match &sibling.standing {
        WorktreeState::Broken { why } | WorktreeState::Unlisted { why } => Some(format!(
            "cannot keep what is uncommitted in {}: {why}",
            sibling.root.display()
        )),
        WorktreeState::There | WorktreeState::Gone { .. } | WorktreeState::Nothing { .. } => None,
    }
}

fn keep_sibling(
    sibling: &FoundWorktree,
    spec: Option<String>,
    (at, why): (Timestamp, &str),
    settings: &RescueSettings,
) -> Result<SiblingWork, Error> {
    let there = Worktree::open(&sibling.root)?;
    // Worktrees without a branch get a name each, or the state of one would count as a change of the next.
    let name = sibling
        .git_dir
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let spec = spec
        .or_else(|| there.branch())
        .unwrap_or_else(|| format!("detached/{name}"));
    let (left_commits, _) = there.keep_submodule_commits(None, at);
    let (changed, mut ignored) = there.changed_and_hand_made()?;
    while ignored.files.len() > MOST_IGNORED {
        ignored.beyond = ignored.files.pop_last().map(|(path, _)| path);
    }
    let mut settings = settings.clone();
    // A home folder has caches beside the files that a repository tracks.
    if refuse_home_folder(&sibling.root, None).is_err() {
        settings.max_snapshot_bytes = Some(0);
    }
    let snapshot = match changed.is_empty() {
        false => take_snapshot(&there, (&spec, at, why), &settings)?,
        true => None,
    };
    Ok(SiblingWork {
        snapshot: snapshot.map(|snapshot| snapshot.name),
        outer: None,
        ignored,
        root: String::new(),
        left_behind: left_commits.into_iter().map(|commit| commit.id).collect(),
        submodules: there.list_submodule_heads(),
    })
}

/// A sentence about each commit that its branches left, and each of the other worktrees in which work of the beginning is gone. A session
/// of its own answers for what it did there.
pub fn describe_vanished(
    worktree: &Worktree,
    store: &dyn LocalStore,
    (siblings, since, evidence): (&BTreeMap<String, SiblingWork>, Timestamp, &OriginEvidence),
    commands: &WorktreeCommands,
) -> Vec<String> {
    let mut sentences = match worktree.find_lost_branches(evidence, now()) {
        Ok(lost) => lost.iter().map(left_commit_words).collect(),
        Err(error) => vec![format!(
            "cannot tell whether commits of branches are gone: {error}"
        )],
    };
    if siblings.is_empty() {
        return sentences;
    }
    let neighbours = worktree.list_neighbours();
    for (id, work) in siblings {
        let is_own = *id == worktree.worktree_id();
        let had_session = session::of_worktree(store, id).map_or(true, |sessions| {
            (sessions.iter()).any(|(_, record)| record.started_at >= since || record_lives(record))
        });
        if had_session && !is_own {
            continue;
        }
        sentences.extend((work.submodules.iter()).filter_map(describe_repository));
        let listed = neighbours.iter().find(|listed| listed.worktree_id() == *id);
        let root = (listed.map(ListedWorktree::read_state))
            .filter(|sibling| sibling.standing == WorktreeState::There)
            .map(|sibling| sibling.root);
        let evidence = OriginEvidence::default().with_content(ContentAtBaseline {
            at: Some(since),
            left_behind: work.left_behind.clone(),
            ..ContentAtBaseline::default()
        });
        let opened = root.as_deref().filter(|_| !is_own);
        let opened = opened.and_then(|root| Worktree::open(root).ok());
        if let Some(there) = &opened {
            let (mut left_commits, _) = there.keep_submodule_commits(Some(&evidence), now());
            left_commits.retain(|commit| commit.git_dir != worktree.common_dir());
            sentences.extend(left_commits.iter().map(left_commit_words));
        }
        let outer_dir = work.outer.as_deref().map(PathBuf::from);
        let outer = (neighbours.iter())
            .filter(|listed| outer_dir.as_ref() == Some(&listed.common_dir))
            .find_map(|listed| Worktree::open(&listed.read_state().root).ok());
        let commands = match &outer {
            Some(outer) => &commands.clone().with_worktree(outer.root()),
            None => commands,
        };
        let keeper = outer.as_ref().unwrap_or(worktree);
        if !work.ignored.is_empty() {
            let folder = root.as_deref().unwrap_or(Path::new(&work.root));
            let folder_state = (folder, root.is_some());
            let restore = |id: &str| restore_command(commands, folder_state, id, false);
            let there = opened.as_ref().unwrap_or(keeper);
            let lost = find_lost_at(there, folder, (&work.ignored, since), restore);
            let name = escape_to_one_line(&folder.display().to_string());
            sentences.extend(lost.map(|(_, note)| format!("in {name}, {}", note.detail)));
        }
        let sentence = (work.snapshot.as_deref()).and_then(|snapshot| {
            let own_folder = worktree.root();
            describe_files(keeper, (root, is_own, own_folder), snapshot, commands).transpose()
        });
        sentences.extend(sentence.map(|sentence| {
            sentence.unwrap_or_else(|error| {
                format!("cannot tell whether work in another worktree is gone: {error}")
            })
        }));
    }
    sentences
}

/// The sentence about the files of a worktree, whose folder is at `root` if it is there, or about those in the submodules of this one; `None`
/// where none is gone. Those in `own_folder` are the session's own.
fn describe_files(
    worktree: &Worktree,
    (root, is_own, own_folder): (Option<PathBuf>, bool, &Path),
    snapshot: &str,
    commands: &WorktreeCommands,
) -> Result<Option<String>, Error> {
    let info = worktree
        .snapshot_info(snapshot)
        .map_err(|error| Error::Read {
            doing: format!("look for the snapshot {snapshot}"),
            why: error.to_string(),
        })?;
    let is_there = root.is_some();
    let root = root.unwrap_or_else(|| PathBuf::from(&info.worktree));
    let mut vanished = worktree.vanished_from(&root, snapshot)?;
    let is_inside = |path: &str| root != own_folder && root.join(path).starts_with(own_folder);
    vanished.retain(|(path, in_submodule)| (*in_submodule || !is_own) && !is_inside(path));
    if vanished.is_empty() {
        return Ok(None);
    }
    // Files of a submodule come back where its repository is checked out.
    let has_submodule =
        |path: &str| list_folders_above(path).any(|folder| root.join(folder).join(".git").exists());
    let is_aside =
        (vanished.iter()).any(|(path, in_submodule)| *in_submodule && !has_submodule(path));
    let restore = restore_command(commands, (&root, is_there), &info.id, is_aside);
    let named: Vec<String> = vanished.into_iter().map(|(path, _)| path).collect();
    Ok(Some(format!(
        "uncommitted work in the worktree {} is gone since the session began: {} (bring it back with: {restore})",
        escape_to_one_line(&root.display().to_string()),
        quote_first(&named)
    )))
}

/// The folders that a path of a worktree is in, below the worktree's own.
fn list_folders_above(path: &str) -> impl Iterator<Item = &Path> {
    let folders = Path::new(path).ancestors().skip(1);
    folders.filter(|folder| !folder.as_os_str().is_empty())
}

/// The command that restores a snapshot of the worktree at `root`, or beside that folder where another thing is there than a worktree.
fn restore_command(
    commands: &WorktreeCommands,
    (root, is_there): (&Path, bool),
    id: &str,
    is_aside: bool,
) -> String {
    let mut restore = format!("rescue restore {}", shell_word(id));
    if is_aside && is_there || !is_there && !is_absent(root) {
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let beside = root.with_file_name(format!("{name}-restored"));
        restore = format!("{restore} --to {}", shell_path(&beside));
    } else if !is_there {
        return commands.restore_worktree(id, root);
    }
    match is_there {
        true => commands.clone().with_worktree(root).watchdog(&restore),
        false => commands.watchdog(&restore),
    }
}

/// The sentence about a submodule's repository that is gone. Its objects went with it, so that only their names are left.
fn describe_repository(
    (git_dir, (name, commits)): (&String, &(String, Vec<String>)),
) -> Option<String> {
    let had = match commits.is_empty() {
        true => String::new(),
        false => format!("; it had {} then", quote_first(commits)),
    };
    Worktree::is_submodule_gone(Path::new(git_dir), commits).then(|| {
        format!(
            "the repository {} of submodule {} is gone since the session began, with each commit that was nowhere else{had}",
            escape_to_one_line(git_dir),
            escape_to_one_line(name)
        )
    })
}

/// The first of these, quoted, and how many more there are.
fn quote_first(names: &[String]) -> String {
    let quote = |name: &String| format!("'{}'", escape_to_one_line(name));
    name_first(&names.iter().map(quote).collect::<Vec<_>>(), NAMED)
}
