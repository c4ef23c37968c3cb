//! Instants as a person reads them on a clock of their own: `14:05`, or with the day where it is another one. Pure: the zone is that of
//! the moment handed in.

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};

/// The time of day, and the date where it is not today's.
pub fn local_time(at: Timestamp, now: &Zoned) -> String {
    let at = at.to_zoned(now.time_zone().clone());
    if at.date() == now.date() {
        at.strftime("%H:%M").to_string()
    } else {
        at.strftime("%Y-%m-%d %H:%M").to_string()
    }
}

/// A day as a heading: `Wednesday, 2026-03-04`.
pub fn format_day(date: Date) -> String {
    date.strftime("%A, %Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_appears_only_on_another_local_day() {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        let now = "2026-03-04T05:06:07Z"
            .parse::<Timestamp>()
            .unwrap()
            .to_zoned(zone);
        for (at, said) in [
            ("2026-03-04T12:30:00Z", "14:30"),
            ("2026-03-03T22:00:00Z", "00:00"),
            ("2026-03-03T21:59:59Z", "2026-03-03 23:59"),
            ("2027-01-01T00:00:00Z", "2027-01-01 02:00"),
        ] {
            assert_eq!(local_time(at.parse().unwrap(), &now), said);
        }
        assert_eq!(format_day(now.date()), "Wednesday, 2026-03-04");
    }
}
