//! ETags and conditional reads.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost_service::Tag;

use crate::error::ApiError;

/// Adds a tag to an answer's headers, as a strong ETag.
pub(crate) fn put(tag: &Tag, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&format!("\"{}\"", tag.text())) {
        headers.insert(header::ETAG, value);
    }
}

/// The tags that a client has: `If-None-Match`.
#[derive(Debug, Default)]
pub(crate) enum Known {
    #[default]
    Nothing,
    Tags(Vec<String>),
    Whatever,
}

impl Known {
    fn of(headers: &HeaderMap) -> Self {
        let mut tags = Vec::new();
        for line in headers.get_all(header::IF_NONE_MATCH) {
            let line = line.to_str().unwrap_or_default().trim();
            if line == "*" {
                return Self::Whatever;
            }
            // Tags are quoted. Text between them separates tags or marks a weak one.
            let quoted = line.split('"').skip(1).step_by(2);
            tags.extend(quoted.map(str::to_owned));
        }
        match tags.is_empty() {
            true => Self::Nothing,
            false => Self::Tags(tags),
        }
    }

    /// Returns true if the client has this tag. Weak tags compare like strong ones, as RFC 9110
    /// requires.
    pub(crate) fn has(&self, tag: &Tag) -> bool {
        match self {
            Self::Nothing => false,
            Self::Tags(tags) => tags.iter().any(|known| known == tag.text()),
            Self::Whatever => true,
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Known {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::of(&parts.headers))
    }
}

/// An answer with its tag; 304 if the client has it.
#[derive(Debug)]
pub(crate) enum Tagged<T> {
    Same(Tag),
    New(Tag, T),
}

impl<T> Tagged<T> {
    /// Computes an answer unless the client has it. The tag must be at least as old as the data.
    pub(crate) fn unless<E>(
        known: &Known,
        tag: Tag,
        answer: impl FnOnce() -> Result<T, E>,
    ) -> Result<Self, E> {
        match known.has(&tag) {
            true => Ok(Self::Same(tag)),
            false => Ok(Self::New(tag, answer()?)),
        }
    }

    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Tagged<U> {
        match self {
            Self::Same(tag) => Tagged::Same(tag),
            Self::New(tag, answer) => Tagged::New(tag, make(answer)),
        }
    }
}

impl<T: IntoResponse> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let (tag, mut response) = match self {
            Self::Same(tag) => (tag, StatusCode::NOT_MODIFIED.into_response()),
            Self::New(tag, answer) => (tag, answer.into_response()),
        };
        put(&tag, response.headers_mut());
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(lines: &[&str]) -> Known {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::IF_NONE_MATCH, line.parse().unwrap());
        }
        Known::of(&headers)
    }

    #[test]
    fn a_tag_is_found_in_any_list_of_them() {
        let tag = Tag::new("ab").and(3).erased(None);
        for lines in [
            &["\"ab.3\""][..],
            &["\"x\", \"ab.3\""],
            &["\"x,y\",W/\"ab.3\" , \"z\""],
            &["\"x\"", "\"ab.3\""],
            &["*"],
        ] {
            assert!(known(lines).has(&tag), "{lines:?}");
        }
        for lines in [
            &[][..],
            &[""],
            &["ab.3"],
            &["\"ab.3"],
            &["\"ab\""],
            &["\"ab.33\""],
            &["\", \"ab.3"],
            &["\"*\""],
        ] {
            let found = known(lines).has(&tag);
            // An unterminated tag is read up to its end.
            assert_eq!(found, lines == ["\"ab.3"], "{lines:?}");
        }
    }

    #[test]
    fn an_erased_event_makes_another_tag() {
        let tag = |erasures| Tag::new("ab").erased(erasures);
        assert_eq!(tag(None), Tag::new("ab"));
        assert_ne!(tag(Some(milepost::Hash([1; 32]))), tag(None));
        assert_ne!(tag(Some(milepost::Hash([2; 32]))), tag(Some(milepost::Hash([1; 32]))));
    }

    #[test]
    fn who_has_an_answer_gets_its_tag_only_and_nothing_is_read() {
        let tag = Tag::new("ab");
        let same = Tagged::<()>::unless(&known(&["\"ab\""]), tag.clone(), || Err("read"));
        let same = same.unwrap().into_response();
        assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(same.headers()[header::ETAG], "\"ab\"");
        let new = Tagged::unless(&Known::Nothing, tag, || Ok::<_, ApiError>("text"));
        let new = new.unwrap().into_response();
        assert_eq!(new.status(), StatusCode::OK);
        assert_eq!(new.headers()[header::ETAG], "\"ab\"");
    }
}
