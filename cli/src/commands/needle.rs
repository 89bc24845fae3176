//! Texts and patterns that events are searched for.

use milepost::Body;
use milepost_api::EventForm;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::error::{Failure, Result, USAGE};

/// Maximum memory of a compiled regular expression, in bytes.
const PATTERN: usize = 1 << 20;

/// A text or a pattern to find in events, in upper or lower case.
#[derive(Debug)]
pub enum Needle {
    /// A part of the body's JSON.
    Text {
        /// The text in lower case.
        text: String,
        /// The text without white space outside of its quotes, if it has quotes.
        compact: Option<String>,
    },
    /// A regular expression, which each text of the body is matched with.
    Pattern(Regex),
}

impl Needle {
    pub fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        let compact = text.contains('"').then(|| compact(&text));
        Self::Text { text, compact }
    }

    /// Finds a text that no letter, digit or underscore precedes or follows.
    pub fn words(text: &str) -> Result<Self> {
        Self::pattern(&format!(r"\b{{start-half}}{}\b{{end-half}}", regex::escape(text)))
    }

    pub fn pattern(pattern: &str) -> Result<Self> {
        let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN).build();
        built.map(Self::Pattern).map_err(|error| {
            let failure = Failure::new(format!("the regular expression: {error}")).code_of(USAGE);
            failure.hint("without --regex the text is found as it stands")
        })
    }

    /// Returns `true` if an event has it in its body, actor, user, correlation or key.
    pub fn is_in(&self, event: &EventForm) -> bool {
        let body = event.body.as_ref().and_then(|body| body.to_json().ok());
        let around = [&event.actor, &event.user, &event.correlation, &event.key];
        let mut around = around.into_iter().flatten();
        let is_in_body = |body: String| match self {
            Self::Text { .. } => self.place_in(&body.to_lowercase()).is_some(),
            Self::Pattern(pattern) => matching(pattern, &body).is_some(),
        };
        body.is_some_and(is_in_body)
            || around.any(|word| match self {
                Self::Text { text, .. } => word.to_lowercase().contains(text),
                Self::Pattern(pattern) => pattern.is_match(word),
            })
    }

    /// Returns a row if it has a hit, and otherwise what is around the first hit in the body.
    pub fn shown(&self, row: &str, body: Option<&Body>) -> String {
        let is_in_row = match self {
            Self::Text { .. } => self.place_in(&row.to_lowercase()).is_some(),
            Self::Pattern(pattern) => pattern.is_match(row),
        };
        let json = body.and_then(|body| body.to_json().ok()).filter(|_| !is_in_row);
        let Some(json) = json else { return row.to_owned() };
        let (text, at) = match self {
            // Lower case may have another length: the place is approximate, and on a character.
            Self::Text { .. } => {
                let at = self.place_in(&json.to_lowercase()).unwrap_or(0);
                (json, at)
            }
            Self::Pattern(pattern) => match matching(pattern, &json) {
                Some(text) => {
                    let at = pattern.find(&text).map_or(0, |found| found.start());
                    (text, at)
                }
                None => (json, 0),
            },
        };
        let from = (0..=at.saturating_sub(30).min(text.len())).rev();
        let from = from.into_iter().find(|from| text.is_char_boundary(*from)).unwrap_or(0);
        format!("…{}", text.get(from..).unwrap_or_default())
    }

    /// Returns the place of the first hit in a lower-case text, in bytes. It is approximate where
    /// only white space differs.
    fn place_in(&self, within: &str) -> Option<usize> {
        match self {
            Self::Text { text, compact: squeezed } => within
                .find(text)
                .or_else(|| squeezed.as_ref().and_then(|it| compact(within).find(it))),
            Self::Pattern(pattern) => pattern.find(within).map(|found| found.start()),
        }
    }
}

/// Returns the first text of a body, given as JSON, that matches. If the JSON has a number that no
/// `f64` holds, or half of a surrogate pair, the whole JSON is matched in place of its texts.
fn matching(pattern: &Regex, body: &str) -> Option<String> {
    match serde_json::from_str(body) {
        Ok(value) => text_in(pattern, &value),
        Err(_) => pattern.is_match(body).then(|| body.to_owned()),
    }
}

/// Returns the first text of a value that matches. Of an object, the names count too.
fn text_in(pattern: &Regex, value: &Value) -> Option<String> {
    let matches = |text: &str| pattern.is_match(text).then(|| text.to_owned());
    match value {
        Value::String(text) => matches(text),
        Value::Array(items) => items.iter().find_map(|item| text_in(pattern, item)),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, value)| matches(name).or_else(|| text_in(pattern, value))),
        Value::Number(number) => matches(&number.to_string()),
        Value::Null | Value::Bool(_) => None,
    }
}

/// Returns a text without the white space outside of its quotes.
fn compact(text: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let keeps = |c: &char| {
        is_quoted ^= *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_quoted || !c.is_whitespace()
    };
    text.chars().filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn white_space_outside_of_quotes_does_not_count() {
        let found = |text: &str, body: &str| Needle::new(text).place_in(body).is_some();
        let body = r#"{"ok":false,"output":"a \"b c\" d","n":[1,2]}"#;
        for text in [r#""OK": false"#, r#""ok":false"#, r#"{ "ok" : false"#, "a \\\"b c", "[1,2"] {
            assert!(found(text, body), "{text}");
        }
        for text in [r#""ok": true"#, r#""output": "a\"b"#, "\"a  ", "[1, 2"] {
            assert!(!found(text, body), "{text}");
        }
        // Parts of a body may be as they were recorded.
        assert!(found(r#"{"q":"x y"#, r#"{"arguments":{"q": "x y"}}"#));
        assert!(!found(r#"{"q":"xy"#, r#"{"arguments":{"q": "x y"}}"#));
    }

    #[test]
    fn a_word_has_no_letter_beside_it_and_a_pattern_sees_texts_not_json() {
        let is_in = |needle: &Needle, text: &str| {
            let Needle::Pattern(pattern) = needle else { panic!("{needle:?}") };
            matching(pattern, &json!({ "arguments": { "command": text } }).to_string()).is_some()
        };
        let word = Needle::words("rm").unwrap();
        for text in ["rm a", "cd x\nrm a", "RM", "a;rm", "(rm)"] {
            assert!(is_in(&word, text), "{text}");
        }
        for text in ["confirm", "rmdir", "a_rm", "form rmx"] {
            assert!(!is_in(&word, text), "{text}");
        }
        assert!(is_in(&Needle::words("rm -rf ./").unwrap(), "rm -rf ./ x"));
        assert!(is_in(&Needle::pattern(r"^rm\s+-r").unwrap(), "rm  -rf"));
        // Bodies that serde_json does not take apart are matched as they stand.
        let Needle::Pattern(pattern) = Needle::words("cut").unwrap() else { panic!() };
        assert!(matching(&pattern, r#"{"a":1e400,"b":"cut"}"#).is_some());
        assert!(matching(&pattern, r#"{"b":"cut \ud83d"}"#).is_some());
        assert!(Needle::pattern("a{1000}{1000}").is_err());
        assert!(Needle::pattern("(").is_err());
    }
}
