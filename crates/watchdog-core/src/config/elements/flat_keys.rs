//! The dialect of flat keys: `completion_check_max_probes`, `completion_check_probe_interval`, `enable_smart_completion_check`.

use std::time::Duration;

use super::super::key_kinds::{FLAG, optional, seconds, whole};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::reader::{ConfigSection, overwrite_if_read};
use super::super::settings::CompletionSettings;
use super::completion_check::MAX_PROBES;

const PROBES: &str = "completion_check_max_probes";
const INTERVAL: &str = "completion_check_probe_interval";
const ENABLED: &str = "enable_smart_completion_check";

/// The keys of this dialect as they are written.
#[derive(Default)]
pub(in super::super) struct FlatKeys {
    probes: Option<u32>,
    interval: Option<Duration>,
    enabled: Option<bool>,
}

/// They are at the top of the file.
pub(in super::super) static BLOCK: KeyBlock<FlatKeys> = KeyBlock {
    name: "",
    defaults: FlatKeys::default,
    keys: keys! { FlatKeys;
        PROBES => probes: optional(whole(0..=MAX_PROBES)), "an older name of `completion_check.max_probes`";
        INTERVAL => interval: optional(seconds(0)), "an older name of `completion_check.probe_interval_seconds`";
        ENABLED => enabled: optional(FLAG), "false is `completion_check.max_probes`: 0";
    },
    rules: no_rules,
};

impl FlatKeys {
    /// Reads the flat keys of the top of the file.
    pub(in super::super) fn read_flat(top: &ConfigSection<'_>) -> Self {
        let mut keys = FlatKeys::default();
        BLOCK.read_keys(top, &mut keys);
        if keys.enabled == Some(false) {
            top.note(
                ENABLED,
                "false asks no agent: read as `completion_check.max_probes`: 0",
            );
        }
        keys
    }

    /// Lowers them into the block `completion_check`, which they must not contradict.
    pub(in super::super) fn lower(self, top: &ConfigSection<'_>, into: &mut CompletionSettings) {
        let block = top.get("completion_check");
        let given = |key: &str| block.as_ref().is_some_and(|block| block.has(key));
        if given("max_probes") && self.probes.is_some_and(|n| n != into.max_probes) {
            report_contradiction(top, PROBES, "completion_check.max_probes");
        }
        if given("probe_interval_seconds")
            && self.interval.is_some_and(|d| d != into.probe_interval)
        {
            report_contradiction(top, INTERVAL, "completion_check.probe_interval_seconds");
        }
        overwrite_if_read(&mut into.max_probes, self.probes);
        overwrite_if_read(&mut into.probe_interval, self.interval);
        if self.enabled == Some(false) {
            into.max_probes = 0;
        }
    }
}

fn report_contradiction(top: &ConfigSection<'_>, key: &str, contradicted: &str) {
    if let Some(node) = top.get(key) {
        node.wrong(format!("contradicts `{contradicted}`; keep one"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, notes, reads};

    #[test]
    fn flat_keys_are_read() {
        let settings = reads(
            r#"{"enable_smart_completion_check": true, "completion_check_max_probes": 7, "completion_check_probe_interval": 45}"#,
        );
        assert_eq!(
            (
                settings.completion_check.max_probes,
                settings.completion_check.probe_interval
            ),
            (7, Duration::from_secs(45))
        );
    }

    #[test]
    fn a_disabled_check_asks_nobody_and_says_so() {
        let text = r#"{"enable_smart_completion_check": false, "completion_check_max_probes": 7}"#;
        assert_eq!(reads(text).completion_check.max_probes, 0);
        assert!(notes(text)[0].contains("enable_smart_completion_check"));
    }

    #[test]
    fn two_dialects_may_agree_and_not_contradict() {
        let both = |n: u32| {
            format!(
                r#"{{"completion_check": {{"max_probes": 5}}, "completion_check_max_probes": {n}}}"#
            )
        };
        assert_eq!(reads(&both(5)).completion_check.max_probes, 5);
        fails(
            &both(7),
            "completion_check_max_probes: contradicts `completion_check.max_probes`; keep one",
        );
        let both = |n: u32| {
            format!(
                r#"{{"completion_check": {{"probe_interval_seconds": 5}}, "completion_check_probe_interval": {n}}}"#
            )
        };
        assert_eq!(
            reads(&both(5)).completion_check.probe_interval,
            Duration::from_secs(5)
        );
        fails(
            &both(7),
            "completion_check_probe_interval: contradicts `completion_check.probe_interval_seconds`; keep one",
        );
        fails(
            r#"{"completion_check_max_probes": "7"}"#,
            "completion_check_max_probes: expected a whole number",
        );
        fails(
            r#"{"enable_smart_completion_check": 1}"#,
            "enable_smart_completion_check: expected true or false",
        );
        fails(
            r#"{"completion_check_probes": 1}"#,
            "did you mean `completion_check_max_probes`?",
        );
    }
}
