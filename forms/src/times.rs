//! Times for people and programs.

use jiff::Timestamp;

/// Formats a time as RFC 3339 with microseconds, UTC: `2026-01-18T10:30:00.000000Z`. A time past
/// the end of the calendar is shown as its last moment.
///
/// ```
/// assert_eq!(milepost_forms::micros(1_700_000_000_123_456), "2023-11-14T22:13:20.123456Z");
/// ```
pub fn micros(time_us: u64) -> String {
    let time_us = i64::try_from(time_us).unwrap_or(i64::MAX);
    let time = Timestamp::from_microsecond(time_us).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
