//! Reads reflogs: the record of the movements of HEAD. Movements without an entry are unknown.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::error::Error;
use watchdog_system::{is_missing, open_regular_file};

/// A movement of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReflogEntry {
    /// Its target before; null for a new ref.
    pub old: ObjectId,
    /// Its target after.
    pub new: ObjectId,
    /// By what kind of action.
    pub action: ReflogAction,
    /// Whether the message says that the new commit takes the place of the old one.
    pub amends: bool,
    /// The subject in a message of [`ReflogAction::Made`], if git writes the same words for a mere movement.
    pub moving_words: Option<String>,
    /// The names of merged revisions, and of targets of a reset or rebase, as the message has them.
    pub sources: Vec<String>,
    /// When it was written, in seconds since 1970, by the clock of whoever wrote it.
    pub seconds: i64,
    /// The branch or commit that a checkout left.
    pub moved_from: Option<String>,
    /// Whether a push moved a remote-tracking ref.
    pub pushed: bool,
    /// Whether it came out of another repository, or may have: by a fetch, a pull, a push or a clone.
    pub fetched: bool,
    /// A name of the whole line: a commit on a branch writes the same line into the log of HEAD and that of the branch.
    pub line: u64,
}

/// The meaning of an entry's message for the commit that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReflogAction {
    /// git made the commit here, from work done here.
    Made,
    /// git made the commit here, by joining histories without anyone's help.
    Merged,
    /// The commit was there already.
    Moved,
    /// The message has no known meaning.
    Unknown,
}

impl ReflogAction {
    /// Whether the commit that the entry arrives at was made by the action.
    pub(crate) fn makes(self) -> bool {
        matches!(self, ReflogAction::Made | ReflogAction::Merged)
    }
}

/// Reads an action out of a reflog message, `commit (amend): subject` for example.
///
/// `GIT_REFLOG_ACTION` lets programs choose the first part, so only words of git's own count.
pub(super) fn parse_action(message: &str) -> ReflogAction {
    let (what, rest) = message.split_once(": ").unwrap_or((message, ""));
    let (what, step) = match what.rsplit_once(" (") {
        Some((verb, step)) if step.ends_with(')') => (verb, Some(&step[..step.len() - 1])),
        _ => (what, None),
    };
    let verb = what.split(' ').next().unwrap_or("");
    let moved = ReflogAction::Moved;
    match (verb, step) {
        ("cherry-pick" | "rebase", None) if rest == "fast-forward" => moved,
        ("commit" | "cherry-pick" | "revert" | "am", _) => ReflogAction::Made,
        ("rebase" | "pull", Some("pick" | "reword" | "edit" | "squash" | "fixup" | "continue"))
            if rest == "fast-forward" =>
        {
            moved
        }
        ("rebase" | "pull", Some("pick" | "reword" | "edit" | "squash" | "fixup" | "continue")) => {
            ReflogAction::Made
        }
        ("rebase" | "pull", Some("merge")) => ReflogAction::Merged,
        ("rebase" | "pull", Some(_)) => moved,
        ("merge" | "pull", None) => {
            if rest.starts_with("Merge made by") || rest.starts_with("In-index merge") {
                ReflogAction::Merged
            } else if rest.starts_with("Fast-forward")
                || rest.starts_with("fast-forward")
                || rest.starts_with("storing head")
            {
                moved
            } else {
                ReflogAction::Unknown
            }
        }
        // The older rebase: `rebase: checkout main`, `rebase finished: returning to ...`, else a pick.
        ("rebase", None) => {
            match what == "rebase" && !rest.is_empty() && !rest.starts_with("checkout ") {
                true => ReflogAction::Made,
                false => moved,
            }
        }
        ("initial", None) if what == "initial pull" => moved,
        ("clone" | "checkout" | "reset" | "push" | "branch" | "fetch", _) => moved,
        // Other programs begin their own messages with that word.
        ("update", _) if what == "update by push" => moved,
        // A program chose the first part; the rest is git's own.
        _ if rest.starts_with("Merge made by") => ReflogAction::Merged,
        _ if is_movement(rest) => moved,
        _ => ReflogAction::Unknown,
    }
}

/// git's words after the colon where a ref moves to an existing commit.
fn is_movement(details: &str) -> bool {
    [
        "moving to ",
        "moving from ",
        "Fast-forward",
        "fast-forward",
        "updating HEAD",
        "checkout ",
        "returning to ",
        "storing head",
    ]
    .iter()
    .any(|words| details.starts_with(words))
}

/// How git names what was fetched last.
pub(super) const FETCHED: &str = "FETCH_HEAD";

/// The names of what a movement came from, where the message has them: `merge side: ...`, `reset: moving to side`, `rebase (start): checkout
/// side`, and the subject of a merge that somebody committed; a pull came from `FETCH_HEAD`. Another checked-out name is not among
/// them: it may have been named after it was found.
fn parse_sources(message: &str) -> Vec<String> {
    let (what, rest) = message.split_once(": ").unwrap_or((message, ""));
    let verb = what.split(' ').next().unwrap_or_default();
    let quoted = |text: &str| {
        text.split('\'')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    match verb {
        "merge" => what
            .split(' ')
            .skip(1)
            .filter(|word| !word.starts_with('-'))
            .map(str::to_owned)
            .collect(),
        "reset" => rest
            .strip_prefix("moving to ")
            .map(str::to_owned)
            .into_iter()
            .collect(),
        "rebase" => rest
            .strip_prefix("checkout ")
            .map(str::to_owned)
            .into_iter()
            .collect(),
        "pull" if !what.split(' ').any(|word| word == ".") => vec![FETCHED.to_owned()],
        "checkout" if rest.ends_with(FETCHED) => vec![FETCHED.to_owned()],
        "commit" if rest.starts_with("Merge branch") => {
            quoted(rest.split(" into ").next().unwrap_or_default())
        }
        _ => Vec::new(),
    }
}

/// All entries of a reflog, oldest first. No file, no entries.
pub(super) fn read_entries(path: &Path) -> Result<Vec<ReflogEntry>, Error> {
    read_tail(path, |_| false).map(|tail| tail.entries)
}

/// The end of a reflog, and the way to what is before it.
pub(super) struct ReflogTail {
    /// The entries, oldest first.
    pub entries: Vec<ReflogEntry>,
    path: PathBuf,
    /// The file that they were read from, and where the first of them begins in it.
    before: Option<(File, u64)>,
}

impl ReflogTail {
    /// All entries of the reflog, oldest first, as it was when its end was read.
    pub(super) fn whole(self) -> Result<Vec<ReflogEntry>, Error> {
        let Some((mut file, end)) = self.before else {
            return Ok(self.entries);
        };
        let text = read_part(&mut file, 0, end).map_err(|e| new_read_error(&self.path, e))?;
        let mut entries: Vec<_> = text
            .split(|b| *b == b'\n')
            .filter_map(parse_entry)
            .collect();
        entries.extend(self.entries);
        Ok(entries)
    }
}

/// So many of the newest entries of a reflog, at least, oldest first.
pub(super) fn read_newest(path: &Path, most: usize) -> Result<ReflogTail, Error> {
    let entries_read = std::cell::Cell::new(0);
    read_tail(path, |_| {
        entries_read.set(entries_read.get() + 1);
        entries_read.get() >= most
    })
}

/// The entries of a reflog, oldest first: from the newest one on that `is_last` says so of, which is the first of them, or from the
/// beginning where it says so of none. No file, no entries.
pub(super) fn read_tail(
    path: &Path,
    is_last: impl Fn(&ReflogEntry) -> bool,
) -> Result<ReflogTail, Error> {
    let tail = |entries, before| ReflogTail {
        entries,
        path: path.to_owned(),
        before,
    };
    let mut file = match open_regular_file(path) {
        Ok(file) => file,
        Err(e) if is_missing(&e) => {
            return Ok(tail(Vec::new(), None));
        }
        Err(e) => return Err(new_read_error(path, e)),
    };
    let length = file.metadata().map_err(|e| new_read_error(path, e))?.len();
    let mut span = 8 * 1024;
    loop {
        let start = length.saturating_sub(span);
        let text = read_part(&mut file, start, length).map_err(|e| new_read_error(path, e))?;
        // The first line of a part read from the middle is most likely cut.
        let from = if start == 0 {
            0
        } else {
            text.iter()
                .position(|b| *b == b'\n')
                .map_or(text.len(), |at| at + 1)
        };
        let (mut entries, mut first, mut end) = (Vec::new(), (start == 0).then_some(0), text.len());
        for line in text[from..].rsplit(|b| *b == b'\n') {
            let begin = end - line.len();
            // The newline before it; the first line has none.
            end = begin.saturating_sub(1);
            let Some(entry) = parse_entry(line) else {
                continue;
            };
            let last = is_last(&entry);
            entries.push(entry);
            if last {
                first = Some(start + begin as u64);
                break;
            }
        }
        if let Some(first) = first {
            entries.reverse();
            return Ok(tail(entries, Some((file, first))));
        }
        span *= 8;
    }
}

fn read_part(file: &mut File, start: u64, end: u64) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(usize::try_from(end - start).unwrap_or_default());
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut text)?;
    Ok(text)
}

fn new_read_error(path: &Path, error: std::io::Error) -> Error {
    Error::read_error(format!("read the reflog {}", path.display()), error)
}

/// Parses a line: `old new Name <mail> seconds zone TAB message`. Damaged lines prove nothing.
fn parse_entry(line: &[u8]) -> Option<ReflogEntry> {
    let (head, message) = match line.iter().position(|b| *b == b'\t') {
        Some(tab) => (&line[..tab], &line[tab + 1..]),
        None => (line, &[][..]),
    };
    let mut words = head.split(|b| *b == b' ');
    let old = ObjectId::from_hex(words.next()?).ok()?;
    let new = ObjectId::from_hex(words.next()?).ok()?;
    let message = String::from_utf8_lossy(message);
    let action = parse_action(&message);
    let details = message.split_once(": ").map_or("", |(_, rest)| rest);
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    Some(ReflogEntry {
        old,
        new,
        action,
        amends: message.starts_with("commit (amend):"),
        moving_words: (action.makes() && is_movement(details)).then(|| details.to_owned()),
        sources: parse_sources(&message),
        seconds: (head.rsplit(|b| *b == b' ').nth(1))
            .and_then(|seconds| std::str::from_utf8(seconds).ok()?.parse().ok())
            .unwrap_or_default(),
        moved_from: (message.strip_prefix("checkout: moving from "))
            .and_then(|movement| Some(movement.split_once(" to ")?.0.to_owned())),
        pushed: message == "update by push",
        fetched: ["fetch", "pull", "push", "clone"]
            .iter()
            .any(|verb| message.starts_with(verb)),
        line: hasher.finish(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_distinguish_local_work_from_imported_work() {
        let moved = ReflogAction::Moved;
        for (message, expected) in [
            ("commit: x", ReflogAction::Made),
            ("commit (amend): x: y", ReflogAction::Made),
            ("commit (initial): x", ReflogAction::Made),
            ("commit (merge): Merge branch 'a'", ReflogAction::Made),
            ("commit (cherry-pick): x", ReflogAction::Made),
            ("cherry-pick: x", ReflogAction::Made),
            ("cherry-pick: fast-forward", moved),
            ("revert: Revert \"x\"", ReflogAction::Made),
            ("am: x", ReflogAction::Made),
            ("rebase (start): checkout origin/main", moved),
            ("rebase (pick): x", ReflogAction::Made),
            ("rebase (continue): x", ReflogAction::Made),
            ("rebase (pick): fast-forward", moved),
            ("rebase: fast-forward", moved),
            ("rebase -i (squash): x", ReflogAction::Made),
            ("rebase (finish): returning to refs/heads/main", moved),
            ("rebase (abort): returning to refs/heads/main", moved),
            ("rebase: x", ReflogAction::Made),
            ("rebase: checkout main", moved),
            ("rebase finished: returning to refs/heads/x", moved),
            ("merge origin/x: Fast-forward", moved),
            (
                "merge origin/x: Merge made by the 'ort' strategy.",
                ReflogAction::Merged,
            ),
            ("pull: Fast-forward", moved),
            ("pull --ff-only origin main: Fast-forward", moved),
            ("pull . side: Fast-forward", moved),
            ("pull: storing head", moved),
            (
                "pull --rebase (merge): Merge branch 'a'",
                ReflogAction::Merged,
            ),
            ("merge a: In-index merge", ReflogAction::Merged),
            ("merge a: updating it", ReflogAction::Unknown),
            (
                "pull origin main: Merge made by the 'ort' strategy.",
                ReflogAction::Merged,
            ),
            ("pull --rebase (start): checkout 1234", moved),
            ("pull --rebase (pick): x", ReflogAction::Made),
            ("initial pull", moved),
            ("clone: from https://example.com/x", moved),
            ("reset: moving to HEAD~1", moved),
            ("checkout: moving from main to x", moved),
            ("", ReflogAction::Unknown),
            ("commits: x", ReflogAction::Unknown),
            ("initial: x", ReflogAction::Unknown),
            ("update by push", moved),
            ("update: x", ReflogAction::Unknown),
            ("some tool did this", ReflogAction::Unknown),
            ("mine: moving to other", moved),
            ("mine: Fast-forward", moved),
            (
                "mine: Merge made by the 'ort' strategy.",
                ReflogAction::Merged,
            ),
        ] {
            assert_eq!(parse_action(message), expected, "{message}");
            // What moved, or came in an unknown way, is nobody's work by this entry.
            assert_eq!(
                parse_action(message).makes(),
                expected != moved && expected != ReflogAction::Unknown,
                "{message}"
            );
        }
    }

    #[test]
    fn log_reads_from_first_line_or_fails() {
        let folder = tempfile::tempdir().unwrap();
        let (log, around) = (folder.path().join("log"), folder.path().join("around"));
        let zeros = "0".repeat(40);
        let line = |n: usize| format!("{zeros} {n:040} A <a@x> 1800000000 +0000\tcommit: {n}\n");
        for lines in [1, 2, 1000] {
            std::fs::write(&log, (1..=lines).map(line).collect::<String>()).unwrap();
            let read: Vec<String> = read_entries(&log)
                .unwrap()
                .iter()
                .map(|entry| entry.new.to_string())
                .collect();
            assert_eq!(
                read,
                (1..=lines).map(|n| format!("{n:040}")).collect::<Vec<_>>()
            );
        }
        assert!(
            read_entries(&folder.path().join("none"))
                .unwrap()
                .is_empty()
        );
        std::os::unix::fs::symlink("around", &around).unwrap();
        assert!(read_entries(&around).is_err());
    }

    #[test]
    fn messages_tell_what_a_movement_came_from() {
        for (message, expected) in [
            ("merge side: Fast-forward", &["side"][..]),
            (
                "merge --no-ff a b: Merge made by the 'octopus' strategy.",
                &["a", "b"],
            ),
            ("reset: moving to side", &["side"]),
            ("rebase (start): checkout side", &["side"]),
            ("commit (merge): Merge branch 'side' into main", &["side"]),
            ("commit (merge): Merge branches 'a' and 'b'", &["a", "b"]),
            ("commit: Merge that", &[]),
            ("commit: Quote 'side' once", &[]),
            ("merge -q side: Fast-forward", &["side"]),
            ("rebase (pick): side", &[]),
            ("reset: updating HEAD", &[]),
            ("", &[]),
            ("checkout: moving from main to side", &[]),
            ("pull: Fast-forward", &["FETCH_HEAD"]),
            ("pull . side: Fast-forward", &[]),
            ("checkout: moving from main to FETCH_HEAD", &["FETCH_HEAD"]),
        ] {
            assert_eq!(parse_sources(message), expected, "{message}");
        }
    }

    #[test]
    fn log_end_and_remainder_make_the_whole_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("HEAD");
        let id = |n: usize| format!("{n:040x}");
        let object = |n: usize| ObjectId::from_hex(id(n).as_bytes()).unwrap();
        let line = |n: usize| {
            format!(
                "{} {} A <a@b> {n} +0000\tcommit: {}\n",
                id(n),
                id(n + 1),
                "x".repeat(n % 90)
            )
        };
        for lines in [0, 1, 2, 50, 400, 3_000] {
            // A damaged line, an empty one, and a last one that is still being written prove nothing, and hide nothing.
            let text: String = (0..lines)
                .map(|n| {
                    if n % 7 == 3 {
                        format!("damaged\n\n{}", line(n))
                    } else {
                        line(n)
                    }
                })
                .collect();
            std::fs::write(&path, format!("{text}{} {}", id(lines), &id(lines)[..20])).unwrap();
            let all = read_entries(&path).unwrap();
            assert_eq!(all.len(), lines);
            for first in [0, 1, lines / 2, lines.saturating_sub(1), lines + 5] {
                let is_last = |entry: &ReflogEntry| entry.old == object(first);
                let tail = || read_tail(&path, is_last).unwrap();
                let expected = if first < lines {
                    &all[first..]
                } else {
                    &all[..]
                };
                assert_eq!(tail().entries, expected, "{first} of {lines}");
                assert_eq!(tail().whole().unwrap(), all, "{first} of {lines}");
            }
        }
        let tail = read_tail(&path, |entry| entry.old == object(9)).unwrap();
        // git puts a log that it shortens in the place of the old one.
        let whole = read_entries(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            tail.whole().unwrap(),
            whole,
            "it is the log as it was when its end was read"
        );
        assert_eq!(read_entries(&path).unwrap(), []);
    }

    #[test]
    fn truncated_line_is_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("HEAD");
        let id = |n: usize| format!("{n:040x}");
        let line = |n: usize, message: &str| {
            format!(
                "{} {} A <a@b> {n} +0000\tcommit: {message}\n",
                id(n),
                id(n + 1)
            )
        };
        let forged = line(99, "forged");
        // The part that is read first begins at the forged line or shortly before it, in the message of a true one.
        for before in 0..3 {
            let short = line(1, &format!("{}{}", "-".repeat(before), forged.trim_end()));
            let part = before + forged.len();
            let filled = "x".repeat(8 * 1024 - part - line(2, "").len());
            std::fs::write(
                &path,
                format!("{}{short}{}", line(0, "first"), line(2, &filled)),
            )
            .unwrap();
            let of_forged = ObjectId::from_hex(id(99).as_bytes()).unwrap();
            let tail = read_tail(&path, |entry| entry.old == of_forged).unwrap();
            let olds: Vec<_> = tail
                .entries
                .iter()
                .map(|entry| entry.old.to_string())
                .collect();
            assert_eq!(olds, [id(0), id(1), id(2)], "cut {before} before it");
        }
    }
}
