//! The caller, request and conditions of a change.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost::calls::Conditions;
use milepost::{Append, Appended, Detail, Error, ErrorKind};
use milepost_api::AcceptedConditions;
use serde::Serialize;

use crate::auth::Caller;
use crate::error::ApiError;
use crate::request_scope::RequestId;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The maximum length of an idempotency key, in bytes.
const KEY_MAX: usize = 256;

/// The caller and the conditions of a change.
#[derive(Debug, Clone)]
pub(crate) struct WriteContext {
    pub(crate) caller: Caller,
    id: RequestId,
    pub(crate) conditions: Conditions,
}

impl<S: Sync> FromRequestParts<S> for WriteContext {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let head = one(&parts.headers, &header::IF_MATCH)?.map(expected).transpose()?;
        let key = one(&parts.headers, &KEY)?.map(key).transpose()?;
        let conditions = key.into_iter().fold(Conditions::new(), Conditions::key);
        let conditions = head.into_iter().fold(conditions, Conditions::expect_head);
        Ok(Self {
            caller: Caller::from_request_parts(parts, state).await?,
            id: RequestId::from_request_parts(parts, state).await?,
            conditions,
        })
    }
}

impl WriteContext {
    /// Returns the correlation id of the request's events.
    pub(crate) fn correlation(&self) -> &str {
        &self.id.0
    }

    /// Adds the request's context and conditions to an append.
    pub(crate) fn conditioned(&self, append: Append) -> Append {
        let append = append.user(&*self.caller.user).correlation(self.correlation());
        append.conditions(&self.conditions)
    }

    /// Refuses conditions that the request does not take.
    pub(crate) fn only(self, takes: AcceptedConditions) -> Result<Self, ApiError> {
        match (self.conditions.expected(), self.conditions.key_given()) {
            (Some(_), _) if !takes.head => {
                Err(ApiError::Invalid("`If-Match` is not for this route".into()))
            }
            (_, Some(_)) if !takes.key => {
                Err(ApiError::Invalid("`Idempotency-Key` is not for this route".into()))
            }
            _ => Ok(self),
        }
    }

    /// Refuses an expected head, on a route that creates the lineage.
    pub(crate) fn onto_any_head(self) -> Result<Self, ApiError> {
        self.only(AcceptedConditions { key: true, head: false })
    }

    /// Refuses conditions, on a route that does not support them.
    pub(crate) fn unconditional(self) -> Result<Self, ApiError> {
        self.only(AcceptedConditions::all_if(false))
    }
}

/// Converts the error of a refused append.
pub(crate) fn refused(error: Error) -> ApiError {
    match error.detail() {
        Some(Detail::Head(head)) if error.kind() == ErrorKind::Conflict => {
            ApiError::Precondition(error.to_string(), head.next)
        }
        _ => error.into(),
    }
}

/// Returns the result of an append. Its `ETag` is the new head, for use in `If-Match`.
pub(crate) fn answer(status: StatusCode, appended: &Appended, form: impl Serialize) -> Response {
    let mut response = (status, axum::Json(form)).into_response();
    let head = format!("\"{}\"", appended.head.next);
    if let Ok(head) = HeaderValue::try_from(head) {
        response.headers_mut().insert(header::ETAG, head);
    }
    response
}

/// Returns the single value of a header, if present.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ApiError> {
    let mut given = headers.get_all(name).iter();
    let (Some(one), more) = (given.next(), given.next()) else {
        return Ok(None);
    };
    match (one.to_str(), more) {
        (Ok(text), None) => Ok(Some(text)),
        _ => Err(ApiError::Invalid(format!("`{name}` has one value, in ASCII"))),
    }
}

/// Parses the head of `If-Match`.
fn expected(text: &str) -> Result<u64, ApiError> {
    let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let digits = |it: &&str| it.bytes().all(|c| c.is_ascii_digit());
    let head = quoted.filter(digits).and_then(|it| it.parse().ok());
    head.ok_or_else(|| {
        let text = "`If-Match` is the expected head in quotes, as in \"12\": one, and not weak";
        ApiError::Invalid(text.into())
    })
}

/// Parses `Idempotency-Key`: plain, or a string of structured fields (RFC 8941).
fn key(text: &str) -> Result<String, ApiError> {
    let key = match text.strip_prefix('"') {
        None => Some(text.to_owned()),
        Some(quoted) => unquoted(quoted),
    };
    let fits = |key: &String| {
        (1..=KEY_MAX).contains(&key.len()) && key.bytes().all(|c| c.is_ascii_graphic())
    };
    key.filter(fits).ok_or_else(|| {
        ApiError::Invalid(format!(
            "`Idempotency-Key` has 1 to {KEY_MAX} visible characters of ASCII, plain or in quotes"
        ))
    })
}

/// Returns the text before the final quote; `None` if that is missing or not the last character.
fn unquoted(quoted: &str) -> Option<String> {
    let inner = quoted.strip_suffix('"')?;
    let (mut text, mut chars) = (String::new(), inner.chars());
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => chars.next().filter(|c| matches!(c, '"' | '\\'))?,
            '"' => return None,
            c => c,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expected_head_is_one_number_in_quotes() {
        assert_eq!(expected("\"12\"").unwrap(), 12);
        for text in [
            "12",
            "W/\"12\"",
            "\"1\", \"2\"",
            "*",
            "\"\"",
            "\"-1\"",
            "\"+1\"",
            "\"1x\"",
            "\"",
            "",
            "\"18446744073709551616\"",
        ] {
            assert!(expected(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_is_taken_plain_or_in_quotes() {
        for (text, taken) in
            [("r-17", "r-17"), ("\"r-17\"", "r-17"), (r#""a\"b\\c""#, r#"a"b\c"#), (r"a\b", r"a\b")]
        {
            assert_eq!(key(text).unwrap(), taken);
        }
        assert_eq!(key(&"x".repeat(256)).unwrap().len(), 256);
        let long = "x".repeat(257);
        for text in ["", "\"\"", "\"", "\"a", "\"a\"b\"", "a b", "\"a\\", &long, "\u{fc}"] {
            assert!(key(text).is_err(), "{text}");
        }
    }
}
