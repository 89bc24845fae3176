//! Times as command line arguments.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use milepost::clock::{Clock as _, SystemClock};

use super::span;

/// Parses a time into microseconds since the Unix epoch: RFC 3339, a day in UTC, or a span before
/// now.
pub fn moment(text: &str) -> Result<u64, String> {
    moment_at(text, SystemClock.now_us())
}

fn moment_at(text: &str, now_us: u64) -> Result<u64, String> {
    if let Some(ago) = span(text) {
        let ago = u64::try_from(ago.as_micros()).unwrap_or(u64::MAX);
        return Ok(now_us.saturating_sub(ago));
    }
    let day = || {
        let day: Date = text.parse().ok()?;
        day.to_zoned(TimeZone::UTC).ok().map(|day: Zoned| day.timestamp())
    };
    let time: Option<Timestamp> = text.parse().ok().or_else(day);
    let us = time.and_then(|time| u64::try_from(time.as_microsecond()).ok());
    us.ok_or_else(|| {
        "neither a time, as 2026-01-18T10:30:00Z or 2026-01-18, nor how long ago, as 90s, 2h or 3d"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_a_day_or_how_long_ago() {
        let now = 1_768_732_200_000_000;
        for (text, us) in [
            ("2026-01-18T10:30:00Z", now),
            ("2026-01-18T11:30:00+01:00", now),
            ("2026-01-18", 1_768_694_400_000_000),
            ("90s", now - 90_000_000),
            ("1970-01-01", 0),
        ] {
            assert_eq!(moment_at(text, now), Ok(us), "{text}");
        }
        for text in ["", "yesterday", "1969-12-31", "2h30", "-1h"] {
            assert!(moment_at(text, now).is_err(), "{text}");
        }
    }
}
