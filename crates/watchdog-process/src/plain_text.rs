//! Program output as plain text: bounded, decoded, without terminal sequences, with one kind of line end.

use watchdog_facts::patterns::FixedPattern;

/// How many bytes of an output are read: its end, because the answer comes last.
pub const WINDOW: usize = 256 * 1024;

/// Text ready to be read.
pub struct PlainText {
    /// The rest of the output.
    pub text: String,
    /// Whether the output began before [`PlainText::text`] does.
    pub cut: bool,
}

/// CSI, then the string sequences (OSC, DCS, SOS, PM, APC) up to their end, then the two-byte ones.
///
/// An unfinished string sequence ends at the next line, so that it cannot swallow an answer.
static TERMINAL_SEQUENCE: FixedPattern = FixedPattern::new(
    r"(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}\n]*(?:\x07|\x1b\\|\x{9c})?|\x1b[ -/]*[0-~]",
);

/// Decodes the last [`WINDOW`] bytes of an output.
///
/// Invalid UTF-8 becomes U+FFFD. A byte order mark, NUL and other controls are dropped.
/// CR LF and a lone CR become LF: a line that overwrites itself shows all its states, the last one last.
pub fn plain_text(bytes: &[u8]) -> PlainText {
    let cut = bytes.len() > WINDOW;
    let bytes = if cut {
        &bytes[bytes.len() - WINDOW..]
    } else {
        bytes
    };
    let decoded = String::from_utf8_lossy(bytes);
    let stripped = TERMINAL_SEQUENCE.replace_all(&decoded, "");
    let mut text = String::with_capacity(stripped.len());
    let mut chars = stripped.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => text.push('\n'),
            '\n' | '\t' => text.push(c),
            '\u{feff}' => {}
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    PlainText { text, cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_noise_is_removed() {
        for (raw, text) in [
            (&b"\x1b[1;32m{\"a\":\x1b[0m1}"[..], "{\"a\":1}"),
            (b"\x1b]0;title\x07x", "x"),
            (b"\x1b]8;;http://h\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b]never closed\nnext", "\nnext"),
            (b"\xef\xbb\xbfx\r\ny\rz", "x\ny\nz"),
            (b"a\x00b\x08c", "abc"),
            (b"\x1bPq#0;2\x1b\\x\x1b(By", "xy"),
            (b"ok \xff\xfe end", "ok \u{fffd}\u{fffd} end"),
        ] {
            assert_eq!(plain_text(raw).text, text, "{raw:?}");
        }
    }

    #[test]
    fn only_the_end_of_long_output_is_examined() {
        let mut long = vec![b'x'; 3 * WINDOW];
        long.extend_from_slice(b"end");
        let seen = plain_text(&long);
        assert!(seen.cut && seen.text.ends_with("end") && seen.text.len() == WINDOW);
    }
}
