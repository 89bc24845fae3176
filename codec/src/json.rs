//! JSON values that are kept as text.

use std::fmt;

use bincode::de::{BorrowDecode, BorrowDecoder, Decoder};
use bincode::enc::Encoder;
use bincode::error::{DecodeError, EncodeError};
use bincode::{Decode, Encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// The most levels of nested arrays and objects in a [`Json`], so that every reader can parse it.
pub const JSON_DEPTH_MAX: u32 = 100;

/// One JSON value, kept verbatim as text.
///
/// The text is checked on creation and on decoding, so a `Json` is always valid.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Wraps JSON text. Fails with `Invalid` if the text is not one JSON value, or nests deeper
    /// than [`JSON_DEPTH_MAX`].
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        check_depth(&text)?;
        RawValue::from_string(text)
            .map(Self)
            .map_err(|e| Error::invalid(format!("not JSON: {}", json_reason(&e))).with_source(e))
    }

    /// Serializes a value.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let text = serde_json::to_string(value)
            .map_err(|e| Error::invalid(format!("no JSON form: {e}")).with_source(e))?;
        Self::new(text)
    }

    /// Returns the JSON string of a text.
    pub fn string(text: &str) -> Self {
        // Most texts need no escapes.
        let mut json = Vec::with_capacity(text.len() + 2);
        let written = serde_json::to_writer(&mut json, text).ok();
        let json = written.and_then(|()| String::from_utf8(json).ok());
        let raw = json.and_then(|json| RawValue::from_string(json).ok());
        raw.map_or_else(Self::null, Self)
    }

    /// Returns `null`.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Parses the value. Fails with `Invalid` if a [`serde_json::Value`] cannot represent a number
    /// or string in it: `1e400`, or half a surrogate pair, which are valid JSON.
    pub fn value(&self) -> Result<serde_json::Value> {
        serde_json::from_str(self.text())
            .map_err(|e| Error::invalid(format!("JSON with no value: {e}")).with_source(e))
    }

    /// Deserializes the value.
    ///
    /// ```
    /// # use milepost_codec::Json;
    /// let scores: Vec<f64> = Json::new("[0.9, 0.4]")?.to()?;
    /// assert_eq!(scores, [0.9, 0.4]);
    /// # Ok::<(), milepost_codec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid`: it is not of this form.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.text())
            .map_err(|e| Error::invalid(format!("JSON of another form: {e}")).with_source(e))
    }

    /// Returns `true` if the value is `null`.
    pub fn is_null(&self) -> bool {
        self.text() == "null"
    }
}

fn check_depth(text: &str) -> Result<()> {
    // Fast path: most values are strings, or have no more brackets in total than the depth limit.
    let opens = |byte: &u8| matches!(byte, b'[' | b'{');
    let within = |limit: usize| text.as_bytes().iter().filter(|b| opens(b)).count() <= limit;
    if text.starts_with('"') || within(JSON_DEPTH_MAX as usize) {
        return Ok(());
    }
    let (bytes, mut at, mut depth) = (text.as_bytes(), 0, 0_u32);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = behind_string(bytes, at),
            b'[' | b'{' => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return Err(Error::invalid(format!(
                        "JSON nested deeper than {JSON_DEPTH_MAX} levels"
                    )));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the position after the closing quote of a string whose text starts at `at`.
fn behind_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) if rest.get(found) == Some(&b'"') => return at + found + 1,
            // The escaped byte does not end the string.
            Some(found) => at += found + 2,
            None => return bytes.len(),
        }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({})", self.text())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(d)?;
        check_depth(raw.get()).map_err(serde::de::Error::custom)?;
        Ok(Self(raw))
    }
}

impl Encode for Json {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.text().encode(encoder)
    }
}

impl<C> Decode<C> for Json {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let text = String::decode(decoder)?;
        Self::new(text).map_err(|e| DecodeError::OtherString(e.to_string()))
    }
}

impl<'de, C> BorrowDecode<'de, C> for Json {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(
        decoder: &mut D,
    ) -> Result<Self, DecodeError> {
        Self::decode(decoder)
    }
}

/// Returns the reason of an error in words of JSON, where serde has names of types of Rust, and the
/// place in the text.
///
/// ```
/// let error = serde_json::from_str::<u64>("\"x\"").unwrap_err();
/// let reason = milepost_codec::json_reason(&error);
/// assert_eq!(reason, "invalid type: string \"x\", expected a whole number at line 1 column 3");
/// ```
pub fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let Some(at) = text.rfind("expected ") else {
        return text;
    };
    let (before, expected) = text.split_at(at);
    let (what, place) = match expected.find(" at line ") {
        Some(place) => expected.split_at(place),
        None => (expected, ""),
    };
    let words = match what {
        // A letter that begins `null`, `true` or `false`.
        "expected ident" => "a word that is not `null`, `true` or `false`",
        "expected u8" | "expected u16" | "expected u32" | "expected u64" | "expected usize" => {
            "expected a whole number"
        }
        "expected i32" | "expected i64" => "expected a whole number",
        "expected f32" | "expected f64" => "expected a number",
        "expected a sequence" => "expected a list",
        "expected a map" => "expected an object",
        _ if what.starts_with("expected struct ") && !what.contains(" with ") => {
            "expected an object"
        }
        _ => what,
    };
    format!("{before}{words}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_word_for_word() {
        let text = r#"{"b" : 1e400, "a":[1.0,  2]}"#;
        assert_eq!(Json::new(text).unwrap().text(), text);
    }

    #[test]
    fn what_nests_too_deep_or_is_no_json_is_refused() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert!(Json::new(deep).is_err());
        assert!(Json::new("[\"[[[[\"]").is_ok());
        assert!(Json::new("{").is_err());
        assert!(Json::new("").is_err());
    }

    #[test]
    fn brackets_in_texts_do_not_nest_however_a_text_ends() {
        let many = "[".repeat(5000);
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        for text in ["", "a\\\"", "\\\\", "\\\\\\\"", "\\u005b", "\\n\\\\"] {
            let fits = nested(JSON_DEPTH_MAX as usize - 1);
            let json = |nested: &str| format!(r#"{{"{text}{many}{text}":{nested}}}"#);
            assert!(Json::new(json(&fits)).is_ok(), "{text}");
            let deep = nested(JSON_DEPTH_MAX as usize);
            let error = Json::new(json(&deep)).unwrap_err();
            assert!(error.to_string().contains("nested deeper"), "{text}: {error}");
        }
    }
}
