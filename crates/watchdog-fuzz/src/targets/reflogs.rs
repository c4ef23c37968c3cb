//! Reflogs, which a session can write: every entry stands there as a line, and only git's own words say that a commit was made.

use watchdog_git::fuzzed_readers::{LoggedMovement, movements_since, read_movements};

use super::scratch::in_thread;

/// The first words of messages with which git makes commits.
const MAKING: &[&str] = &[
    "commit",
    "cherry-pick",
    "revert",
    "am",
    "rebase",
    "merge",
    "pull",
];

/// Reads an input as the reflog of HEAD.
pub fn run(input: &[u8]) {
    let file = in_thread(|folder| folder.path().join("HEAD.log"));
    std::fs::write(&file, input).expect("a scratch file can be written");
    let read = read_movements(&file).expect("a file that is there can be read");
    let lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let mut rest = lines.iter();
    for movement in &read {
        let line = rest
            .find(|line| begins_with(line, movement))
            .unwrap_or_else(|| panic!("{movement:?} is in no line"));
        let message = line
            .splitn(2, |byte| *byte == b'\t')
            .nth(1)
            .unwrap_or_default();
        let message = String::from_utf8_lossy(message);
        if movement.meaning.makes {
            let first = message.split([' ', ':', '(']).next().unwrap_or_default();
            let by_git = MAKING.contains(&first) || message.contains(": Merge made by");
            assert!(
                by_git,
                "{message:?} makes a commit by words that are not git's"
            );
        }
    }
    in_part(&file, &read, input.len());
}

/// Reading from the newest end and stopping at an entry gives the end of the whole.
fn in_part(file: &std::path::Path, read: &[LoggedMovement], drawn: usize) {
    let Some(wanted) = read.get(drawn % read.len().max(1)) else {
        return;
    };
    let part = movements_since(file, |_, new| new == wanted.new)
        .expect("a file that is there can be read");
    let newest = read
        .iter()
        .rposition(|movement| movement.new == wanted.new)
        .expect("it is there");
    assert_eq!(part, read[newest..], "a part is the end of the whole");
}

fn begins_with(line: &[u8], movement: &LoggedMovement) -> bool {
    let text = format!("{} {}", movement.old, movement.new);
    let (ids, rest) = line.split_at(text.len().min(line.len()));
    // Other bytes right behind them would make it another word.
    ids.eq_ignore_ascii_case(text.as_bytes()) && matches!(rest.first(), None | Some(b' ' | b'\t'))
}
