//! Makes untrusted text safe to show: characters that could control a terminal or reorder a line become visible.
//!
//! Text from agents, commits, files and programs passes through here before a person sees it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

/// The treatment of line feeds and tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFeedEscaping {
    /// They stay: the text may fill several lines.
    Keep,
    /// They are escaped: the text stays on one line.
    Escape,
}

/// The bytes in lower-case hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Escapes control, C1 and bidirectional characters, line feeds and tabs aside. See [`escape_text`].
pub fn escape_for_display(text: &str) -> String {
    escape_text(text, LineFeedEscaping::Keep).into_owned()
}

/// Escapes the same, and keeps the result on one line.
pub fn escape_to_one_line(text: &str) -> String {
    escape_text(text, LineFeedEscaping::Escape).into_owned()
}

/// Escapes control characters and invisible ones.
///
/// ESC becomes `\x1b`, so the sequences that it opens (colours, titles, clipboard) show as plain text.
/// Characters beyond ASCII are written as `\u{202e}`. Backslashes stay, so the result is for reading, not for parsing.
pub fn escape_text(text: &str, lines: LineFeedEscaping) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hostile_char(c, lines)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !is_hostile_char(c, lines) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if c.is_ascii() => {
                write!(shown, "\\x{:02x}", u32::from(c)).expect("writing to a string cannot fail")
            }
            c => {
                write!(shown, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string cannot fail")
            }
        }
    }
    Cow::Owned(shown)
}

/// Whether a character controls a terminal, or is invisible; except line feeds and tabs.
pub fn is_hostile(c: char) -> bool {
    is_hostile_char(c, LineFeedEscaping::Keep)
}

fn is_hostile_char(c: char, lines: LineFeedEscaping) -> bool {
    match c {
        '\n' | '\t' => lines == LineFeedEscaping::Escape,
        // Covers C0, DEL and C1; a lone CR would let a line overwrite itself.
        c if c.is_control() => true,
        // Zero-width joiners stay, since emoji and several scripts need them.
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tag characters: invisible, and able to carry a hidden text.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Cuts a text to at most `bytes` bytes at a character boundary, marking the cut with an ellipsis.
pub fn cut_text(text: &str, bytes: usize) -> String {
    const MARK: char = '…';
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut cut =
        text[..text.floor_char_boundary(bytes.saturating_sub(MARK.len_utf8()))].to_owned();
    cut.push(MARK);
    cut
}

/// A time in milliseconds in the log's format, to the microsecond.
pub fn log_millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// A length of time in the largest unit in which it is whole: `2 h`, `90 min`, `45 s`. Parts of a second are shown below ten seconds, to the
/// millisecond.
pub fn time_span(length: Duration) -> String {
    if length < Duration::from_secs(10) {
        return format!("{} s", (length.as_secs_f64() * 1e3).round() / 1e3);
    }
    match length.as_secs() + u64::from(length.subsec_millis() >= 500) {
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// A number of bytes: `1.4 MiB`.
pub fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "one digit after the point is shown"
    )]
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    // A figure that rounds to 1024.0 belongs to the next unit.
    while amount >= 1023.95 {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// From this size on the room that snapshots need is told.
pub const LARGE: u64 = 100_000_000;

/// A count with its noun, which forms its plural with an s.
pub fn plural(n: u64, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

/// A text of at most so many characters; a cut one ends in `…`.
pub fn shorten_text(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => {
            let length = text
                .char_indices()
                .nth(chars.saturating_sub(1))
                .map_or(0, |(at, _)| at);
            format!("{}…", text[..length].trim_end())
        }
    }
}

/// The first of these names, and how many more there are.
pub fn name_first(names: &[impl AsRef<str>], most: usize) -> String {
    let named: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    match names.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn duration_uses_its_largest_whole_unit() {
        for (millis, said) in [
            (0, "0 s"),
            (1_500, "1.5 s"),
            (45_000, "45 s"),
            (90_000, "90 s"),
            (1_800_000, "30 min"),
            (5_400_000, "90 min"),
            (7_200_000, "2 h"),
        ] {
            assert_eq!(time_span(Duration::from_millis(millis)), said);
        }
        for (nanos, said) in [
            (1_234_567_891, "1.235 s"),
            (9_999_999_999, "10 s"),
            (45_123_456_789, "45 s"),
            (3_599_987_654_321, "1 h"),
        ] {
            assert_eq!(time_span(Duration::from_nanos(nanos)), said);
        }
    }

    #[test]
    fn sizes_have_one_digit_after_the_point() {
        for (bytes, want) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1_048_575, "1.0 MiB"),
            (52_428_800, "50.0 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(format_size(bytes), want);
        }
    }

    #[test]
    fn terminal_sequences_become_visible() {
        for (raw, shown) in [
            ("plain — text ✓", "plain — text ✓"),
            ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
            ("\x1b]52;c;ZXZpbA==\x07", "\\x1b]52;c;ZXZpbA==\\x07"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\rb", "a\\rb"),
            ("abc\u{202e}cod.exe", "abc\\u{202e}cod.exe"),
            ("x\u{2066}y\u{2069}", "x\\u{2066}y\\u{2069}"),
            ("\0\x7f", "\\x00\\x7f"),
            ("hid\u{e0041}den", "hid\\u{e0041}den"),
            ("two\n\tlines", "two\n\tlines"),
            ("ad\u{200b}min", "ad\\u{200b}min"),
            (
                "a\u{200e}b\u{200f}c\u{61c}d",
                "a\\u{200e}b\\u{200f}c\\u{61c}d",
            ),
            ("\u{feff}marked", "\\u{feff}marked"),
            ("a\u{2060}b\u{fffb}c", "a\\u{2060}b\\u{fffb}c"),
            ("\u{1f468}\u{200d}\u{1f4bb}", "\u{1f468}\u{200d}\u{1f4bb}"),
        ] {
            assert_eq!(escape_for_display(raw), shown);
            assert_eq!(raw.contains(is_hostile), raw != shown, "{shown}");
        }
    }

    #[test]
    fn log_time_is_milliseconds_with_microsecond_precision() {
        for (nanos, millis) in [
            (0, 0.0),
            (1_234_567, 1.235),
            (400, 0.0),
            (600, 0.001),
            (90_000_000_000, 90_000.0),
        ] {
            assert_eq!(
                log_millis(Duration::from_nanos(nanos)).to_bits(),
                f64::to_bits(millis),
                "{nanos}"
            );
        }
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(escape_to_one_line("a\n\tb\u{2028}c"), "a\\n\\tb\\u{2028}c");
    }

    #[test]
    fn a_cut_keeps_whole_characters_and_says_so() {
        assert_eq!(cut_text("short", 10), "short");
        assert_eq!(cut_text("ääääääää", 8), "ää…");
        assert!(cut_text("ääääääää", 8).len() <= 8);
    }

    proptest! {
        #[test]
        fn nothing_that_steers_a_terminal_is_left(text in any::<String>()) {
            let shown = escape_to_one_line(&text);
            prop_assert!(shown.chars().all(|c| !c.is_control()));
            let reorders = shown.contains(['\u{202e}', '\u{2066}', '\u{2028}']);
            prop_assert!(!reorders);
        }
    }
}
