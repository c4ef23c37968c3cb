//! Sentences that fit a terminal: broken between words, with the lines below set in, and never within a command that somebody is to paste.
//! Pure.

use std::path::Path;

use textwrap::core::{Word, break_words, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_truncate::UnicodeTruncateStr as _;
use unicode_width::UnicodeWidthStr as _;

use watchdog_facts::shell_line::commands_in;

/// A line as lines of at most `room` columns; those after the first are set in by `hang`. A word
/// that cannot be broken stays whole, on a line of its own.
pub fn wrap_line(line: &str, room: usize, hang: usize) -> Vec<String> {
    if display_width(line) <= room {
        return vec![line.to_owned()];
    }
    let below = " ".repeat(hang);
    let mut options = Options::new(room)
        .subsequent_indent(&below)
        .break_words(false)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    // A word behind a command would be pasted with it.
    let ends = words(line).scan(0, |at, word| {
        *at += word.len() + word.whitespace.len();
        Some((*at, !commands_in(&word).is_empty()))
    });
    let ends: Vec<usize> = ends
        .filter(|(end, is_command)| *is_command || *end == line.len())
        .map(|(end, _)| end)
        .collect();
    let mut lines = Vec::new();
    let mut begin = 0;
    for end in ends {
        let part = &line[std::mem::replace(&mut begin, end)..end];
        lines.extend(textwrap::wrap(part, &options).into_iter().map(Into::into));
        options = options.initial_indent(&below);
    }
    lines
}

/// The same, where also what cannot be broken between words is broken.
pub fn break_line(line: &str, room: usize, hang: usize) -> Vec<String> {
    let lines = wrap_line(line, room, hang);
    let lines = lines.iter().map(|line| Word::from(line));
    break_words(lines, room.max(2))
        .iter()
        .map(|line| line.to_string())
        .collect()
}

/// A text of at most `room` columns, with an ellipsis where its end is missing.
pub fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    format!("{}…", text.unicode_truncate(room.saturating_sub(1)).0)
}

/// The same, cut after a word. It has no colours.
pub fn without_end(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let (fitting, _) = text.unicode_truncate(room.saturating_sub(1));
    let whole_words = fitting
        .rsplit_once(' ')
        .map_or("", |(words, _)| words.trim_end());
    // A long word, such as a path, cut short still says more than an empty cell.
    let shown = if whole_words.width() * 2 > room {
        whole_words
    } else {
        fitting
    };
    format!("{}…", shown.trim_end_matches([' ', ',', ';', ':']))
}

/// A path of at most `room` columns. An ellipsis stands first for the folders that it has in common with others, then for more; its name
/// stays whole while it fits.
pub fn cut_path(path: &str, common: &str, room: usize) -> String {
    if path.width() <= room {
        return path.to_owned();
    }
    let name = &path[path.rfind('/').unwrap_or(0)..];
    let own = path.strip_prefix(common).filter(|_| common.len() > 1);
    let (front, back) = match own {
        Some(own) if own.width() < room => (path.to_owned(), own),
        _ if name.width() >= room => (name.to_owned(), name.unicode_truncate_start(room / 2).0),
        Some(own) => (format!("…{own}"), name),
        None => (path.to_owned(), name),
    };
    let (front, _) = front.unicode_truncate(room.saturating_sub(1 + back.width()));
    format!("{}…{back}", front.trim_end_matches('…'))
}

/// A path below the home folder, with `~` for that.
pub fn below_home(path: &str, home: &Path) -> Option<String> {
    let relative = Path::new(path)
        .strip_prefix(home)
        .ok()?
        .display()
        .to_string();
    Some(if relative.is_empty() {
        "~".into()
    } else {
        format!("~/{relative}")
    })
}

/// The words between single blanks; all words of a command are one, with what stands at it.
fn words(text: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let commands: Vec<_> = commands_in(text)
        .into_iter()
        .map(|at| at.start..at.start + text[at].trim_end().len())
        .collect();
    let indent = text.len() - text.trim_start_matches(' ').len();
    let mut begin = 0;
    let blanks = text
        .match_indices(' ')
        .map(|(at, _)| at)
        .filter(move |at| *at >= indent && !commands.iter().any(|command| command.contains(at)));
    let ends = blanks.map(|at| at + 1).filter(|end| *end < text.len());
    let ends = ends.chain([text.len()]);
    Box::new(ends.map(move |end| Word::from(&text[std::mem::replace(&mut begin, end)..end])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gist_ends_after_word_within_its_room() {
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
    fn path_loses_its_common_folders_first() {
        for (path, common, room, shown) in [
            ("~/work/shop/a", "~/work", 13, "~/work/shop/a"),
            ("~/work/shop/a", "~/work", 12, "~/wo…/shop/a"),
            ("~/work/shop/deep/in/a", "~/work", 12, "…/shop/de…/a"),
            ("~/work/shop/feature", "~/work", 9, "…/feature"),
            ("~/work/shop/feature", "~/work", 10, "…/feature"),
            ("/srv/other/feature", "~/work", 12, "/sr…/feature"),
            ("~/work/日本語/一", "~/work", 13, "~/…/日本語/一"),
            ("~/work/feature-a", "~/work", 8, "/fe…re-a"),
            ("~/work/shop", "~/work", 0, "…"),
        ] {
            assert_eq!(cut_path(path, common, room), shown, "{path}");
        }
    }

    #[test]
    fn no_line_is_wider_than_its_room() {
        for (line, room, shown) in [
            ("short", 10, "short"),
            ("0123456789", 10, "0123456789"),
            ("0123456789ab", 10, "012345678…"),
            ("日本語日本語", 10, "日本語日…"),
            ("e\u{301}e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}…"),
            ("abc", 0, "…"),
        ] {
            assert_eq!(cut(line, room), shown);
        }
    }

    #[test]
    fn line_breaks_between_words_and_indents_continuation() {
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
            assert_eq!(wrap_line(line, room, 2), shown, "{line:?}");
        }
    }

    #[test]
    fn a_command_is_never_broken() {
        let line = "the breaker is open; close it now with: watchdog -C '/a b' breaker --spec x reset; or wait";
        assert_eq!(
            wrap_line(line, 30, 2),
            [
                "the breaker is open; close it",
                "  now with:",
                "  watchdog -C '/a b' breaker --spec x reset;",
                "  or wait"
            ]
        );
        assert_eq!(
            wrap_line("  git -C /a/long/path/of/a/worktree fsck", 20, 4),
            ["  git -C /a/long/path/of/a/worktree fsck"]
        );
    }

    #[test]
    fn only_the_home_folder_itself_is_shortened() {
        let of = |path| below_home(path, Path::new("/home/me"));
        assert_eq!(of("/home/me/shop").as_deref(), Some("~/shop"));
        assert_eq!(of("/home/me").as_deref(), Some("~"));
        assert_eq!(of("/home/meadow/shop"), None);
    }
}
