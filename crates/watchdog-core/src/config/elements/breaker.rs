//! `breaker`: when repeated timeouts stop the asking.

use super::super::reader::{ConfigNode, put, small};
use super::super::settings::BreakerSettings;

pub(in super::super) const KEYS: &[&str] = &["limit", "cooldown_seconds"];

pub(in super::super) fn read(node: &ConfigNode<'_>, into: &mut BreakerSettings) {
    let Some(section) = node.section(KEYS) else { return };
    put(&mut into.limit, section.get("limit").and_then(|n| n.whole(1..=1000)).map(small));
    put(&mut into.cooldown, section.get("cooldown_seconds").and_then(|n| n.seconds(0)));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, reads};

    #[test]
    fn the_breaker_opens_at_three_for_half_an_hour_unless_told_otherwise() {
        let found = reads("{}").breaker;
        assert_eq!((found.limit, found.cooldown), (3, Duration::from_secs(1800)));
        let found = reads(r#"{"breaker": {"limit": 1, "cooldown_seconds": 0}}"#).breaker;
        assert_eq!((found.limit, found.cooldown), (1, Duration::ZERO));
        fails(r#"{"breaker": {"limit": 0}}"#, "breaker.limit: expected a whole number from 1 to 1000, found the number 0");
    }
}
