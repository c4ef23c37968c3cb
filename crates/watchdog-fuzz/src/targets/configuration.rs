//! `completion.json` and its older dialects: every problem has a place, and what is read is written back as the same settings.

use std::path::Path;

use watchdog_core::config::{ParsedConfig, parse_bytes, parse_config, to_json};

/// Reads an input as a configuration.
pub fn run(input: &[u8]) {
    let origin = Path::new("completion.json");
    match parse_bytes(input, origin) {
        Err(error) => {
            assert!(!error.problems.is_empty(), "a refusal says why");
            let text = String::from_utf8_lossy(input);
            for problem in &error.problems {
                assert!(
                    problem.line >= 1 && problem.column >= 1 && !problem.message.is_empty(),
                    "{problem:?}"
                );
                assert!(
                    problem.line <= text.split('\n').count(),
                    "{problem:?} is behind the end"
                );
            }
            assert!(
                error.to_string().len() <= 100_000 + 8 * input.len(),
                "a message that nobody can read"
            );
        }
        Ok(ParsedConfig { settings, .. }) => {
            let _ = settings.commands();
            let written = to_json(&settings).to_string();
            let again =
                parse_config(&written, origin).unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(again.settings, settings, "{written}");
        }
    }
}
