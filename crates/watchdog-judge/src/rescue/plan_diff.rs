//! The diff that the agent sees when it plans commits: bounded, and without secrets.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_git::{Error, Snapshot, SnapshotPath, Worktree};
use watchdog_process::git_program::new_git_run;

/// Bytes of all diffs together.
const ALL: usize = 40 << 10;
/// Bytes that even the last of many files gets.
const LEAST: usize = 400;
/// Bytes of names on one command line.
const NAMES: usize = 64 << 10;
/// Bytes of git's output that are kept.
const KEEP: usize = 2 << 20;
/// The start of a diff.
const HEAD: &str = "diff --git ";

/// The diff of these paths between the HEAD of the snapshot and the snapshot. Empty where git cannot make one: a plan can
/// be made of names alone.
///
/// # Errors
/// When the snapshot's own commits cannot be read.
pub(super) fn build_plan_diff(
    worktree: &Worktree,
    snapshot: &Snapshot,
    paths: &[&SnapshotPath],
    deadline: Duration,
) -> Result<String, Error> {
    let before = worktree.tree_before(snapshot)?;
    // Compares objects, never files: runs no program that attributes or configuration name.
    let fixed = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--find-renames",
        "--unified=2",
        "--submodule=short",
    ];
    let mut program = new_git_run(
        worktree.root(),
        &[&fixed[..], &[&before, &snapshot.tree, "--"]].concat(),
        &[],
        true,
        deadline,
    );
    program
        .argv
        .extend(take_fitting_paths(paths, NAMES).map(|name| OsStr::from_bytes(name).to_owned()));
    program.keep = KEEP;
    match program.run() {
        // In an output without its middle the start of a secret may be missing.
        Ok(finished) if finished.exit.success() && finished.stdout.dropped == 0 => {
            Ok(shorten_diff(
                &mask_secrets(&String::from_utf8_lossy(&finished.stdout.bytes)),
                ALL,
            ))
        }
        Ok(_) | Err(_) => Ok(String::new()),
    }
}

/// The first names that fit into so many bytes, each with the byte that ends it.
fn take_fitting_paths<'p>(
    paths: &[&'p SnapshotPath],
    mut room: usize,
) -> impl Iterator<Item = &'p [u8]> {
    paths.iter().map_while(move |path| {
        room = room.checked_sub(path.path.len() + 1)?;
        Some(path.path.as_slice())
    })
}

/// Cuts a diff to about `all` bytes, file by file, so that each is seen.
fn shorten_diff(diff: &str, all: usize) -> String {
    let starts: Vec<usize> = diff
        .match_indices(HEAD)
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || diff.as_bytes()[at - 1] == b'\n')
        .chain([diff.len()])
        .collect();
    let mut out = String::new();
    let (mut room, mut files) = (all, starts.len() - 1);
    for part in starts.windows(2) {
        let file = &diff[part[0]..part[1]];
        let share = (room / files.max(1)).max(LEAST);
        files -= 1;
        if out.len() > all {
            break;
        }
        let end = if file.len() <= share {
            file.len()
        } else {
            file[..file.floor_char_boundary(share)]
                .rfind('\n')
                .map_or(0, |at| at + 1)
        };
        out.push_str(&file[..end]);
        if end < file.len() {
            out.push_str(&format!("... {} more lines\n", file[end..].lines().count()));
        }
        room = room.saturating_sub(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_a_long_diff_is_seen() {
        let file = |name: &str, lines: usize| {
            format!(
                "{HEAD}a/{name} b/{name}\n{}",
                "+a line of text\n".repeat(lines)
            )
        };
        let diff = file("small", 2) + &file("large", 5000) + &file("last", 3);
        let short = shorten_diff(&diff, 4000);
        assert!(short.len() < 5000, "{}", short.len());
        for part in ["a/small", "a/large", "more lines\n", &file("last", 3)] {
            assert!(short.contains(part), "{part}");
        }
        assert_eq!(shorten_diff(&diff, 1 << 20), diff);
        assert_eq!(shorten_diff("", 10), "");
    }

    #[test]
    fn file_diff_uses_remaining_room_and_counts_rest() {
        let whole = format!("{HEAD}a/x b/x\n{}", "+a line of text\n".repeat(100));
        assert_eq!(
            shorten_diff(&whole, whole.len()),
            whole,
            "the only file gets all of it"
        );
        assert_eq!(
            shorten_diff(&whole, whole.len() - 1).lines().last(),
            Some("... 1 more lines")
        );
        let first = format!("{HEAD}{}\n", "a".repeat(LEAST - HEAD.len() - 1));
        let both = format!("{first}{HEAD}a/y b/y\n");
        assert_eq!(
            shorten_diff(&both, first.len()),
            both,
            "the least is for each"
        );
    }

    #[test]
    fn file_names_fill_at_most_a_command_line() {
        let path = |name: &str| SnapshotPath {
            path: name.into(),
            text: name.into(),
            kind: watchdog_git::SnapshotPathKind::File,
            bytes: 0,
            untracked: false,
            hidden: false,
            secret: false,
            nested: false,
        };
        let all = ["abcd", "efgh", "i"].map(path);
        let all: Vec<&SnapshotPath> = all.iter().collect();
        for (room, fit) in [(12, 3), (11, 2), (10, 2), (9, 1), (0, 0)] {
            assert_eq!(take_fitting_paths(&all, room).count(), fit, "{room}");
        }
    }

    #[test]
    fn very_many_files_do_not_make_it_long() {
        let diff: String = (0..2000)
            .map(|n| format!("{HEAD}a/{n} b/{n}\n{}", "+ä\n".repeat(400)))
            .collect();
        assert!(shorten_diff(&diff, 4000).len() < 4000 + 2 * LEAST);
    }
}
