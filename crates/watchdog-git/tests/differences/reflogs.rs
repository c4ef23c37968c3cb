//! Reflogs: each entry that git lists, with its commit and what its message means.
//!
//! Different by design: a line that git calls damaged, but whose two ids can be read (no time, no address, no line end yet), counts here: it
//! can only take credit away.

use std::collections::BTreeMap;

use watchdog_git::fuzzed_readers::{meaning_of, read_movements};

use crate::BATCH;
use crate::drawn::DrawnNumbers;
use crate::repository::ScratchRepository;

const MESSAGES: &[&str] = &[
    "commit: x",
    "commit (amend): x: y",
    "commit (initial): x",
    "commit (merge): Merge branch 'a' into b",
    "merge side: Fast-forward",
    "merge side: Merge made by the 'ort' strategy.",
    "pull: Fast-forward",
    "pull --rebase (pick): x",
    "rebase (finish): returning to refs/heads/main",
    "reset: moving to HEAD~1",
    "checkout: moving from main to x",
    "clone: from https://example.com/x",
    "cherry-pick: fast-forward",
    "update by push",
    "mine: moving to other",
    "a\ttab",
    "ends with CR\r",
    " begins with a blank",
    "é \u{1f600}",
    "",
];

/// One line of a log, and whether git calls it an entry.
struct DrawnLine {
    text: String,
    commit: String,
    /// What git says of it.
    is_entry: bool,
    /// Whether it counts here although git calls it damaged.
    counts_here: bool,
}

fn line(drawn: &mut DrawnNumbers, commits: &[String], is_last: bool) -> DrawnLine {
    let null = "0".repeat(40);
    let old = if drawn.below(4) == 0 {
        null
    } else {
        drawn.one_of(commits).clone()
    };
    let commit = drawn.one_of(commits).clone();
    let message = *drawn.one_of(MESSAGES);
    let who = *drawn.one_of(&["A <a@example.com>", " <>", "A B <a b@c>", "é <é@é>"]);
    let zone = *drawn.one_of(&["+0000", "-0730", "+9999"]);
    let time = 1 + drawn.below(2_000_000_000);
    let well = format!("{old} {commit} {who} {time} {zone}\t{message}\n");
    let (text, is_entry, counts_here) = match drawn.below(20) {
        0 => (format!("{old} {commit} {who} {time} {zone}\n"), true, true),
        1 => (
            format!("{old} {commit} {who} 0 {zone}\t{message}\n"),
            false,
            true,
        ),
        2 => (format!("{old} {commit} nobody\t{message}\n"), false, true),
        3 => (
            format!("{} {commit} {who} {time} {zone}\t{message}\n", &old[..39]),
            false,
            false,
        ),
        4 => (
            format!("{old}  {commit} {who} {time} {zone}\t{message}\n"),
            false,
            false,
        ),
        5 => ("\n".into(), false, false),
        6 => (format!("{message}\n"), false, false),
        7 if is_last => (well.trim_end_matches('\n').to_owned(), false, true),
        8 => (
            well.to_uppercase()
                .replace(&message.to_uppercase(), message),
            true,
            true,
        ),
        _ => (well, true, true),
    };
    DrawnLine {
        text,
        commit,
        is_entry,
        counts_here,
    }
}

/// A batch of logs, each of a branch of its own.
pub fn batch(drawn: &mut DrawnNumbers) {
    let repository = ScratchRepository::new();
    let commits = repository.commits(6);
    let mut logs = Vec::new();
    let mut updates = String::new();
    for n in 0..BATCH {
        let count = drawn.below(7);
        let lines: Vec<DrawnLine> = (0..count)
            .map(|at| line(drawn, &commits, at + 1 == count))
            .collect();
        updates.push_str(&format!("create refs/heads/case{n} {}\n", commits[0]));
        logs.push(lines);
    }
    repository.git_with(
        &["-c", "core.logAllRefUpdates=false", "update-ref", "--stdin"],
        updates.as_bytes(),
    );
    let file = |n: usize| format!(".git/logs/refs/heads/case{n}");
    for (n, lines) in logs.iter().enumerate() {
        repository.write(
            file(n),
            lines
                .iter()
                .map(|line| line.text.as_str())
                .collect::<String>(),
        );
    }
    let listed = repository.git(&[
        "log",
        "-g",
        "--branches=case*",
        "--format=%gD%x00%H%x00%gs%x01",
    ]);
    let mut by_git: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for entry in listed.split("\u{1}\n").filter(|entry| !entry.is_empty()) {
        let mut parts = entry.splitn(3, '\0');
        // By its shortest name, or by the whole: that depends on the version of git.
        let name = parts
            .next()
            .and_then(|name| name.rsplit('/').next())
            .and_then(|name| name.split('@').next());
        let (name, commit, message) = (
            name.expect("a name"),
            parts.next().expect("a commit"),
            parts.next().expect("a message"),
        );
        by_git.entry(name).or_default().insert(0, (commit, message));
    }
    for (n, lines) in logs.iter().enumerate() {
        let read = read_movements(&repository.root.join(file(n))).expect("it is there");
        let shown: String = lines.iter().map(|line| line.text.as_str()).collect();
        let counting: Vec<&DrawnLine> = lines.iter().filter(|line| line.counts_here).collect();
        assert_eq!(
            read.iter()
                .map(|movement| &movement.new)
                .collect::<Vec<_>>(),
            counting.iter().map(|line| &line.commit).collect::<Vec<_>>(),
            "{shown}"
        );
        let ours = read
            .iter()
            .zip(&counting)
            .filter(|(_, line)| line.is_entry)
            .map(|(movement, _)| movement);
        let name = format!("case{n}");
        let theirs = by_git.remove(name.as_str()).unwrap_or_default();
        let ours: Vec<_> = ours
            .map(|movement| (movement.new.as_str(), movement.meaning.clone()))
            .collect();
        let theirs: Vec<_> = theirs
            .into_iter()
            .map(|(commit, message)| (commit, meaning_of(message)))
            .collect();
        assert_eq!(ours, theirs, "{shown}");
    }
}
