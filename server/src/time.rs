//! Times in the forms of the `/api` routes.

use jiff::Timestamp;
use jiff::tz::TimeZone;

fn of(time_us: u64) -> Timestamp {
    let time_us = i64::try_from(time_us).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(time_us).unwrap_or(Timestamp::MAX)
}

/// Formats a time as ISO 8601 with milliseconds, UTC: `2026-01-18T10:30:00.000Z`.
pub(crate) fn millis(time_us: u64) -> String {
    of(time_us).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Formats a time in UTC to the second, without a zone: `2025-01-31T10:30:00`.
pub(crate) fn seconds(time_us: u64) -> String {
    of(time_us).to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc_and_none_is_too_late() {
        let time = 1_737_024_600_123_456;
        assert_eq!(millis(time), "2025-01-16T10:50:00.123Z");
        assert_eq!(seconds(time), "2025-01-16T10:50:00");
        assert_eq!(millis(0), "1970-01-01T00:00:00.000Z");
        assert!(millis(u64::MAX).starts_with("9999-12-3"));
    }
}
