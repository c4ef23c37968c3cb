//! `breaker`: when repeated timeouts stop the asking.

use super::super::key_kinds::{seconds, whole};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::settings::{BreakerSettings, ConfigSettings};

pub(in super::super) static BLOCK: KeyBlock<BreakerSettings> = KeyBlock {
    name: "breaker",
    defaults: || ConfigSettings::default().breaker,
    keys: keys! { BreakerSettings;
        "limit" => limit: whole(1..=1000), "[strikes](verdict.md#the-breaker) that open the breaker";
        "cooldown_seconds" => cooldown: seconds(0),
            "how long it stays open before one trial; doubled after each trial that is a timeout again, up to a day";
    },
    rules: no_rules,
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, reads};

    #[test]
    fn breaker_opens_at_three_for_thirty_minutes() {
        let default_breaker = reads("{}").breaker;
        assert_eq!(
            (default_breaker.limit, default_breaker.cooldown),
            (3, Duration::from_secs(1800))
        );
        let strict_breaker = reads(r#"{"breaker": {"limit": 1, "cooldown_seconds": 0}}"#).breaker;
        assert_eq!(
            (strict_breaker.limit, strict_breaker.cooldown),
            (1, Duration::ZERO)
        );
        fails(
            r#"{"breaker": {"limit": 0}}"#,
            "breaker.limit: expected a whole number from 1 to 1000, found the number 0",
        );
    }
}
