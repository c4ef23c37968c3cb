//! Where a key belongs, for the message about one that stands in the wrong block.

use super::super::parse;
use super::{agent, breaker, completion_check, limits, rescue, tasks};

/// The block that a key belongs in, where exactly one has it; the empty text is the top of the file.
pub(in super::super) fn home_of(key: &str) -> Option<&'static str> {
    let homes: [(&str, &[&str]); 7] = [
        ("", parse::KEYS),
        ("completion_check", completion_check::KEYS),
        ("agent", agent::KEYS),
        ("rescue", rescue::KEYS),
        ("breaker", breaker::KEYS),
        ("limits", limits::KEYS),
        ("tasks", tasks::KEYS),
    ];
    let mut having = homes.iter().filter(|(_, keys)| keys.contains(&key)).map(|(home, _)| *home);
    let only = having.next()?;
    having.next().is_none().then_some(only)
}
