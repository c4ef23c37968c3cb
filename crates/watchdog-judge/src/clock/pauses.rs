//! The pauses between questions that failed. The only place that knows the `backoff` crate:
//! it is no longer maintained, and this module is all that would have to change.

use std::time::Duration;

use backoff::ExponentialBackoffBuilder;
use backoff::backoff::Backoff as _;

/// The first pause after a failure.
const FIRST: Duration = Duration::from_secs(1);

/// The pause before the next question after `attempt` failures in a row (counted from 1),
/// doubled each time with some jitter, and never longer than `at_most`.
pub fn calculate_pause(attempt: u32, at_most: Duration) -> Duration {
    let mut policy = ExponentialBackoffBuilder::new()
        .with_initial_interval(FIRST)
        .with_multiplier(2.0)
        .with_randomization_factor(0.2)
        .with_max_interval(Duration::from_secs(300))
        .with_max_elapsed_time(None)
        .build();
    let mut pause = Duration::ZERO;
    // The policy saturates at its longest pause long before this bound.
    for _ in 0..attempt.min(32) {
        pause = policy.next_backoff().unwrap_or(at_most);
    }
    pause.min(at_most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_never_exceed_the_bound() {
        let long = Duration::from_secs(3600);
        assert!(
            calculate_pause(1, long) >= Duration::from_millis(800)
                && calculate_pause(1, long) <= Duration::from_millis(1200)
        );
        assert!(calculate_pause(5, long) > calculate_pause(1, long));
        assert!(calculate_pause(u32::MAX, long) <= Duration::from_secs(360));
        assert_eq!(
            calculate_pause(4, Duration::from_millis(10)),
            Duration::from_millis(10)
        );
        assert_eq!(calculate_pause(3, Duration::ZERO), Duration::ZERO);
    }
}
