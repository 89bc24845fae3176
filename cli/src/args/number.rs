//! Numbers as command line arguments.

// tidy: two parsers of values

use std::str::FromStr;

/// Parses a whole number.
pub fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "not a whole number, as in 20".into())
}

/// Parses a whole number of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "not a whole number of at least 1, as in 20".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_whole_and_a_limit_lets_something_through() {
        assert_eq!((whole("0"), whole("20")), (Ok(0_u64), Ok(20_u64)));
        assert_eq!(at_least_one("1"), Ok(1));
        for wrong in ["", "abc", "-5", "1.5", "0x10", "99999999999999999999"] {
            assert!(whole::<u64>(wrong).unwrap_err().contains("a whole number"), "{wrong}");
            assert!(at_least_one(wrong).is_err(), "{wrong}");
        }
        assert!(at_least_one("0").is_err());
    }
}
