//! Tracks the effect of a session's own output on the terminal that it passed through to: whether a
//! line of ours can stand below it. Pure.

/// The effect of the output on the terminal so far.
#[derive(Debug, Default)]
pub struct PassedOutput {
    within_a_line: bool,
    /// It moved the cursor, or took another screen.
    steers: bool,
    sequence: SequencePart,
}

/// How far an escape sequence was, when the bytes ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SequencePart {
    #[default]
    None,
    Escape,
    Parameters,
}

impl PassedOutput {
    /// Whether a line of ours can stand below it: the cursor is at the beginning of a line, and the session leaves it there.
    pub fn leaves_room(&self) -> bool {
        !self.within_a_line && !self.steers
    }

    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.sequence = match (self.sequence, byte) {
                (_, 0x1b) => SequencePart::Escape,
                (SequencePart::Escape, b'[') => SequencePart::Parameters,
                // Colours, and what is erased in the line, leave the cursor where it is.
                (SequencePart::Parameters, b'm' | b'K') => SequencePart::None,
                (SequencePart::Parameters, 0x20..=0x3f) => SequencePart::Parameters,
                // Titles and links leave it there, too.
                (SequencePart::Escape, b']' | b'\\') => SequencePart::None,
                (SequencePart::Escape | SequencePart::Parameters, _) => {
                    self.steers = true;
                    SequencePart::None
                }
                (SequencePart::None, _) => SequencePart::None,
            };
        }
        if let Some(last) = bytes.last() {
            self.within_a_line = *last != b'\n';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_needs_whole_lines_without_terminal_control() {
        for (pieces, room) in [
            (&[][..], true),
            (&["a line\n"], true),
            (&["Continue? [y/N] "], false),
            (&["Continue? [y/N] ", "\n"], true),
            (&["50 %\r"], false),
            (&["50 %\r100 %\n"], true),
            (&["\x1b[1;31mred\x1b[0m\x1b[K\n"], true),
            (&["\x1b]0;title\x07\n"], true),
            (&["\x1b[2J\n"], false),
            (&["\x1b[?10", "49h", "\n"], false),
            (&["\x1b", "7\n"], false),
            (&["\x1b[?25l", "spinning\n", "\x1b[?25h\n"], false),
        ] {
            let mut passed = PassedOutput::default();
            pieces
                .iter()
                .for_each(|piece| passed.take(piece.as_bytes()));
            assert_eq!(passed.leaves_room(), room, "{pieces:?}");
        }
    }
}
