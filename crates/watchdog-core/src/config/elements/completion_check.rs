//! `completion_check`: how often and how long the agent is probed.

use super::super::key_kinds::{FLAG, seconds, whole};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::settings::{CompletionSettings, ConfigSettings};

/// More rounds than this are a mistake.
pub(in super::super) const MAX_PROBES: u64 = 10_000;

pub(in super::super) static BLOCK: KeyBlock<CompletionSettings> = KeyBlock {
    name: "completion_check",
    defaults: || ConfigSettings::default().completion_check,
    keys: keys! { CompletionSettings;
        "max_probes" => max_probes: whole(0..=MAX_PROBES), "rounds at most; 0 asks nobody";
        "probe_interval_seconds" => probe_interval: seconds(0), "pause between rounds; a commit cuts it short";
        "probe_timeout_seconds" => probe_timeout: seconds(1), "deadline of one probe";
        "final_rescue_attempt" => final_rescue_attempt: FLAG, "whether uncommitted work is rescued after the last round";
    },
    rules: no_rules,
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, reads};

    #[test]
    fn empty_file_means_five_probes_thirty_seconds_apart() {
        let completion_check = reads("{}").completion_check;
        assert_eq!(
            (
                completion_check.max_probes,
                completion_check.probe_interval,
                completion_check.probe_timeout
            ),
            (5, Duration::from_secs(30), Duration::from_secs(60))
        );
        assert!(completion_check.final_rescue_attempt);
    }

    #[test]
    fn every_key_is_read() {
        let settings = reads(
            r#"{"completion_check": {"max_probes": 0, "probe_interval_seconds": 0, "probe_timeout_seconds": 7, "final_rescue_attempt": false}}"#,
        );
        let completion_check = settings.completion_check;
        assert_eq!(
            (
                completion_check.max_probes,
                completion_check.probe_interval,
                completion_check.probe_timeout
            ),
            (0, Duration::ZERO, Duration::from_secs(7))
        );
        assert!(!completion_check.final_rescue_attempt);
    }

    #[test]
    fn misspelt_key_names_path_place_and_nearest_key() {
        fails(
            "{\n  \"completion_check\": {\"max_probse\": 5}\n}",
            "completion.json:2:24: completion_check.max_probse: unknown key, did you mean `max_probes`?",
        );
    }

    #[test]
    fn wrong_type_names_expected_and_actual_type() {
        let whole = "completion_check.max_probes: expected a whole number from 0 to 10000, found ";
        for (value, found) in [
            ("\"5\"", "the text \"5\""),
            ("-1", "the number -1"),
            ("5.5", "the number 5.5"),
            ("5e0", "the number 5e0"),
            (
                "99999999999999999999999",
                "the number 99999999999999999999999",
            ),
            ("10001", "the number 10001"),
            ("null", "null"),
            ("[5]", "a list"),
        ] {
            fails(
                &format!(r#"{{"completion_check": {{"max_probes": {value}}}}}"#),
                &format!("{whole}{found}"),
            );
        }
        fails(
            r#"{"completion_check": {"probe_timeout_seconds": 0}}"#,
            "probe_timeout_seconds: expected whole seconds from 1 to ",
        );
        fails(
            r#"{"completion_check": {"probe_interval_seconds": "30s"}}"#,
            "found the text \"30s\"",
        );
        fails(
            r#"{"completion_check": {"final_rescue_attempt": "yes"}}"#,
            "expected true or false, found the text \"yes\"",
        );
        fails(
            r#"{"completion_check": 5}"#,
            "completion_check: expected an object, found the number 5",
        );
    }

    #[test]
    fn misplaced_key_error_names_its_proper_place() {
        fails(
            r#"{"max_probes": 5}"#,
            "max_probes: unknown key here, it belongs in `completion_check`",
        );
        fails(
            r#"{"completion_check": {"on_no_criteria": "git"}}"#,
            "it belongs at the top of the file",
        );
    }
}
