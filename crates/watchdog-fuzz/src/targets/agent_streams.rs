//! Outputs of agents while they run: the same whatever the chunks, by every preset's format, and no success that no event reported.

use std::sync::LazyLock;

use serde_json::json;
use watchdog_agent::preset::PresetCatalog;
use watchdog_agent::stream::{OutputEvents, SessionSummary, StreamFormat, StreamReader};

/// The format of every built-in preset, and one by rules of a user's own.
static FORMATS: LazyLock<Vec<StreamFormat>> = LazyLock::new(|| {
    let mut formats: Vec<StreamFormat> = Vec::new();
    for format in PresetCatalog::built_in().filter_map(|preset| preset.stream.clone()) {
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    let rules = json!({"events": [
        {"when": {"/type": "text"}, "session_id": "/session_id", "text_part": "/text", "input_tokens": "/usage/input_tokens", "usage_of": "session"},
        {"when": {"/type": "result"}, "text": "/result", "end": "completed", "cost_usd": "/total_cost_usd", "error": "/error/message"}]});
    if let Ok(rules) = serde_json::from_value(rules) {
        formats.push(rules);
    }
    formats
});

/// Reads an input as the output of any program, and as that of each preset.
pub fn run(input: &[u8]) {
    let mut any = StreamReader::default();
    any.push(input);
    check(input, &any.finish());
    for format in FORMATS.iter() {
        let mut whole = StreamReader::with_format(format);
        whole.push(input);
        check(input, &whole.finish());
    }
    in_chunks(input);
}

/// What no output may claim.
fn check(input: &[u8], summary: &SessionSummary) {
    if !input.contains(&b'{') {
        let ends = (
            summary.structured,
            summary.reports_success(),
            summary.structured_output.is_some(),
        );
        assert_eq!(ends, (false, false, false), "plain text reports no end");
    }
    assert!(
        summary.ended.is_none() || summary.structured,
        "only an event tells an end"
    );
    let texts = summary.messages.iter().map(|message| {
        message.text.as_ref().map_or(0, String::len)
            + message
                .tool_result
                .as_ref()
                .map_or(0, |result| result.content.len())
    });
    let kept = texts.sum::<usize>() + summary.output.as_ref().map_or(0, String::len);
    assert!(
        kept <= 8 * input.len() + 1000,
        "{kept} bytes are kept of {}",
        input.len()
    );
    let usage = &summary.usage;
    assert!(
        usage
            .cost_usd
            .is_none_or(|cost| cost.is_finite() && cost >= 0.0),
        "{:?} is no price",
        usage.cost_usd
    );
    let _ = summary.context();
}

/// The chunks in which an output arrives change nothing. Which chunks and whose format follows from the input.
fn in_chunks(input: &[u8]) {
    let drawn = input.iter().fold(input.len(), |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    let format = &FORMATS[drawn % FORMATS.len()];
    let chunks = || input.chunks(1 + drawn % 61);
    let mut whole = StreamReader::with_format(format);
    whole.push(input);
    let mut parts = StreamReader::with_format(format);
    for (n, chunk) in chunks().enumerate() {
        parts.push(chunk);
        // Looking changes nothing, and costs more than reading.
        if n % 32 == 0 {
            parts.view();
        }
    }
    assert_eq!(
        parts.finish(),
        whole.finish(),
        "{format:?}: the chunks change what is read"
    );

    let mut whole = OutputEvents::of_anyone(Some(format));
    let mut at_once = whole.push(input);
    at_once.extend(whole.finish());
    let mut parts = OutputEvents::of_anyone(Some(format));
    let mut bit_by_bit: Vec<_> = chunks().flat_map(|chunk| parts.push(chunk)).collect();
    bit_by_bit.extend(parts.finish());
    assert_eq!(
        bit_by_bit, at_once,
        "{format:?}: the chunks change what is shown"
    );
}
