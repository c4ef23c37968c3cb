//! Reads a transcript of Claude Code: all of a short one, the end of a long one.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memchr;

use super::stream::{SessionSummary, StreamReader};
use watchdog_system::open_regular_file;

/// Bytes of a transcript that are read, from its end, by default.
pub const WINDOW: u64 = 4 << 20;
/// Bytes that are read, from its end, to find calls without a result.
const CALLS: u64 = 1 << 20;
/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// Reads the last `window` bytes of a transcript, from the first whole line on.
///
/// Of a transcript that is longer, sums are those that Claude Code wrote down at the end of the last run; turns are unknown.
///
/// # Errors
/// When the file cannot be read.
pub fn read_transcript(path: &Path, window: u64) -> io::Result<SessionSummary> {
    let mut file = open_regular_file(path)?;
    let size = file.metadata()?.len();
    let mut reader = StreamReader::of_events();
    let part = size > window;
    let mut within_line = part;
    if part {
        // Reads an extra byte: a line may begin just there.
        file.seek(SeekFrom::Start(size - window - 1))?;
    }
    // The next call reads later messages.
    let mut window_reader = file.take(size.min(window + 1));
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match window_reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut bytes = &buffer[..count];
        if within_line {
            match memchr(b'\n', bytes) {
                Some(end) => bytes = &bytes[end + 1..],
                None => continue,
            }
            within_line = false;
        }
        reader.push(bytes);
    }
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
