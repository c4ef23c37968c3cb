//! The index of a worktree: whatever it holds, a file that it does not name is uncommitted, and what it names is not lost from sight.

use watchdog_git::Worktree;
use watchdog_git::fuzzed_readers::with_checksum;

use super::scratch::in_thread;

/// A file of the work tree, by a name that no mutation makes.
const UNNAMED: &str = "not-in-the-index";

/// Reads an input as the index of a repository, with a checksum that holds.
pub fn run(input: &[u8]) {
    let root = in_thread(|folder| folder.repository());
    std::fs::write(root.join(UNNAMED), "work\n").expect("a scratch file can be written");
    std::fs::write(root.join("a"), "a\n").expect("a scratch file can be written");
    std::fs::write(root.join(".git/index"), with_checksum(input))
        .expect("a scratch file can be written");
    let worktree =
        Worktree::open(&root).expect("a damaged index keeps no repository from being opened");
    let (changes, paths) = match worktree.changes_with_paths() {
        Ok(read) => read,
        Err(error) => return assert!(!error.to_string().is_empty(), "an error says why"),
    };
    assert!(
        changes.any() || !changes.degraded.is_empty(),
        "a worktree without a commit that has a file is never clean"
    );
    if !input
        .windows(UNNAMED.len())
        .any(|part| part == UNNAMED.as_bytes())
    {
        assert!(
            paths.iter().any(|path| path == UNNAMED),
            "{UNNAMED} is in no commit and not listed: {paths:?}"
        );
    }
    assert!(
        paths.windows(2).all(|pair| pair[0] < pair[1]),
        "each path once, in order: {paths:?}"
    );
    let again = Worktree::open(&root)
        .and_then(|worktree| worktree.changes_with_paths())
        .expect("what was read is read again");
    assert_eq!(again, (changes, paths));
}
