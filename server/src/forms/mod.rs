//! JSON requests and answers, and texts of their fields and headers. Most answers are the forms
//! that clients read.

mod append;

use std::fmt::Write as _;

use axum::http::HeaderValue;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) use append::{EventRequest, Line, LineRequest};
pub(crate) use milepost_api::{
    AppendedForm, Big, ChangesForm, CheckpointForm, ControlForm, EventAt, FileForm, Listed,
    MovedForm, PointForm, Problem, RangeForm, SharePlanForm, ShareRequest, StateOrPart,
    SummariesForm, SummaryForm,
};

/// Returns the `Location` of a name below a path. The name is one segment (RFC 3986).
pub(crate) fn location(path: &str, name: &str) -> HeaderValue {
    let mut text = format!("{path}/");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            byte => _ = write!(text, "%{byte:02X}"),
        }
    }
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("/"))
}

fn timestamp(time_us: u64) -> Timestamp {
    let time_us = i64::try_from(time_us).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(time_us).unwrap_or(Timestamp::MAX)
}

/// Formats a time as ISO 8601 with milliseconds, UTC: `2026-01-18T10:30:00.000Z`.
pub(crate) fn utc_millis(time_us: u64) -> String {
    timestamp(time_us).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Formats a time in UTC to the second, without a zone: `2025-01-31T10:30:00`.
pub(crate) fn utc_seconds(time_us: u64) -> String {
    timestamp(time_us).to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment_whatever_is_in_it() {
        for (name, segment) in
            [("essay", "essay"), ("a/b@3", "a%2Fb%403"), ("50% ü", "50%25%20%C3%BC"), ("..", "..")]
        {
            let expected = format!("/v1/tasks/{segment}");
            assert_eq!(location("/v1/tasks", name), expected.as_str());
        }
    }

    #[test]
    fn times_are_shown_in_utc_and_none_is_too_late() {
        let time = 1_737_024_600_123_456;
        assert_eq!(utc_millis(time), "2025-01-16T10:50:00.123Z");
        assert_eq!(utc_seconds(time), "2025-01-16T10:50:00");
        assert_eq!(utc_millis(0), "1970-01-01T00:00:00.000Z");
        assert!(utc_millis(u64::MAX).starts_with("9999-12-3"));
    }
}
