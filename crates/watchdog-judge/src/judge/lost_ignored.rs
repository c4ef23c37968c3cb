//! Ignored files that no tool made, and that are gone at the end of a session: which, how large, and which snapshot has them.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;

use watchdog_facts::display::{escape_to_one_line, name_first, plural};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::ignored_files::{IgnoredFiles, LostFile};
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_git::Worktree;

/// How many are named, and how many a verdict lists.
const NAMED: usize = 3;
const LISTED: usize = 100;

/// The files of the session's begin that are gone, with the note about them.
pub fn find_lost_ignored(
    worktree: &Worktree,
    recorded: &IgnoredFiles,
    since: Timestamp,
    commands: &WorktreeCommands,
) -> Option<(Vec<LostFile>, Degradation)> {
    let restore = |id: &str| commands.watchdog(&format!("rescue restore {}", shell_word(id)));
    find_lost_at(worktree, worktree.root(), (recorded, since), restore)
}

/// The same for a worktree at `root`, which may be gone; `restore` writes the command for a snapshot.
pub fn find_lost_at(
    worktree: &Worktree,
    root: &Path,
    (recorded, since): (&IgnoredFiles, Timestamp),
    restore: impl Fn(&str) -> String,
) -> Option<(Vec<LostFile>, Degradation)> {
    let detail = match worktree.find_lost_ignored(root, recorded, since) {
        Ok(lost) if lost.is_empty() => return None,
        Ok(mut lost) => {
            let detail = describe_lost(&lost, recorded, restore);
            lost.truncate(LISTED);
            return Some((lost, Degradation::new(WarningCode::IgnoredLost, detail)));
        }
        Err(error) => format!("cannot tell whether ignored files are gone: {error}"),
    };
    Some((
        Vec::new(),
        Degradation::new(WarningCode::IgnoredLost, detail),
    ))
}

fn describe_lost(
    lost: &[LostFile],
    recorded: &IgnoredFiles,
    restore: impl Fn(&str) -> String,
) -> String {
    let described: Vec<String> = lost.iter().map(LostFile::describe).collect();
    let mut by_snapshot: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for file in lost {
        *by_snapshot.entry(file.snapshot.as_deref()).or_default() += 1;
    }
    let pronoun = |count: usize| match (count, lost.len()) {
        (1, 1) => "it".to_owned(),
        (count, all) if count == all => "them".to_owned(),
        (count, _) => format!("{count} of them"),
    };
    let copies: Vec<String> = (by_snapshot.iter().rev())
        .map(|(snapshot, count)| match snapshot {
            Some(id) => format!("bring {} back with: {}", pronoun(*count), restore(id)),
            None => format!(
                "no snapshot has {}, see rescue.keep_ignored",
                pronoun(*count)
            ),
        })
        .collect();
    let are = if lost.len() == 1 { "is" } else { "are" };
    let bound = describe_bound(recorded).map_or(String::new(), |bound| format!("; {bound}"));
    format!(
        "{} from before the session {are} gone or empty: {} ({}){bound}",
        plural(lost.len() as u64, "ignored file"),
        name_first(&described, NAMED),
        copies.join("; ")
    )
}

/// Names the path at which the record of ignored files ends, if it has not all of them.
pub fn describe_bound(recorded: &IgnoredFiles) -> Option<String> {
    let path = escape_to_one_line(recorded.beyond.as_ref()?);
    let count = plural(recorded.files.len() as u64, "ignored file");
    Some(format!("the record has {count}, and not '{path}' and more"))
}
