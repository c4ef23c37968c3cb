//! The dialect of flat keys: `completion_check_max_probes`, `completion_check_probe_interval`, `enable_smart_completion_check`.

use std::time::Duration;

use super::super::reader::{ConfigSection, put, small};
use super::super::settings::CompletionSettings;
use super::completion_check::MAX_PROBES;

/// The keys of this dialect; they stand at the top of the file.
pub(in super::super) const KEYS: &[&str] =
    &["completion_check_max_probes", "completion_check_probe_interval", "enable_smart_completion_check"];

/// Reads the flat keys of the top of the file. `block` is the `completion_check` block, which must not contradict them.
pub(in super::super) fn read(top: &ConfigSection<'_>, block: Option<&super::super::reader::ConfigNode<'_>>, into: &mut CompletionSettings) {
    let probes = top.get(KEYS[0]).and_then(|n| n.whole(0..=MAX_PROBES)).map(small);
    let interval = top.get(KEYS[1]).and_then(|n| n.seconds(0));
    if block.is_some_and(|b| b.has("max_probes")) && probes.is_some_and(|n| n != into.max_probes) {
        contradicts(top, KEYS[0], "completion_check.max_probes");
    }
    if block.is_some_and(|b| b.has("probe_interval_seconds")) && interval.is_some_and(|d: Duration| d != into.probe_interval) {
        contradicts(top, KEYS[1], "completion_check.probe_interval_seconds");
    }
    put(&mut into.max_probes, probes);
    put(&mut into.probe_interval, interval);
    if top.get(KEYS[2]).and_then(|n| n.flag()) == Some(false) {
        into.max_probes = 0;
        top.note(KEYS[2], "false asks no agent: read as `completion_check.max_probes`: 0");
    }
}

fn contradicts(top: &ConfigSection<'_>, key: &str, other: &str) {
    if let Some(node) = top.get(key) {
        node.wrong(format!("contradicts `{other}`; keep one"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, notes, reads};

    #[test]
    fn flat_keys_are_read() {
        let found =
            reads(r#"{"enable_smart_completion_check": true, "completion_check_max_probes": 7, "completion_check_probe_interval": 45}"#);
        assert_eq!((found.completion_check.max_probes, found.completion_check.probe_interval), (7, Duration::from_secs(45)));
    }

    #[test]
    fn a_disabled_check_asks_nobody_and_says_so() {
        let text = r#"{"enable_smart_completion_check": false, "completion_check_max_probes": 7}"#;
        assert_eq!(reads(text).completion_check.max_probes, 0);
        assert!(notes(text)[0].contains("enable_smart_completion_check"));
    }

    #[test]
    fn two_dialects_may_agree_and_not_contradict() {
        let both = |n: u32| format!(r#"{{"completion_check": {{"max_probes": 5}}, "completion_check_max_probes": {n}}}"#);
        assert_eq!(reads(&both(5)).completion_check.max_probes, 5);
        fails(&both(7), "completion_check_max_probes: contradicts `completion_check.max_probes`; keep one");
        fails(r#"{"completion_check_max_probes": "7"}"#, "completion_check_max_probes: expected a whole number");
        fails(r#"{"enable_smart_completion_check": 1}"#, "enable_smart_completion_check: expected true or false");
        fails(r#"{"completion_check_probes": 1}"#, "did you mean `completion_check_max_probes`?");
    }
}
