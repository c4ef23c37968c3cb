//! The file of packed refs: each tip that is read stands there, and a file that makes no sense is an error and not an empty list.

use watchdog_git::Worktree;

use super::scratch::in_thread;

/// Reads an input as the packed refs of a repository.
pub fn run(input: &[u8]) {
    let root = in_thread(|folder| folder.repository());
    std::fs::write(root.join(".git/packed-refs"), input).expect("a scratch file can be written");
    let worktree =
        Worktree::open(&root).expect("damaged refs keep no repository from being opened");
    let _ = worktree.head();
    let tips = match worktree.ref_tips() {
        Ok(tips) => tips,
        Err(error) => return assert!(!error.to_string().is_empty(), "an error says why"),
    };
    assert!(
        tips.windows(2).all(|pair| pair[0] <= pair[1]),
        "the tips are sorted"
    );
    for (name, id) in tips.iter().filter(|(name, _)| name.starts_with("refs/")) {
        assert!(
            id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{name} is at {id}"
        );
        let line = format!("{id} {name}");
        // A name that is no UTF-8 is read as text that has marks for what it could not show.
        let stands_there = input
            .windows(line.len())
            .any(|part| part.eq_ignore_ascii_case(line.as_bytes()));
        assert!(
            stands_there || name.contains('\u{fffd}'),
            "{line} is not in the file"
        );
    }
    let again = Worktree::open(&root)
        .and_then(|worktree| worktree.ref_tips())
        .expect("what was read is read again");
    assert_eq!(again, tips);
}
