//! The block of each key, for the message about a key in the wrong block.

use super::{TOP, agent, breaker, completion_check, limits, rescue, tasks};

/// The block that has this key, if exactly one does; the empty text is the top of the file.
pub(in super::super) fn home_of(key: &str) -> Option<&'static str> {
    let homes = [
        (TOP.name, TOP.names()),
        (
            completion_check::BLOCK.name,
            completion_check::BLOCK.names(),
        ),
        (agent::BLOCK.name, agent::BLOCK.names()),
        (rescue::BLOCK.name, rescue::BLOCK.names()),
        (breaker::BLOCK.name, breaker::BLOCK.names()),
        (limits::BLOCK.name, limits::BLOCK.names()),
        (tasks::BLOCK.name, tasks::BLOCK.names()),
    ];
    let mut having = homes
        .iter()
        .filter(|(_, keys)| keys.contains(&key))
        .map(|(home, _)| *home);
    let only = having.next()?;
    having.next().is_none().then_some(only)
}
