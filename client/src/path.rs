//! Request paths: each part is one percent-encoded segment.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use reqwest::Url;

use crate::error::{Error, Result};

/// Unreserved characters of RFC 3986 are not encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the URL of a path below the service's base address.
pub(crate) fn url<P: AsRef<[u8]>>(base: &Url, parts: impl IntoIterator<Item = P>) -> Result<Url> {
    let mut path = base.path().trim_end_matches('/').to_owned();
    for part in parts {
        let part = part.as_ref();
        // `Url` resolves these as relative steps, even if encoded, and would name another path.
        if matches!(part, b"" | b"." | b"..") {
            let text = String::from_utf8_lossy(part);
            let text =
                format!("`{text}` cannot stand in a path: it can be asked for by the command only");
            return Err(Error::invalid(&path, text));
        }
        // Writing to a string cannot fail.
        let _ = write!(path, "/{}", percent_encode(part, ENCODED));
    }
    let mut url = base.clone();
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(base: &str, parts: &[&[u8]]) -> String {
        let base = Url::parse(base).unwrap();
        url(&base, parts).unwrap().to_string()
    }

    #[test]
    fn a_part_is_one_segment_whatever_is_in_it() {
        let base = "http://localhost:7733";
        assert_eq!(
            path(base, &[b"v1", b"points", b"essay/3@12"]),
            "http://localhost:7733/v1/points/essay%2F3%4012"
        );
        assert_eq!(
            path(base, &["a b?#%\\é".as_bytes(), b"\xff", b"..."]),
            "http://localhost:7733/a%20b%3F%23%25%5C%C3%A9/%FF/..."
        );
    }

    #[test]
    fn a_service_may_answer_below_a_path() {
        for base in ["https://logs.example/mile", "https://logs.example/mile/"] {
            assert_eq!(path(base, &[b"v1"]), "https://logs.example/mile/v1");
        }
    }

    #[test]
    fn what_a_url_takes_for_a_step_is_not_asked_for() {
        let base = Url::parse("http://localhost").unwrap();
        for part in ["", ".", ".."] {
            let error = url(&base, ["v1", "tasks", part]).unwrap_err();
            assert!(!error.was_reached(), "{part}");
        }
    }
}
