//! Reads a whole output into what happened, in the order in which it was printed: events of a known program, and lines that are none.
//!
//! The parent module [`super`] defines the events; until the first, an output is plain lines.
//! Events that come after plain lines are held back
//! until something shows what they are: a further line of text makes them a quotation, the end of the output or many of them make it
//! events. In an output of events no JSON is ever a line: an unknown event, or half of one, is [`SessionEvent::Unread`].

use serde_json::Value;
use watchdog_facts::session_event::SessionEvent;
use watchdog_process::plain_text::plain_text;

use super::documents::{DocumentScanner, OutputPiece};
use super::event_reader::opens_a_session;
use super::fields::{cut_middle, get_text};
use super::reader_format::{ReaderFormat, TakenEvent};
use super::session_fold::SessionFold;
use super::stream_rules::StreamFormat;

/// Bytes of output that are kept until it is clear what they are.
const PENDING: usize = 1 << 20;
/// Bytes of one plain line.
const LINE: usize = 64 << 10;
/// The note of the log about bytes it left out, around their number.
const GAP: (&str, &str) = ("[watchdog: ", " bytes are left out here]");

/// The reader.
#[derive(Debug)]
pub struct OutputEvents {
    documents: DocumentScanner,
    fold: SessionFold,
    /// Which events are read.
    format: ReaderFormat,
    believed: bool,
    begun: bool,
    /// A line that has not ended, so that the boundaries of chunks make no difference.
    unended: Vec<u8>,
    /// Output since the last piece.
    pending: PendingLines,
    /// Events while they are not believed, with the output that they came in.
    unbelieved: Option<(Vec<SessionEvent>, PendingLines)>,
    /// The last line was half an event, so that the next may be its other half.
    in_half: bool,
    events: Vec<SessionEvent>,
}

/// Lines of bounded size.
#[derive(Debug, Default)]
struct PendingLines {
    bytes: Vec<u8>,
    /// The start of the last line.
    last: usize,
    dropped: bool,
}

/// A piece of the output, in memory of its own.
enum OwnPiece {
    Document(Value),
    TooLong,
    Text,
}

impl Default for OutputEvents {
    fn default() -> Self {
        OutputEvents {
            documents: DocumentScanner::new(),
            fold: SessionFold::recording(),
            format: ReaderFormat::default(),
            believed: false,
            begun: false,
            unended: Vec::new(),
            pending: PendingLines::default(),
            unbelieved: None,
            in_half: false,
            events: Vec::new(),
        }
    }
}

impl OutputEvents {
    /// A reader of known events, such as a transcript, whatever their beginning.
    pub fn of_events() -> Self {
        OutputEvents {
            believed: true,
            ..OutputEvents::default()
        }
    }

    /// A reader that reads the rules of this `stream` block as well.
    pub fn of_anyone(read_as: Option<&StreamFormat>) -> Self {
        OutputEvents {
            format: ReaderFormat::of_anyone(read_as),
            ..OutputEvents::default()
        }
    }

    /// Takes the next bytes, and returns what they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<SessionEvent> {
        for mut part in bytes.split_inclusive(|byte| *byte == b'\n') {
            while !part.is_empty() {
                let (now, later) = part.split_at(part.len().min(PENDING - self.unended.len()));
                self.unended.extend_from_slice(now);
                if now.ends_with(b"\n") || self.unended.len() == PENDING {
                    self.take_line();
                }
                part = later;
            }
        }
        std::mem::take(&mut self.events)
    }

    /// Takes a line, or as much of it as fits.
    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.unended);
        self.pending.push(&line);
        let mut pieces = Vec::new();
        self.documents
            .push(&line, &mut |piece| pieces.push(OwnPiece::from_piece(piece)));
        // A document that began with this line cut off the text before it.
        let cuts = matches!(pieces.first(), Some(OwnPiece::Text))
            && (pieces.len() > 1 || self.documents.is_open());
        for (at, piece) in pieces.into_iter().enumerate() {
            self.take(piece, cuts && at == 0);
        }
        if line.ends_with(b"\n") {
            self.pending.end_line();
        }
    }

    /// The output has ended: returns what that completes.
    pub fn finish(&mut self) -> Vec<SessionEvent> {
        self.take_line();
        let mut pieces = Vec::new();
        self.documents
            .finish(&mut |piece| pieces.push(OwnPiece::from_piece(piece)));
        for piece in pieces {
            self.take(piece, false);
        }
        // The output ends with the events that were held back.
        if let Some((events, _)) = self.unbelieved.take() {
            self.events.extend(events);
            self.believed = true;
        }
        let pending_bytes = self.pending.take();
        // The end of an array, or blank lines.
        if !self.believed && !pending_bytes.iter().all(u8::is_ascii_whitespace) {
            self.lines(&pending_bytes, false);
        }
        std::mem::take(&mut self.events)
    }

    fn take(&mut self, piece: OwnPiece, before_this_line: bool) {
        let first = !std::mem::replace(&mut self.begun, true);
        match piece {
            OwnPiece::Text => {
                self.emit_quoted_lines();
                let dropped = self.pending.dropped;
                let lines = if before_this_line {
                    self.pending.take_before_last()
                } else {
                    self.pending.take()
                };
                self.lines(&lines, dropped);
            }
            OwnPiece::TooLong => {
                let lines = self.pending.take();
                if self.believed {
                    self.events.push(SessionEvent::Unread {
                        what: "an event that is too long to be read".into(),
                    });
                } else {
                    self.emit_quoted_lines();
                    self.lines(&lines, true);
                }
            }
            OwnPiece::Document(event) => self.event(&event, first),
        }
    }

    fn event(&mut self, event: &Value, first: bool) {
        let error = self.fold.reported.error.clone();
        // A name that no program has: an event that says how the session ended replaces it.
        let before = self.fold.reported.ended.replace(String::new());
        let taken = self.format.take(&mut self.fold, event);
        let is_known = taken.is_some();
        if self.fold.reported.dialect.is_none() || opens_a_session(event) {
            self.fold.reported.dialect = taken
                .and_then(TakenEvent::dialect)
                .or(self.fold.reported.dialect);
        }
        let mut events = self.fold.take_events();
        match self.fold.reported.ended.clone() {
            Some(how) if how.is_empty() => self.fold.reported.ended = before,
            None => {}
            Some(how) => {
                events.push(SessionEvent::Ended {
                    how,
                    error: self.fold.reported.error.clone(),
                    usage: self.fold.figures.usage(),
                });
                self.fold.is_over();
            }
        }
        let ended = events
            .iter()
            .any(|event| matches!(event, SessionEvent::Ended { .. }));
        if let Some(message) = self
            .fold
            .reported
            .error
            .clone()
            .filter(|_| !ended && self.fold.reported.error != error)
        {
            events.push(SessionEvent::Fault { message });
        }
        self.in_half = false;
        let is_one = taken
            .is_some_and(|taken| first || opens_a_session(event) || self.format.believes(taken));
        if is_one && !self.believed {
            self.believed = true;
            if let Some((held, _)) = self.unbelieved.take() {
                self.events.extend(held);
            }
        }
        let named = || self.format.rules().and_then(|rules| rules.kind(event));
        let kind = get_text(event, "type")
            .or_else(|| get_text(event, "event"))
            .or_else(named);
        match (is_known, kind) {
            (true, _) if self.believed => {
                self.pending.take();
                self.events.extend(events);
            }
            (true, _) => self.hold(events),
            // A member of an array, whose first one was printed.
            (false, _) if self.pending.bytes.is_empty() => {}
            (false, Some(kind)) if self.believed => {
                self.pending.take();
                self.events.push(SessionEvent::Unread {
                    what: cut_middle(kind, 100),
                });
            }
            (false, _) => {
                self.emit_quoted_lines();
                let lines = self.pending.take();
                self.lines(&lines, false);
            }
        }
    }

    /// Keeps events until it is clear whether they are quoted.
    fn hold(&mut self, events: Vec<SessionEvent>) {
        let lines = self.pending.take();
        let (held, bytes) = self.unbelieved.get_or_insert_default();
        held.extend(events);
        bytes.push(&lines);
        if bytes.dropped {
            let (held, _) = self.unbelieved.take().unwrap_or_default();
            self.believed = true;
            self.events.extend(held);
        }
    }

    /// Takes the events that were held back as a quotation.
    fn emit_quoted_lines(&mut self) {
        if let Some((_, mut lines)) = self.unbelieved.take() {
            let lines = lines.take();
            self.lines(&lines, false);
        }
    }

    fn lines(&mut self, bytes: &[u8], dropped: bool) {
        if bytes.is_empty() {
            return;
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut raw = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(line) = raw.next() {
            let mark = if dropped && raw.peek().is_none() {
                " [...]"
            } else {
                ""
            };
            // Without a terminal's controls; a lone CR makes lines of its own.
            let shown = plain_text(line).text;
            shown.split('\n').for_each(|line| self.line(line, mark));
        }
    }

    fn line(&mut self, line: &str, mark: &str) {
        if let Some(bytes) = line
            .strip_prefix(GAP.0)
            .and_then(|after_mark| after_mark.strip_suffix(GAP.1)?.parse().ok())
        {
            self.events.push(SessionEvent::Gap { bytes });
            // The following output begins in the middle of a line.
            self.in_half = true;
            return;
        }
        let trimmed = line.trim();
        if self.believed && (is_half_an_event(trimmed) || (self.in_half && is_other_half(trimmed)))
        {
            // Its other half may follow, where another stream wrote between the two.
            self.in_half = !trimmed.ends_with('}');
            self.events.push(SessionEvent::Unread {
                what: "half an event".into(),
            });
            return;
        }
        if self.believed && matches!(trimmed, "[" | "]" | "," | "],") {
            return;
        }
        self.events.push(SessionEvent::Line {
            text: format!("{}{mark}", cut_middle(line, LINE)),
        });
    }
}

fn is_half_an_event(line: &str) -> bool {
    line.starts_with("{\"") || line.starts_with("[{\"")
}

fn is_other_half(line: &str) -> bool {
    line.ends_with('}') || line.ends_with("}]") || line.ends_with("},")
}

impl OwnPiece {
    fn from_piece(piece: OutputPiece<'_>) -> Self {
        match piece {
            // A piece that only looks like a document is text.
            OutputPiece::Document(bytes) => {
                serde_json::from_slice(bytes).map_or(OwnPiece::Text, OwnPiece::Document)
            }
            OutputPiece::TooLong => OwnPiece::TooLong,
            OutputPiece::Text => OwnPiece::Text,
        }
    }
}

impl PendingLines {
    fn push(&mut self, bytes: &[u8]) {
        let room = PENDING.saturating_sub(self.bytes.len());
        self.dropped |= room < bytes.len();
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        self.last = self.bytes.len();
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).bytes
    }

    fn take_before_last(&mut self) -> Vec<u8> {
        let last = self.bytes.split_off(self.last);
        let before = self.take();
        self.bytes = last;
        before
    }
}

#[cfg(test)]
#[path = "output_events_tests.rs"]
mod tests;
