//! Finds the JSON documents in an output that comes in chunks: one per line, printed over several lines, or the members of an array.
//!
//! Memory is bounded for any input: long strings are shortened on the way, and longer documents are skipped. The boundaries of chunks
//! make no difference. A document must begin a line and end one, so that an object quoted in prose is none.

use memchr::memchr;

use super::shortened_document::ShortenedDocument;

/// Bytes of one document, long strings shortened.
pub(super) const DOCUMENT: usize = 1 << 20;

/// A piece of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputPiece<'a> {
    /// An apparently complete JSON object; strings may be shortened.
    Document(&'a [u8]),
    /// An object that is too long.
    TooLong,
    /// A line of something else.
    Text,
}

/// The place of the next byte in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ScanState {
    #[default]
    LineStart,
    /// After a `[` that began a line: an array if an object follows, a line of text otherwise.
    Bracket,
    /// Within an array, between its members.
    Between,
    Document,
    String,
    /// Behind a document, on its last line.
    Behind,
    Text,
}

/// The scanner.
#[derive(Debug)]
pub(super) struct DocumentScanner {
    state: ScanState,
    in_array: bool,
    depth: u32,
    /// The next byte is the first of a line within a document.
    fresh_line: bool,
    document: ShortenedDocument,
}

impl DocumentScanner {
    pub fn new() -> Self {
        DocumentScanner {
            state: ScanState::LineStart,
            in_array: false,
            depth: 0,
            fresh_line: false,
            document: ShortenedDocument::new(DOCUMENT),
        }
    }

    /// Takes the next bytes of the output.
    pub fn push(&mut self, mut bytes: &[u8], on_piece: &mut impl FnMut(OutputPiece<'_>)) {
        while let Some(&byte) = bytes.first() {
            let taken = match self.state {
                ScanState::String => self.within_string(bytes, on_piece),
                ScanState::Text => self.rest_of_text(bytes, on_piece),
                _ => {
                    self.step(byte, on_piece);
                    1
                }
            };
            bytes = &bytes[taken..];
        }
    }

    /// Returns the pieces that the end of the output completes.
    pub fn finish(&mut self, on_piece: &mut impl FnMut(OutputPiece<'_>)) {
        match self.state {
            ScanState::Behind => self.complete(on_piece),
            ScanState::Document | ScanState::String | ScanState::Text => {
                on_piece(OutputPiece::Text)
            }
            ScanState::LineStart | ScanState::Bracket | ScanState::Between => {}
        }
        *self = DocumentScanner::new();
    }

    /// Whether a document is under way.
    pub fn is_open(&self) -> bool {
        matches!(
            self.state,
            ScanState::Document | ScanState::String | ScanState::Behind
        )
    }

    fn step(&mut self, byte: u8, on_piece: &mut impl FnMut(OutputPiece<'_>)) {
        match self.state {
            ScanState::LineStart => match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                // A byte order mark.
                0xef | 0xbb | 0xbf => {}
                b'{' => self.open(),
                b'[' => self.state = ScanState::Bracket,
                _ => self.state = ScanState::Text,
            },
            ScanState::Bracket => match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'{' => {
                    self.in_array = true;
                    self.open();
                }
                _ => self.state = ScanState::Text,
            },
            ScanState::Between => match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => {}
                b'{' => self.open(),
                b']' => self.leave_array(ScanState::LineStart),
                _ => self.leave_array(ScanState::Text),
            },
            ScanState::Behind => match byte {
                b' ' | b'\t' | b'\r' => {}
                b'\n' => {
                    self.complete(on_piece);
                    self.state = ScanState::LineStart;
                }
                b'{' => {
                    self.complete(on_piece);
                    self.open();
                }
                _ => self.state = ScanState::Text,
            },
            ScanState::Document => self.within_document(byte, on_piece),
            ScanState::String | ScanState::Text => {}
        }
    }

    fn open(&mut self) {
        self.document.clear();
        self.document.push(b'{');
        (self.state, self.depth, self.fresh_line) = (ScanState::Document, 1, false);
    }

    fn leave_array(&mut self, to: ScanState) {
        (self.in_array, self.state) = (false, to);
    }

    fn within_document(&mut self, byte: u8, on_piece: &mut impl FnMut(OutputPiece<'_>)) {
        let fresh = std::mem::take(&mut self.fresh_line);
        match byte {
            b'{' if fresh => {
                // No printer puts an inner object there: the text before was cut off.
                on_piece(OutputPiece::Text);
                self.in_array = false;
                self.open();
                return;
            }
            b'\n' => self.fresh_line = true,
            b'"' => {
                self.document.open_string();
                self.state = ScanState::String;
                return;
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.document.push(byte);
        if self.depth == 0 {
            if self.in_array {
                self.complete(on_piece);
                self.state = ScanState::Between;
            } else {
                self.state = ScanState::Behind;
            }
        }
    }

    fn within_string(&mut self, bytes: &[u8], on_piece: &mut impl FnMut(OutputPiece<'_>)) -> usize {
        let (taken, end) = self.document.string(bytes);
        match end {
            None => {}
            Some(b'"') => self.state = ScanState::Document,
            // A string does not span lines, so this is no document.
            Some(_) => {
                on_piece(OutputPiece::Text);
                self.in_array = false;
                self.document.clear();
                self.state = ScanState::LineStart;
            }
        }
        taken
    }

    fn rest_of_text(&mut self, bytes: &[u8], on_piece: &mut impl FnMut(OutputPiece<'_>)) -> usize {
        match memchr(b'\n', bytes) {
            None => bytes.len(),
            Some(at) => {
                on_piece(OutputPiece::Text);
                self.document.clear();
                self.state = ScanState::LineStart;
                at + 1
            }
        }
    }

    fn complete(&mut self, on_piece: &mut impl FnMut(OutputPiece<'_>)) {
        match self.document.bytes() {
            Some(document) => on_piece(OutputPiece::Document(document)),
            None => on_piece(OutputPiece::TooLong),
        }
        self.document.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::shortened_document::{HEAD, TAIL};
    use super::*;

    fn pieces<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut all = Vec::new();
        let mut on_piece = |piece: OutputPiece<'_>| {
            all.push(match piece {
                OutputPiece::Document(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                OutputPiece::TooLong => "too long".into(),
                OutputPiece::Text => "text".into(),
            });
        };
        let mut documents = DocumentScanner::new();
        chunks
            .into_iter()
            .for_each(|chunk| documents.push(chunk, &mut on_piece));
        documents.finish(&mut on_piece);
        all
    }

    #[test]
    fn documents_are_found_as_programs_print_them() {
        for (output, expected) in [
            ("{\"a\":1}\n{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"][..]),
            ("{\"a\":1}\r\n\n  {\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]),
            ("\u{feff}{\"a\":1}", &["{\"a\":1}"]),
            (
                "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n",
                &["{\n  \"a\": {\n    \"b\": 1\n  }\n}"],
            ),
            ("[{\"a\":1},{\"b\":[2]}]\n", &["{\"a\":1}", "{\"b\":[2]}"]),
            (
                "[\n {\"a\":1},\n {\"b\":2}\n]\nbye",
                &["{\"a\":1}", "{\"b\":2}", "text"],
            ),
            ("{\"a\":\"}{\\\"\"}", &["{\"a\":\"}{\\\"\"}"]),
            ("{\"a\":1}{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]),
            ("[INFO] {\"a\":1}\n{\"b\":2}\n", &["text", "{\"b\":2}"]),
            ("say {\"a\":1}\n", &["text"]),
            ("{\"a\":1} he said\n{\"b\":2}\n", &["text", "{\"b\":2}"]),
            // Cut off, then a new one.
            ("{\"a\":[1,\n{\"b\":2}\n", &["text", "{\"b\":2}"]),
            ("{\"a\":\"bc\n{\"b\":2}\n", &["text", "{\"b\":2}"]),
            ("{\"a\":", &["text"]),
            ("", &[]),
            ("\n \n", &[]),
        ] {
            assert_eq!(pieces([output.as_bytes()]), expected, "{output:?}");
        }
    }

    #[test]
    fn a_long_string_keeps_both_of_its_ends() {
        let long = format!("begin{}\\u00e9\\\"end", "é\\n".repeat(HEAD + TAIL));
        let piece_texts = pieces([format!("{{\"a\":\"{long}\",\"b\":2}}\n").as_bytes()]);
        let value: Value = serde_json::from_str(&piece_texts[0]).expect("still JSON");
        let text = value["a"].as_str().expect("still a text");
        assert!(
            text.starts_with("beginé\né") && text.ends_with("é\"end"),
            "{}",
            &text[text.len() - 20..]
        );
        assert!(piece_texts[0].len() < HEAD + 2 * TAIL + 100 && value["b"] == 2);
    }

    #[test]
    fn surrogate_pair_is_never_cut() {
        for shift in 0..12 {
            let long = format!(
                "{}{}",
                "x".repeat(shift),
                "\\ud83d\\ude00".repeat((HEAD + 3 * TAIL) / 12)
            );
            let piece_texts = pieces([format!("{{\"a\":\"{long}\"}}").as_bytes()]);
            let value: Value = serde_json::from_str(&piece_texts[0]).expect("still JSON");
            assert!(value["a"].as_str().expect("a text").ends_with('😀'));
        }
    }

    #[test]
    fn oversized_document_is_skipped_without_losing_the_next() {
        let long = format!("{{\"a\":[{}0]}}\n{{\"b\":2}}\n", "0,".repeat(DOCUMENT));
        assert_eq!(pieces([long.as_bytes()]), ["too long", "{\"b\":2}"]);
    }

    fn any_output() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            Just(b"{\"type\":\"x\",\"t\":\"a\\\"b\\\\\"}\n".to_vec()),
            Just(b"[{\"a\":1},{\"b\":{}}]\n".to_vec()),
            Just(b"{\n \"a\": [1,\n 2]\n}\n".to_vec()),
            Just("text é\n".as_bytes().to_vec()),
            prop::sample::select(b"{}[]\",:\\\n \xef\xbb\xbfu0d8aZ".to_vec())
                .prop_map(|byte| vec![byte]),
            prop::collection::vec(any::<u8>(), 0..12),
            Just(format!("{{\"s\":\"{}\"}}\n", "é\\u00e9\\ud83d\\ude00".repeat(9000)).into_bytes()),
        ];
        prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn where_chunks_end_makes_no_difference(output in any_output(), sizes in prop::collection::vec(1_usize..5000, 1..40)) {
            let mut unsplit = &output[..];
            let mut chunks = Vec::new();
            for size in sizes.iter().cycle() {
                if unsplit.is_empty() {
                    break;
                }
                let (chunk, more) = unsplit.split_at((*size).min(unsplit.len()));
                chunks.push(chunk);
                unsplit = more;
            }
            prop_assert_eq!(pieces(chunks), pieces([&output[..]]));
        }
    }
}
