//! The context that `watchdog evaluate` takes: what is read is written, and read as the same.

use watchdog_core::checks::{context_from_json, context_from_value, context_to_json};

/// Reads an input as a context.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let context = match context_from_json(text) {
        Ok(context) => context,
        Err(error) => return assert!(!error.why.is_empty(), "a refusal says why"),
    };
    assert!(
        !context.from_host,
        "what a caller gives is not the host's word"
    );
    let written = context_to_json(&context);
    let again = context_from_value(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(context_to_json(&again), written, "twice is once");
    if written.get("cut").is_none() {
        assert_eq!(again, context, "{written}");
    }
    let usage = &context.usage;
    assert!(
        usage
            .cost_usd
            .is_none_or(|cost| cost.is_finite() && cost >= 0.0),
        "{:?} is no price",
        usage.cost_usd
    );
}
