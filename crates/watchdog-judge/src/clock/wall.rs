//! The hour, and how long it is since. Everything else takes the time as a parameter.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};
use watchdog_system::lock_mutex;

/// The wall clock is set where it moves by more than this against the time since boot.
const JUMP: SignedDuration = SignedDuration::from_secs(1);
/// How many settings of the clock are remembered.
const REMEMBERED: usize = 64;

/// The jumps that this process saw in its wall clock.
static SETTINGS: Mutex<ClockSettings> = Mutex::new(ClockSettings(Vec::new()));

/// The wall clock. A clock beyond the range of dates stands at the last such hour.
pub fn now() -> Timestamp {
    read_clocks().0
}

/// The wall clock in the zone of this machine: that of `TZ`, or the system's.
pub fn local_now() -> Zoned {
    now().to_zoned(jiff::tz::TimeZone::system())
}

/// Time since an instant of the wall clock, by the time since boot: setting the clock changes nothing, and a suspend counts.
pub fn measure_since(at: Timestamp) -> Duration {
    let (_, steady) = read_clocks();
    let settings = lock_mutex(&SETTINGS);
    Duration::try_from(steady.saturating_sub(settings.steady_time(at, steady))).unwrap_or_default()
}

/// The wall clock and the time since boot.
fn read_clocks() -> (Timestamp, SignedDuration) {
    // A year is more than anything adds to the hour.
    let last = Timestamp::MAX - (366 * 24).hours();
    let wall = Timestamp::try_from(SystemTime::now())
        .unwrap_or(last)
        .min(last);
    let steady =
        SignedDuration::try_from(watchdog_system::time_since_boot()).unwrap_or(SignedDuration::MAX);
    lock_mutex(&SETTINGS).note(wall, steady);
    (wall, steady)
}

/// The settings of a wall clock: each with the time since boot at which it was seen, and how far the clock is before that time since.
struct ClockSettings(Vec<(SignedDuration, SignedDuration)>);

impl ClockSettings {
    fn note(&mut self, wall: Timestamp, steady: SignedDuration) {
        let offset = wall.as_duration().saturating_sub(steady);
        if self
            .0
            .last()
            .is_none_or(|(_, last)| offset.saturating_sub(*last).abs() > JUMP)
        {
            if self.0.len() == REMEMBERED {
                self.0.remove(0);
            }
            self.0.push((steady, offset));
        }
    }

    /// When an instant of the wall clock was, seen from `now`. An instant that several settings had, as after the clock was set back, is of the
    /// latest of them.
    fn steady_time(&self, at: Timestamp, now: SignedDuration) -> SignedDuration {
        let by = |offset: SignedDuration| at.as_duration().saturating_sub(offset);
        let ends = self.0.iter().skip(1).map(|(seen, _)| *seen).chain([now]);
        let shows = |seen: SignedDuration, end: SignedDuration, offset| {
            (seen.saturating_sub(JUMP)..=end.saturating_add(JUMP)).contains(&by(offset))
        };
        let within = self
            .0
            .iter()
            .zip(ends)
            .filter(|((seen, offset), end)| shows(*seen, *end, *offset))
            .last();
        // An hour that the clock never showed is before all settings, or still to come.
        let latest = self.0.last().filter(|(seen, offset)| by(*offset) >= *seen);
        let setting = within
            .map(|(setting, _)| setting)
            .or(latest)
            .or(self.0.first());
        setting.map_or(SignedDuration::ZERO, |(_, offset)| by(*offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_the_clock_changes_no_duration() {
        let seconds = SignedDuration::from_secs;
        let wall = |second: i64| Timestamp::from_second(second).unwrap();
        // Boot at 1,000 of the wall clock, which is put forward by an hour at 100 s and back by ten minutes at 200 s.
        let mut settings = ClockSettings(Vec::new());
        for (second, steady) in [
            (1_010, 10),
            (1_050, 50),
            (4_700, 100),
            (4_750, 150),
            (4_200, 200),
            (4_250, 250),
        ] {
            settings.note(wall(second), seconds(steady));
        }
        assert_eq!(settings.0.len(), 3);
        for (at, steady) in [
            (1_010, 10),
            (1_099, 99),
            (4_700, 100),
            (4_250, 250),
            (900, -100),
        ] {
            assert_eq!(
                settings.steady_time(wall(at), seconds(250)),
                seconds(steady),
                "{at}"
            );
        }
    }

    #[test]
    fn a_slow_clock_is_followed() {
        let mut settings = ClockSettings(Vec::new());
        for hour in 0..10_000 {
            settings.note(
                Timestamp::from_second(hour * 3_601).unwrap(),
                SignedDuration::from_secs(hour * 3_600),
            );
        }
        assert!(settings.0.len() <= REMEMBERED);
        let last = Timestamp::from_second(9_999 * 3_601).unwrap();
        assert!(
            (settings.steady_time(last, SignedDuration::from_secs(9_999 * 3_600))
                - SignedDuration::from_secs(9_999 * 3_600))
            .abs()
                <= JUMP
        );
    }

    #[test]
    fn instant_age_equals_elapsed_time() {
        let at = now();
        std::thread::sleep(Duration::from_millis(20));
        let age = measure_since(at);
        assert!(
            age >= Duration::from_millis(20) && age < Duration::from_secs(20),
            "{age:?}"
        );
        assert_eq!(
            measure_since(at + SignedDuration::from_hours(1)),
            Duration::ZERO,
            "what is to come"
        );
    }
}
