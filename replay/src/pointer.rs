//! JSON pointers, RFC 6901: paths to a part of a value.

use milepost_codec::{Error, Result};

/// Returns one token of a JSON pointer, escaped and with a leading slash.
pub(crate) fn pointer_step(step: &str) -> String {
    format!("/{}", step.replace('~', "~0").replace('/', "~1"))
}

/// Splits a pointer into its first token and the rest. Returns `None` for the empty pointer.
///
/// # Errors
///
/// `Invalid`: the pointer does not begin with `/`, or has a `~` without a 0 or 1 after it.
pub(crate) fn first_token(pointer: &str) -> Result<Option<(String, &str)>> {
    let invalid = |why: &str| {
        let excerpt: String = pointer.chars().take(80).collect();
        Error::invalid(format!("{excerpt:?} is no JSON pointer: {why}, as in `/variables/best`"))
    };
    if pointer.is_empty() {
        return Ok(None);
    }
    let Some(behind) = pointer.strip_prefix('/') else {
        return Err(invalid("one begins with `/`"));
    };
    for escaped in pointer.split('~').skip(1) {
        if !escaped.starts_with(['0', '1']) {
            return Err(invalid("`~` is written `~0`, and `/` in a name `~1`"));
        }
    }
    let (token, rest) = behind.split_at(behind.find('/').unwrap_or(behind.len()));
    Ok(Some((unescaped(token), rest)))
}

/// Iterates over the tokens of a pointer that [`first_token`] accepts.
pub(crate) fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescaped)
}

/// Parses a token as an index of a list: digits without a leading zero.
pub(crate) fn index_of(token: &str) -> Option<u64> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    let plain = digits && (token == "0" || !token.starts_with('0'));
    plain.then(|| token.parse().ok())?
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unescaped_and_what_is_no_pointer_is_said() {
        assert_eq!(first_token("").unwrap(), None);
        assert_eq!(first_token("/a~1b/c").unwrap(), Some(("a/b".into(), "/c")));
        assert_eq!(tokens("/a/~01/").collect::<Vec<_>>(), ["a", "~1", ""]);
        for invalid in ["a", "/a~", "/a~2"] {
            let error = first_token(invalid).unwrap_err();
            assert!(error.to_string().contains("no JSON pointer"), "{error}");
        }
        assert_eq!(index_of("10"), Some(10));
        assert_eq!(["", "01", "+1", "-"].map(index_of), [None; 4]);
    }
}
