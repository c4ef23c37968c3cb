//! Reads a transcript of Claude Code: all of a short one, the end of a long one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use memchr::{memchr, memrchr};

use super::stream::{SessionSummary, SessionView, StreamReader};
use super::tool_calls::describe_last_call;
use super::transcript_source::{COARSE, TranscriptSource};
use watchdog_system::read_behind;

/// Bytes of a transcript that are read, from its end, by default.
pub const WINDOW: u64 = 4 << 20;
/// Bytes that are read, from its end, to find calls without a result, or at a look at a session that runs.
const CALLS: u64 = 1 << 20;

/// Reads the last `window` bytes of a transcript, from the first whole line on.
///
/// Of a transcript that is longer, sums are those that Claude Code wrote down at the end of the last run; turns are unknown.
///
/// # Errors
/// When the file cannot be read.
pub fn read_transcript(path: &Path, window: u64) -> io::Result<SessionSummary> {
    // An extra byte: a line may begin just behind it.
    let (bytes, _) = read_behind(path, 0, window + 1)?;
    let part = bytes.len() as u64 > window;
    let cut = |end: usize| &bytes[end + 1..];
    let whole = if part {
        memchr(b'\n', &bytes).map_or(&[][..], cut)
    } else {
        &bytes
    };
    let mut reader = StreamReader::of_events();
    reader.push(whole);
    Ok(if part {
        reader.finish_part()
    } else {
        reader.finish()
    })
}

/// The last tool calls of a transcript that have no result yet.
pub fn unanswered_calls(path: Option<&Path>) -> Vec<String> {
    path.and_then(|path| read_transcript(path, CALLS).ok())
        .map(|transcript| transcript.unanswered)
        .unwrap_or_default()
}

/// Follows the transcript of a session that runs: a look reads what was appended since the last one.
pub struct TranscriptTail {
    source: TranscriptSource,
    folder: PathBuf,
    since: Timestamp,
    /// The transcript, and how far it was read.
    place: Option<(PathBuf, u64)>,
    reader: StreamReader,
    /// The last call of an agent whose transcript has other events than its output.
    call: String,
}

impl TranscriptTail {
    /// The transcript of the session that begins now in this folder.
    pub fn new(source: TranscriptSource, folder: &Path, since: Timestamp) -> Self {
        TranscriptTail {
            source,
            folder: folder.to_owned(),
            since,
            place: None,
            reader: StreamReader::of_events(),
            call: String::new(),
        }
    }

    /// What the agent does by its transcript; `None` as long as that shows nothing.
    pub fn read_on(&mut self) -> Option<SessionView> {
        if self.place.is_none() {
            self.place = self.find_begun();
        }
        let (path, place) = self.place.as_mut()?;
        let (mut bytes, begin) = read_behind(path, *place, CALLS).ok()?;
        bytes.truncate(memrchr(b'\n', &bytes).map_or(0, |end| end + 1));
        *place = begin + bytes.len() as u64;
        self.reader.push(&bytes);
        let mut view = self.reader.view();
        if view.describe_activity().is_empty() {
            let mut lines = bytes.rsplit(|byte| *byte == b'\n');
            let last = lines.find_map(|line| {
                let event = serde_json::from_slice(line).ok()?;
                describe_last_call(&event, &self.folder)
            });
            self.call = last.unwrap_or(std::mem::take(&mut self.call));
            view.call.clone_from(&self.call);
        }
        (!view.describe_activity().is_empty()).then_some(view)
    }

    /// The transcript that began last since the session did: an earlier one may be that of another session.
    fn find_begun(&self) -> Option<(PathBuf, u64)> {
        let since = Some(SystemTime::from(self.since) - COARSE);
        let files = self.source.listing(&self.folder, Some(self.since)).files;
        let begun = files.into_iter().filter(|file| file.begun >= since);
        begun
            .max_by_key(|file| file.begun)
            .map(|file| (file.path, 0))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

    /// Two turns, as Claude Code writes them down.
    fn transcript(padding: usize) -> String {
        let reply_line = |id: &str, text: &str| {
            json!({"type": "assistant", "sessionId": ID, "isSidechain": false, "message": {"id": id, "role": "assistant", "model": "m",
                   "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5}}})
        };
        let asked = |text: &str| json!({"type": "user", "sessionId": ID, "promptId": "p", "message": {"role": "user", "content": text}});
        let spent = |cost: f64, tokens: u64| {
            json!({"type": "cost-state", "sessionId": ID, "totalCostUSD": cost,
                   "modelUsage": {"m": {"inputTokens": tokens, "outputTokens": tokens / 2, "costUSD": cost}}})
        };
        let noise = json!({"type": "api-request", "sessionId": ID, "params": "x".repeat(padding)});
        let events = [
            json!({"type": "queue-operation", "operation": "enqueue", "sessionId": ID, "content": "hello"}),
            asked("hello"),
            reply_line("m1", "Hello."),
            spent(0.1, 10),
            noise,
            asked("go on"),
            reply_line("m2", "All done."),
            spent(0.2, 20),
        ];
        events.iter().map(|event| format!("{event}\n")).collect()
    }

    fn read_text(text: &str, window: u64) -> SessionSummary {
        let file = tempfile::NamedTempFile::new().expect("a scratch file");
        fs::write(file.path(), text).expect("it can be written");
        read_transcript(file.path(), window).expect("it can be read")
    }

    #[test]
    fn a_short_transcript_tells_everything() {
        let told = read_text(&transcript(1000), WINDOW);
        assert_eq!(
            (
                told.usage.turns,
                told.usage.input_tokens,
                told.usage.output_tokens
            ),
            (Some(2), Some(20), Some(10))
        );
        assert_eq!(
            (told.usage.cost_usd, told.session_id.as_deref()),
            (Some(0.2), Some(ID))
        );
        assert_eq!(
            (told.output.as_deref(), told.prompt.as_deref()),
            (Some("All done."), Some("go on"))
        );
        assert_eq!(told.messages.len(), 4);
        // A check sees them, too: words of the prompt are no claim of the agent.
        let context = told.context();
        assert_eq!(context.prompt.as_deref(), Some("go on"));
        assert_eq!(context.stop_reason, told.stop_reason);
        assert!(context.stop_reason.is_some());
    }

    #[test]
    fn long_transcript_uses_its_end_and_recorded_sums() {
        let text = transcript(200_000);
        let told = read_text(&text, 2000);
        assert_eq!(
            (
                told.usage.turns,
                told.usage.input_tokens,
                told.usage.cost_usd
            ),
            (None, Some(20), Some(0.2))
        );
        assert_eq!(
            (
                told.output.as_deref(),
                told.prompt.as_deref(),
                told.messages.len()
            ),
            (Some("All done."), Some("go on"), 2)
        );
        // Nothing written down in sight: unknown, not the sum of a part.
        let told = read_text(&text[..text.trim_end().rfind('\n').expect("lines")], 1000);
        assert_eq!(
            (
                told.output.as_deref(),
                told.usage.input_tokens,
                told.usage.cost_usd
            ),
            (Some("All done."), None, None)
        );
    }

    #[test]
    fn every_window_reads_lines_at_its_start() {
        let text = transcript(50);
        let at = text
            .find("{\"isSidechain\"")
            .or_else(|| text.find("{\"type\":\"assistant\""))
            .expect("an event begins there");
        assert!(read_text(&text, (text.len() - at) as u64).messages.len() > 2);
        for window in 0..text.len() as u64 + 10 {
            read_text(&text, window);
        }
    }

    #[test]
    fn missing_file_is_error_and_nonsense_is_empty() {
        assert!(read_transcript(Path::new("/nowhere/at/all.jsonl"), WINDOW).is_err());
        let told = read_text("nonsense\n{\"type\":1}\n\u{0}", WINDOW);
        assert_eq!((told.output, told.usage.turns), (None, None));
    }
}
