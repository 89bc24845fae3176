//! Times for people, times and numbers for programs.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use milepost_api::Big;
use serde_json::Value;

/// The time zone of times shown to people; UTC until it is set.
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Shows times to people in the zone of `TZ`, or of the system, from now on. Returns the reason if
/// there is none: then times stay in UTC.
pub fn show_local_times() -> Result<(), String> {
    let zone = TimeZone::try_system().map_err(|_| {
        let named = std::env::var("TZ").unwrap_or_default();
        match named.is_empty() {
            true => "the time zone of the system is not known".to_owned(),
            false => format!("TZ is `{named}`, which is no time zone"),
        }
    })?;
    let _ = ZONE.set(zone);
    Ok(())
}

/// Returns the JSON of a number that may exceed 2^53.
pub fn big(number: u64) -> Value {
    serde_json::json!(Big(number))
}

/// Returns a time in microseconds since the Unix epoch, as RFC 3339 in UTC.
pub fn time(us: u64) -> String {
    let stamp = i64::try_from(us).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
    stamp.map_or_else(|| format!("{us} us"), |stamp| stamp.to_string())
}

/// Returns the time to the second, for people; with its offset from UTC if local times are shown.
pub fn time_short(us: u64) -> String {
    let seconds = us - us % 1_000_000;
    match ZONE.get() {
        Some(zone) => local(seconds, zone),
        None => time(seconds),
    }
}

/// Returns a time in a zone: `2026-11-23 09:15:00+01:00`.
fn local(us: u64, zone: &TimeZone) -> String {
    let stamp = i64::try_from(us).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
    let Some(stamp) = stamp else {
        return time(us);
    };
    let there = stamp.to_zoned(zone.clone());
    there.strftime("%Y-%m-%d %H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!(time(1_700_000_000_123_456), "2023-11-14T22:13:20.123456Z");
        assert_eq!(time_short(1_700_000_000_123_456), "2023-11-14T22:13:20Z");
        assert_eq!(time(u64::MAX), format!("{} us", u64::MAX));
    }

    #[test]
    fn local_times_say_how_far_they_are_from_utc() {
        let zone = TimeZone::fixed(jiff::tz::offset(-3));
        assert_eq!(local(1_700_000_000_000_000, &zone), "2023-11-14 19:13:20-03:00");
        assert_eq!(local(u64::MAX, &zone), time(u64::MAX));
    }
}
