//! Values: numbers over 2^53, which JSON readers round, times, and values that may be `null`.

use std::fmt;

use jiff::Timestamp;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A number that may exceed 2^53. Written as a number up to 2^53 and as a string of its digits
/// beyond, read from either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Big(pub u64);

impl Big {
    /// The greatest number up to which every JSON reader holds each whole number exactly: many
    /// read numbers as IEEE 754 doubles (RFC 8259, section 6).
    pub const EXACT: u64 = 1 << 53;
}

impl fmt::Display for Big {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Big {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ..=Self::EXACT => s.serialize_u64(self.0),
            _ => s.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Big {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Big;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or a string of digits")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Big, E> {
                Ok(Big(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Big, E> {
                let digits = text.bytes().all(|c| c.is_ascii_digit());
                let number = text.parse().ok().filter(|_| digits);
                number.map(Big).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        d.deserialize_any(Either)
    }
}

/// Formats a time as RFC 3339 with microseconds, UTC: `2026-01-18T10:30:00.000000Z`. A time past
/// the end of the calendar is shown as its last moment.
///
/// ```
/// assert_eq!(milepost_api::micros(1_700_000_000_123_456), "2023-11-14T22:13:20.123456Z");
/// ```
pub fn micros(time_us: u64) -> String {
    let time_us = i64::try_from(time_us).unwrap_or(i64::MAX);
    let time = Timestamp::from_microsecond(time_us).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// Deserializes a present value, which may be `null`.
pub(crate) fn there<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(d).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_string_only_where_json_readers_round_it_and_read_as_either() {
        let written = |number| serde_json::to_string(&Big(number)).unwrap();
        assert_eq!(written(0), "0");
        assert_eq!(written(1 << 53), "9007199254740992");
        assert_eq!(written((1 << 53) + 1), "\"9007199254740993\"");
        assert_eq!(written(u64::MAX), "\"18446744073709551615\"");
        for text in ["\"18446744073709551615\"", "18446744073709551615"] {
            assert_eq!(serde_json::from_str::<Big>(text).unwrap(), Big(u64::MAX));
        }
        for text in ["\"-1\"", "-1", "1.5", "\"\"", "\"+1\"", "\"1e3\"", "null"] {
            assert!(serde_json::from_str::<Big>(text).is_err(), "{text}");
        }
    }
}
