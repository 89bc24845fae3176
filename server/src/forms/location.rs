//! `Location` headers.

use std::fmt::Write as _;

use axum::http::HeaderValue;

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
}
