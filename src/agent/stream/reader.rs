//! Reads an output in chunks, as it arrives, and provides its state at any moment.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use watchdog_process::OutputReader;

use super::documents::{DocumentScanner, OutputPiece};
use super::session_fold::{SessionFold, SessionSummary};
use super::{antigravity, claude, codex, fields, gemini, opencode};
use watchdog_facts::context::SessionUsage;
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
}

/// The state of reading an output.
#[derive(Debug, Default)]
struct StreamFold {
    gathered: SessionFold,
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
    /// How often the agent retried a request to the service.
    pub retries: u64,
    /// The program's own id for the session, once it was reported.
    pub session_id: Option<String>,
    /// Tools that were called and have not answered yet.
    pub calls: Vec<String>,
    /// Whether it told its final result, nothing after that, and no task that runs in the background.
    pub finished: bool,
}

impl Default for StreamReader {
    fn default() -> Self {
        StreamReader { documents: DocumentScanner::new(), events: StreamFold::default(), tail: OutputTail::new(TEXT) }
    }
}

impl StreamReader {
    /// A reader of known events, such as a transcript, whatever their beginning.
    pub(in crate::agent) fn of_events() -> Self {
        StreamReader { events: StreamFold { believed: true, ..StreamFold::default() }, ..StreamReader::default() }
    }

    /// The summary of a session from the end of its events: the sums are those that the program itself reported.
    pub(in crate::agent) fn finish_part(&mut self) -> SessionSummary {
        let summary = self.finish();
        SessionSummary { usage: self.events.gathered.figures.reported_usage(), ..summary }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let StreamReader { documents, events, tail } = self;
        tail.push(bytes);
        documents.push(bytes, &mut |piece| events.take(piece));
    }

    /// The present state of the session.
    pub fn view(&self) -> SessionView {
        let gathered = &self.events.gathered;
        if !self.events.believed {
            let end = self.tail.clone().into_bytes();
            let text = plain_text(&end[end.len().saturating_sub(8 << 10)..]).text;
            return SessionView { last_line: last_line(&text), ..SessionView::default() };
        }
        SessionView {
            structured: true,
            usage: gathered.figures.usage(),
            last_line: last_line(gathered.said().unwrap_or_default()),
            background_tasks: gathered.running(),
            retries: gathered.retries,
            session_id: gathered.session_id().map(str::to_owned),
            calls: gathered.unanswered(),
            finished: self.events.last_is_result && gathered.running() == 0,
        }
    }

    /// The summary of the session, once its output has ended.
    pub fn finish(&mut self) -> SessionSummary {
        let StreamReader { documents, events, tail } = self;
        documents.finish(&mut |piece| events.take(piece));
        if events.believed || events.last_is_event {
            events.believed = true;
            return events.gathered.summary();
        }
        let text = plain_text(&tail.clone().into_bytes()).text;
        let text = text.trim();
        SessionSummary { output: (!text.is_empty()).then(|| text.to_owned()), ..SessionSummary::default() }
    }
}

impl StreamFold {
    fn take(&mut self, piece: OutputPiece<'_>) {
        let first = !std::mem::replace(&mut self.begun, true);
        match piece {
            OutputPiece::Text => (self.last_is_event, self.last_is_result) = (false, false),
            OutputPiece::TooLong => {
                self.gathered.passed_over += 1;
                self.last_is_result = false;
            }
            OutputPiece::Document(bytes) => {
                let event = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
                // A name that no program has: whether this event says that the session is over shows in its being replaced.
                let before = self.gathered.ended.replace(String::new());
                self.last_is_event = take(&mut self.gathered, &event);
                if self.gathered.ended.as_deref() == Some("") {
                    self.gathered.ended = before;
                    self.last_is_result = false;
                } else {
                    self.last_is_result = self.gathered.ended.is_some();
                }
                if self.last_is_result {
                    self.gathered.is_over();
                }
                self.believed |= self.last_is_event && (first || opens_a_session(&event));
            }
        }
    }
}

/// Takes an event of any known program; says whether it is one.
pub(super) fn take(gathered: &mut SessionFold, event: &Value) -> bool {
    event.is_object()
        && [claude::take, codex::take, opencode::take, gemini::take, antigravity::take].into_iter().any(|program| program(gathered, event))
}

/// Whether only a program that begins a session prints such an event.
pub(super) fn opens_a_session(event: &Value) -> bool {
    let kind = fields::text(event, "type").or_else(|| fields::text(event, "event"));
    match kind {
        Some("system") => fields::text(event, "subtype") == Some("init") && event.get("session_id").is_some(),
        Some("thread.started") => event.get("thread_id").is_some(),
        Some("init") => event.get("session_id").is_some() || event.get("conversation_id").is_some(),
        Some("step_start") => event.get("sessionID").is_some(),
        _ => false,
    }
}

/// The last line with text, cut.
fn last_line(text: &str) -> String {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
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
