//! Reads an output in chunks, as it arrives, and provides its state at any moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use watchdog_process::OutputReader;

use super::dialect::StreamDialect;
use super::documents::{DocumentScanner, OutputPiece};
use super::event_reader::opens_a_session;
use super::figures::TokenCounts;
use super::reader_format::{ReaderFormat, TakenEvent};
use super::session_fold::{SessionFold, SessionSummary};
use super::stream_rules::StreamFormat;
use watchdog_facts::context::SessionUsage;
use watchdog_facts::display::escape_to_one_line;
use watchdog_process::output::OutputTail;
use watchdog_process::plain_text::plain_text;

/// Bytes of plain text that are kept: its end.
pub(super) const TEXT: usize = 128 << 10;
/// Characters of a line that is shown while the session runs.
const LINE: usize = 300;

/// Reads an output in chunks of any size.
#[derive(Debug)]
pub struct StreamReader {
    documents: DocumentScanner,
    events: StreamFold,
    tail: OutputTail,
    /// The session by its transcript, where the output is no events.
    transcript: Option<SessionView>,
}

/// The state of reading an output.
#[derive(Debug, Default)]
struct StreamFold {
    gathered: SessionFold,
    /// Which events are read.
    format: ReaderFormat,
    /// Whose session it is by its preset.
    named: Option<StreamDialect>,
    /// Whether a rule spoke of an event.
    ruled: bool,
    /// Whether anything was printed yet.
    begun: bool,
    believed: bool,
    last_is_event: bool,
    /// Whether the last thing was the final result.
    last_is_result: bool,
}

/// The state of a session while it runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionView {
    /// Whether its output is the events of a known program.
    pub structured: bool,
    /// The usage of this run of the session so far, as far as reported.
    pub usage: SessionUsage,
    /// The last line that the agent said, at most 300 characters. Not escaped.
    pub last_line: String,
    /// How many tasks run in the background.
    pub background_tasks: usize,
    /// How often the agent retried a request to the service, as far as its program prints it.
    pub retries: u64,
    /// The program's own id for the session, once it was reported.
    pub session_id: Option<String>,
    /// Tools that were called and have not answered yet.
    pub calls: Vec<String>,
    /// The last of them with its target, in one line. Not escaped.
    pub call: String,
    /// Whether it told its final result, nothing after that, and no task that runs in the background.
    pub finished: bool,
}

impl SessionView {
    /// What the agent does now: the tool that it called with its target, and its last line. Fit for a terminal.
    pub fn describe_activity(&self) -> String {
        let parts = [&self.call, &self.last_line].map(|part| escape_to_one_line(part.trim()));
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" · ")
    }
}

impl Default for StreamReader {
    fn default() -> Self {
        StreamReader {
            documents: DocumentScanner::new(),
            events: StreamFold::default(),
            tail: OutputTail::new(TEXT),
            transcript: None,
        }
    }
}

impl StreamReader {
    /// A reader of this format alone, for a session whose program is known.
    pub fn with_format(format: &StreamFormat) -> Self {
        StreamReader::of_format(format.into())
    }

    fn of_format(format: ReaderFormat) -> Self {
        StreamReader {
            events: StreamFold {
                format,
                ..StreamFold::default()
            },
            ..StreamReader::default()
        }
    }

    /// A reader of known events, such as a transcript, whatever their beginning.
    pub(crate) fn of_events() -> Self {
        StreamReader {
            events: StreamFold {
                believed: true,
                ..StreamFold::default()
            },
            ..StreamReader::default()
        }
    }

    /// The summary of a session from the end of its events: the sums are those that the program itself reported.
    pub(crate) fn finish_part(&mut self) -> SessionSummary {
        let summary = self.finish();
        SessionSummary {
            usage: self.events.gathered.figures.reported_usage(),
            ..summary
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let StreamReader {
            documents,
            events,
            tail,
            ..
        } = self;
        tail.push(bytes);
        documents.push(bytes, &mut |piece| events.take(piece));
    }

    /// The present state of the session.
    pub fn view(&self) -> SessionView {
        let gathered = &self.events.gathered;
        if !self.events.believed {
            let end = self.tail.clone().into_bytes();
            let text = plain_text(&end[end.len().saturating_sub(8 << 10)..]).text;
            return SessionView {
                last_line: last_line(&text),
                ..SessionView::default()
            };
        }
        SessionView {
            structured: true,
            usage: gathered.figures.usage(),
            last_line: last_line(gathered.last_text().unwrap_or_default()),
            background_tasks: gathered.running(),
            retries: gathered.reported.retries,
            session_id: gathered.session_id().map(str::to_owned),
            calls: gathered.list_open_calls(),
            call: gathered.describe_open_call(),
            finished: self.events.last_is_result && gathered.running() == 0,
        }
    }

    /// The summary of the session, once its output has ended.
    pub fn finish(&mut self) -> SessionSummary {
        let StreamReader {
            documents,
            events,
            tail,
            ..
        } = self;
        documents.finish(&mut |piece| events.take(piece));
        if events.believed || events.last_is_event {
            events.believed = true;
            let summary = events.gathered.summary();
            // If no event matched them, the rules make no promise about its end.
            return match events.format.rules().filter(|_| events.ruled) {
                Some(rules) => SessionSummary {
                    ruled: true,
                    expects_end: rules.tell_an_end(),
                    prints_retries: rules.tell_retries(),
                    ..summary
                },
                None => summary,
            };
        }
        let text = plain_text(&tail.clone().into_bytes()).text;
        let text = text.trim();
        let dialect = match events.format {
            ReaderFormat::Dialect(dialect) => Some(dialect),
            ReaderFormat::Any | ReaderFormat::Rules(_) | ReaderFormat::RulesOrAny(_) => {
                events.named
            }
        };
        SessionSummary {
            output: (!text.is_empty()).then(|| text.to_owned()),
            dialect,
            ..SessionSummary::default()
        }
    }
}

impl StreamFold {
    fn take(&mut self, piece: OutputPiece<'_>) {
        let first = !std::mem::replace(&mut self.begun, true);
        match piece {
            OutputPiece::Text => (self.last_is_event, self.last_is_result) = (false, false),
            OutputPiece::TooLong => {
                self.gathered.reported.passed_over += 1;
                self.last_is_result = false;
            }
            OutputPiece::Document(bytes) => {
                let event = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
                // A name that no program has: whether this event says that the session is over shows in its being replaced.
                let before = self.gathered.reported.ended.replace(String::new());
                let opens = opens_a_session(&event);
                let taken = self.format.take(&mut self.gathered, &event);
                self.last_is_event = taken.is_some();
                self.ruled |= taken == Some(TakenEvent::ByRule);
                // Output of a script before a session is not its program's.
                if self.gathered.reported.dialect.is_none() || opens {
                    self.gathered.reported.dialect = taken
                        .and_then(TakenEvent::dialect)
                        .or(self.gathered.reported.dialect);
                }
                if self.gathered.reported.ended.as_deref() == Some("") {
                    self.gathered.reported.ended = before;
                    self.last_is_result = false;
                } else {
                    self.last_is_result = self.gathered.reported.ended.is_some();
                }
                if self.last_is_result {
                    self.gathered.is_over();
                }
                self.believed |=
                    taken.is_some_and(|taken| first || opens || self.format.believes(taken));
            }
        }
    }
}

/// The last line with text, cut.
fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    line.chars().take(LINE).collect()
}

/// A reader that one thread feeds and others read.
#[derive(Debug, Clone, Default)]
pub struct StreamTap(Arc<Mutex<StreamReader>>);

impl OutputReader for StreamTap {
    fn push(&self, bytes: &[u8]) {
        self.reader().push(bytes);
    }
}

impl StreamTap {
    /// A reader of this format alone, for a session whose program is known: a dialect, or the rules of a user's own preset.
    pub fn with_format(format: &StreamFormat) -> Self {
        StreamTap(Arc::new(Mutex::new(StreamReader::with_format(format))))
    }

    /// A reader for a session of an agent with this `stream` block. Rules are read alone; a dialect says whose session it is where its
    /// program printed no event, and events of any other are read as well, as its program may be a script that starts another agent.
    pub fn of_preset(stream: Option<&StreamFormat>) -> Self {
        match stream {
            Some(format @ StreamFormat::Rules(_)) => StreamTap::with_format(format),
            Some(StreamFormat::Dialect(dialect)) => {
                let tap = StreamTap::default();
                tap.reader().events.named = Some(*dialect);
                tap
            }
            None => StreamTap::default(),
        }
    }

    /// A reader for a session whose agent no command line names. `configured` is the `stream` block of the configured preset: its rules
    /// are read, and the events of every dialect as well.
    pub fn of_anyone(configured: Option<&StreamFormat>) -> Self {
        StreamTap(Arc::new(Mutex::new(StreamReader::of_format(
            ReaderFormat::of_anyone(configured),
        ))))
    }

    /// Tokens of earlier runs, by session: programs that count a whole session are told to have spent only the rest.
    pub fn continues(&self, earlier: HashMap<String, TokenCounts>) {
        self.reader().events.gathered.earlier = earlier;
    }

    /// Takes the state that a transcript shows.
    pub fn show_transcript(&self, view: Option<SessionView>) {
        self.reader().transcript = view;
    }

    /// The state to show a person: an output that is no events says less than a transcript.
    pub fn live_view(&self) -> SessionView {
        let reader = self.reader();
        let view = reader.view();
        let transcript = reader.transcript.clone();
        transcript.filter(|_| !view.structured).unwrap_or(view)
    }

    /// The present state of the session.
    pub fn view(&self) -> SessionView {
        self.reader().view()
    }

    /// The summary of the session, once its output has ended.
    pub fn finish(&self) -> SessionSummary {
        self.reader().finish()
    }

    fn reader(&self) -> MutexGuard<'_, StreamReader> {
        // A reader that panicked stays readable: a partial state is better than none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
