//! Words for the agent: output cut to its end, cleaned of what would steer a terminal or hide in a prompt, and bounded.

/// The longest feedback of one check, in characters.
pub(super) const MAX_CHARS: usize = 4000;

/// The longest line of output that is shown, in characters.
const MAX_LINE: usize = 500;

/// How many bytes at the end of a stream are read.
const MOST_BYTES: usize = 256 * 1024;

/// The last lines of some output, as text. Empty lines at its end do not count.
pub(super) fn take_last_lines(bytes: &[u8], lines: usize) -> String {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MOST_BYTES)..]);
    let plain = anstream::adapter::strip_str(&text).to_string();
    let last: Vec<String> = plain
        .trim_end()
        .lines()
        .rev()
        .take(lines)
        .map(clean_line)
        .collect();
    end_of(
        &last.into_iter().rev().collect::<Vec<_>>().join("\n"),
        MAX_CHARS / 2,
    )
}

/// Text from outside on one line, for a sentence of ours.
pub(super) fn one_line(text: &str) -> String {
    let cleaned = clean_line(&text.replace(['\n', '\r'], " "));
    cleaned.trim().to_owned()
}

/// A feedback of bounded length: keeps the beginning, which names the fault.
pub(super) fn cut_feedback(text: String, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text,
        Some((cut, _)) => format!("{}...", text[..cut].trim_end()),
    }
}

/// The first three of some names, and how many more there are.
pub(super) fn first_three(names: &[&str]) -> String {
    let shown = names
        .iter()
        .take(3)
        .map(|name| one_line(name))
        .collect::<Vec<_>>()
        .join(", ");
    match names.len() {
        0..=3 => shown,
        n => format!("{shown}, ... ({} more)", n - 3),
    }
}

/// A line without control characters and invisible ones. If a line was overwritten in place, its
/// last content.
fn clean_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit_once('\r').map_or(line, |(_, last)| last);
    let visible = line
        .chars()
        .filter(|c| *c == '\t' || !(c.is_control() || is_invisible(*c)));
    let mut cleaned: String = visible.take(MAX_LINE + 1).collect();
    if let Some((cut, _)) = cleaned.char_indices().nth(MAX_LINE) {
        cleaned.truncate(cut);
        cleaned.push_str("...");
    }
    cleaned
}

/// Characters that change the display of others, or that are invisible.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn end_of(text: &str, chars: usize) -> String {
    let count = text.chars().count();
    if count <= chars {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - chars).collect();
    format!("...{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        assert_eq!(take_last_lines(b"1\n2\n3\n\n \n", 2), "2\n3");
        assert_eq!(take_last_lines(b"1\r\n2\r\n", 5), "1\n2");
        assert_eq!(take_last_lines(b"x", 0), "");
        assert_eq!(take_last_lines(b"", 5), "");
    }

    #[test]
    fn terminal_controls_and_hidden_characters_are_removed() {
        assert_eq!(
            take_last_lines(b"\x1b[31mred\x1b[0m \x1b]0;title\x07ok\x08", 5),
            "red ok"
        );
        assert_eq!(
            take_last_lines("a\u{202e}b\u{200b}c\u{e0041}d".as_bytes(), 5),
            "abcd"
        );
        assert_eq!(take_last_lines(b"10%\r20%\r100%\n", 5), "100%");
        assert_eq!(one_line("a\nb\u{1b}[2J"), "a b[2J");
    }

    #[test]
    fn any_output_gives_a_bounded_text() {
        let long = vec![b'x'; 5_000_000];
        assert!(take_last_lines(&long, 20).chars().count() <= MAX_LINE + 3);
        let many = "line of some length that repeats itself\n".repeat(100_000);
        assert!(take_last_lines(many.as_bytes(), 1000).chars().count() <= MAX_CHARS / 2 + 3);
        assert_eq!(take_last_lines(&[0xff, 0xfe, b'A'], 5), "\u{fffd}\u{fffd}A");
        assert_eq!(cut_feedback("é".repeat(10), 4), "éééé...");
    }

    #[test]
    fn cuts_are_marked_and_output_end_stays() {
        assert_eq!(one_line(&"é".repeat(500)), "é".repeat(500));
        assert_eq!(one_line(&"é".repeat(501)), "é".repeat(500) + "...");
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
        let end = take_last_lines(lines.join("\n").as_bytes(), 1000);
        assert!(
            end.starts_with("...") && end.ends_with("line 998\nline 999"),
            "{end}"
        );
        assert_eq!(end.chars().count(), MAX_CHARS / 2 + 3);
    }

    #[test]
    fn three_names_are_enough() {
        assert_eq!(first_three(&["a", "b", "c"]), "a, b, c");
        assert_eq!(
            first_three(&["a", "b", "c", "d", "e"]),
            "a, b, c, ... (2 more)"
        );
    }
}
