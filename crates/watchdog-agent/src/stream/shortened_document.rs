//! A JSON document of bounded size: long strings lose their middle while they come, everything else is kept as it is.

use memchr::memchr3;

/// Bytes of a string that are kept from its beginning, and twice at most from its end.
pub(super) const HEAD: usize = 64 << 10;
pub(super) const TAIL: usize = 32 << 10;

/// The replacement for the middle of a shortened string.
const GAP: &[u8] = b" [...] ";

/// A document, or nothing once it is too long.
#[derive(Debug)]
pub(super) struct ShortenedDocument {
    most: usize,
    shortened: Vec<u8>,
    too_long: bool,
    string: PartialString,
}

/// The string under way.
#[derive(Debug, Default)]
struct PartialString {
    /// Bytes of it in the document.
    head: usize,
    /// Its end, in two parts: the older one whole, the newer one growing. Both begin at a character.
    ending: bool,
    older: Vec<u8>,
    newer: Vec<u8>,
    dropped: bool,
    escape: EscapeState,
}

/// The place of the next byte in an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum EscapeState {
    #[default]
    None,
    /// Behind a backslash.
    Begun,
    /// Within `\uXXXX`, behind so many digits; whether it may be the first of a surrogate pair.
    Digits { seen: u8, high: bool },
    /// Behind the first of a surrogate pair.
    Paired,
}

impl ShortenedDocument {
    pub fn new(most: usize) -> Self {
        ShortenedDocument {
            most,
            shortened: Vec::new(),
            too_long: false,
            string: PartialString::default(),
        }
    }

    pub fn clear(&mut self) {
        self.shortened.clear();
        // A single long document must not keep its memory for the rest of a session.
        self.shortened.shrink_to(4096);
        self.too_long = false;
        self.string = PartialString::default();
    }

    /// The document; `None` if it is too long.
    pub fn bytes(&self) -> Option<&[u8]> {
        (!self.too_long).then_some(&self.shortened)
    }

    /// A byte outside of strings.
    pub fn push(&mut self, byte: u8) {
        self.append(&[byte]);
    }

    /// The quote that begins a string.
    pub fn open_string(&mut self) {
        self.push(b'"');
        self.string = PartialString::default();
    }

    /// Bytes within a string. Says how many were taken, and the quote or line feed that ended it.
    pub fn string(&mut self, bytes: &[u8]) -> (usize, Option<u8>) {
        let mut at = 0;
        while at < bytes.len() {
            if self.string.escape == EscapeState::None || self.string.escape == EscapeState::Paired
            {
                let plain = memchr3(b'"', b'\\', b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                if plain > 0 {
                    self.string.escape = EscapeState::None;
                    self.plain(&bytes[at..at + plain]);
                    at += plain;
                    continue;
                }
            }
            let byte = bytes[at];
            at += 1;
            match (self.string.escape, byte) {
                (_, b'\n') => return (at, Some(byte)),
                (EscapeState::None | EscapeState::Paired, b'"') => {
                    self.close_string();
                    return (at, Some(byte));
                }
                (_, _) => self.within_escape(byte),
            }
        }
        (at, None)
    }

    fn plain(&mut self, bytes: &[u8]) {
        if !self.string.ending && self.string.head + bytes.len() <= HEAD {
            self.string.head += bytes.len();
            self.append(bytes);
            return;
        }
        if self.string.ending && self.string.newer.len() + bytes.len() <= TAIL {
            self.string.newer.extend_from_slice(bytes);
            return;
        }
        for byte in bytes {
            self.unit(*byte, byte & 0xc0 != 0x80);
        }
    }

    fn within_escape(&mut self, byte: u8) {
        let begins = self.string.escape == EscapeState::None;
        self.string.escape = match (self.string.escape, byte) {
            (EscapeState::None | EscapeState::Paired, _) => EscapeState::Begun,
            (EscapeState::Begun, b'u') => EscapeState::Digits {
                seen: 0,
                high: false,
            },
            (EscapeState::Begun, _) => EscapeState::None,
            (EscapeState::Digits { seen: 0, .. }, byte) => EscapeState::Digits {
                seen: 1,
                high: matches!(byte, b'd' | b'D'),
            },
            (EscapeState::Digits { seen: 1, high }, byte) => EscapeState::Digits {
                seen: 2,
                high: high && matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
            },
            (
                EscapeState::Digits {
                    seen: 3,
                    high: true,
                },
                _,
            ) => EscapeState::Paired,
            (
                EscapeState::Digits {
                    seen: 3,
                    high: false,
                },
                _,
            ) => EscapeState::None,
            (EscapeState::Digits { seen, high }, _) => EscapeState::Digits {
                seen: seen + 1,
                high,
            },
        };
        self.unit(byte, begins);
    }

    /// Takes a byte of a string; `begins` if it may be cut before.
    fn unit(&mut self, byte: u8, begins: bool) {
        let string = &mut self.string;
        string.ending |= begins && string.head >= HEAD;
        if !string.ending {
            string.head += 1;
            return self.append(&[byte]);
        }
        if begins && string.newer.len() >= TAIL {
            string.dropped |= !string.older.is_empty();
            std::mem::swap(&mut string.older, &mut string.newer);
            string.newer.clear();
        }
        string.newer.push(byte);
        // A character has four bytes at most, a pair of escapes twelve; a longer sequence is no text.
        self.too_long |= self.string.newer.len() > 2 * TAIL;
        if self.too_long {
            self.string.newer.clear();
        }
    }

    fn close_string(&mut self) {
        let string = std::mem::take(&mut self.string);
        if string.dropped {
            self.append(GAP);
        }
        self.append(&string.older);
        self.append(&string.newer);
        self.push(b'"');
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.too_long || self.shortened.len() + bytes.len() > self.most {
            self.too_long = true;
            self.shortened.clear();
            return;
        }
        self.shortened.extend_from_slice(bytes);
    }
}
