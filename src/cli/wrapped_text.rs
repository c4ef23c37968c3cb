//! Sentences that fit a terminal: broken between words, with the lines below set in, and never within a command that somebody is to paste.
//! Pure.

use anstream::adapter::strip_str;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use watchdog_facts::shell_line::commands_in;

/// A line as lines of at most `room` columns; those after the first are set in by `hang`. What cannot be broken stays whole, on a line of its
/// own.
pub fn wrapped(line: &str, room: usize, hang: usize) -> Vec<String> {
    if columns(line) <= room {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let below = " ".repeat(hang);
    let mut lines = Vec::new();
    let mut current = line[..indent].to_owned();
    let (mut is_empty, mut ends) = (true, false);
    for (piece, is_command) in pieces(&line[indent..]) {
        let gap = usize::from(!is_empty);
        // What stands behind a command would be pasted with it.
        if !is_empty && (ends || columns(&current) + gap + columns(piece) > room) {
            lines.push(
                std::mem::replace(&mut current, below.clone())
                    .trim_end()
                    .to_owned(),
            );
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(piece);
        (is_empty, ends) = (false, is_command);
    }
    lines.push(current);
    lines
}

/// A text of at most `room` columns: where it is longer, it ends after a word and an ellipsis. It has no colours.
pub fn without_end(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fitting: String = text
        .chars()
        .map_while(|c| {
            left = left.checked_sub(c.width().unwrap_or(0))?;
            Some(c)
        })
        .collect();
    let whole_words = fitting
        .rsplit_once(' ')
        .map_or("", |(words, _)| words.trim_end());
    // One long word, such as a path, says more in part than nothing does.
    let kept = if whole_words.width() * 2 > room {
        whole_words
    } else {
        &fitting
    };
    format!("{}…", kept.trim_end_matches([' ', ',', ';', ':']))
}

/// The columns that a text takes, its colours left out.
fn columns(text: &str) -> usize {
    strip_str(text).to_string().width()
}

/// The words between single blanks, and whether each is a command: all words of one are one piece, with what stands at it.
fn pieces(text: &str) -> Vec<(&str, bool)> {
    let commands: Vec<_> = commands_in(text)
        .into_iter()
        .map(|at| at.start..at.start + text[at].trim_end().len())
        .collect();
    let blanks = text
        .match_indices(' ')
        .map(|(at, _)| at)
        .filter(|at| !commands.iter().any(|command| command.contains(at)));
    let mut begin = 0;
    let pieces = blanks.chain([text.len()]).map(|end| {
        let piece = std::mem::replace(&mut begin, end + 1)..end;
        (
            &text[piece.clone()],
            commands
                .iter()
                .any(|command| piece.contains(&command.start)),
        )
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gist_ends_after_a_word_and_never_goes_beyond_the_room() {
        for (text, room, gist) in [
            ("short enough", 12, "short enough"),
            ("one thing, and another", 14, "one thing…"),
            ("/a/very/long/path/without/blanks", 10, "/a/very/l…"),
            ("日本日本日本", 6, "日本…"),
            ("", 5, ""),
        ] {
            assert_eq!(without_end(text, room), gist);
            assert!(gist.width() <= room);
        }
    }

    #[test]
    fn a_line_breaks_between_words_and_the_rest_is_set_in() {
        for (line, room, shown) in [
            ("it fits", 7, &["it fits"][..]),
            ("one two three four", 9, &["one two", "  three", "  four"]),
            ("  set in already", 10, &["  set in", "  already"]),
            ("日本 日本 日本", 9, &["日本 日本", "  日本"]),
            (
                "a-word-that-is-too-long to break",
                12,
                &["a-word-that-is-too-long", "  to break"],
            ),
            (
                "\x1b[1mreview\x1b[0m (x)",
                10,
                &["\x1b[1mreview\x1b[0m (x)"],
            ),
        ] {
            assert_eq!(wrapped(line, room, 2), shown, "{line:?}");
        }
    }

    #[test]
    fn a_command_is_never_broken() {
        let line = "the breaker is open; close it now with: watchdog -C '/a b' breaker --spec x reset; or wait";
        assert_eq!(
            wrapped(line, 30, 2),
            [
                "the breaker is open; close it",
                "  now with:",
                "  watchdog -C '/a b' breaker --spec x reset;",
                "  or wait"
            ]
        );
    }
}
