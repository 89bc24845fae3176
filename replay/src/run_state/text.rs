//! The state of a run as JSON text. Parts that are JSON already are copied, so the memory needed is
//! about the length of the text.

use std::fmt;

use milepost_codec::{Json, Result};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::json::{FIELDS, MessageRange, entry_text, guidance_text};
use super::state::RunState;
use crate::chunks::Chunks;
use crate::document::{text_value, weigh};
use crate::pointer::{first_token, index_of, tokens};

impl RunState {
    /// Returns the text of [`RunState::to_json`] with fields in the order of their names. Without a
    /// range, `guidance` and `messages` are left out.
    ///
    /// # Errors
    ///
    /// `Invalid`: a part is too large to be displayed. Otherwise as [`Chunks::get`].
    pub fn text(&self, chunks: &dyn Chunks, messages: Option<MessageRange>) -> Result<String> {
        let mut out = String::from("{");
        let mut names = FIELDS;
        names.sort_unstable();
        for name in names {
            if messages.is_none() && matches!(name, "guidance" | "messages") {
                continue;
            }
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(Json::string(name).text());
            out.push(':');
            match (name, &self.rules) {
                ("artifacts", _) => self.artifacts_text(&mut out)?,
                ("rules", Some(rules)) => json_text(rules.text(), &mut out)?,
                ("variables", _) => json_text(&self.variables.text(), &mut out)?,
                ("context", _) => json_text(&self.context.text(), &mut out)?,
                _ => {
                    let value = self.field(name, chunks, messages.unwrap_or_default())?;
                    out.push_str(&value.unwrap_or_default().to_string());
                }
            }
        }
        out.push('}');
        Ok(out)
    }

    /// Returns the text of the part at a JSON pointer, as [`RunState::value_at`] finds it.
    ///
    /// # Errors
    ///
    /// As [`RunState::value_at`] and [`RunState::text`].
    pub fn text_at(&self, pointer: &str, chunks: &dyn Chunks) -> Result<Option<String>> {
        let mut out = String::new();
        match self.raw_part(pointer)? {
            Some(part) => json_text(part, &mut out)?,
            None => {
                if let Some(part) = self.entry_part(pointer, chunks)? {
                    json_text(&part, &mut out)?;
                    return Ok(Some(out));
                }
                let value = self.value_at(pointer, chunks)?;
                return Ok(value.map(|value| value.to_string()));
            }
        }
        Ok(Some(out))
    }

    /// Returns the part at a pointer of a value that is kept as text.
    pub(super) fn raw_part(&self, pointer: &str) -> Result<Option<&str>> {
        let Some((field, rest)) = first_token(pointer)? else {
            return Ok(None);
        };
        let (json, rest) = match field.as_str() {
            "rules" => (self.rules.as_ref(), rest),
            "artifacts" => match first_token(rest)? {
                Some((name, rest)) => (self.artifacts.get(&name), rest),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(json.and_then(|json| part(json.text(), rest)))
    }

    /// Returns the text of the part at a pointer of a list entry.
    pub(super) fn entry_part(&self, pointer: &str, chunks: &dyn Chunks) -> Result<Option<String>> {
        let Some((field, rest)) = first_token(pointer)? else {
            return Ok(None);
        };
        let Some((index, rest)) = first_token(rest)? else {
            return Ok(None);
        };
        let Some(index) = index_of(&index) else {
            return Ok(None);
        };
        let text = match field.as_str() {
            "messages" => self.messages.get(index, chunks)?.map(entry_text),
            "guidance" => self.guidance.get(index, chunks)?.map(guidance_text),
            _ => None,
        };
        Ok(match text.transpose()? {
            Some(text) if rest.is_empty() => Some(text),
            Some(text) => part(&text, rest).map(str::to_owned),
            None => None,
        })
    }

    /// Returns the approximate size in memory, in bytes, of the value at a JSON pointer, as
    /// [`RunState::value_at`] finds it.
    ///
    /// # Errors
    ///
    /// As [`RunState::value_at`].
    pub fn weight_at(&self, pointer: &str, chunks: &dyn Chunks) -> Result<u64> {
        if let Some(part) = self.raw_part(pointer)? {
            return Ok(weigh(part));
        }
        if let Some(part) = self.entry_part(pointer, chunks)? {
            return Ok(weigh(&part));
        }
        Ok(match first_token(pointer)? {
            Some((field, rest)) if field == "variables" => self.variables.weight_at(rest),
            Some((field, rest)) if field == "context" => self.context.weight_at(rest),
            _ => self.weight(),
        })
    }

    /// Returns the approximate size in memory, in bytes, without the long lists.
    pub fn weight(&self) -> u64 {
        let text = |json: &Json| json.text().len();
        let artifacts = self.artifacts.iter();
        let artifacts = artifacts.map(|(name, json)| name.len() + text(json));
        let calls = self.open_calls.iter();
        let calls = calls.map(|(id, open)| id.len() + open.arguments.as_ref().map_or(0, text));
        let prompt = self.prompt.as_ref().map_or(0, String::len);
        let texts = artifacts.sum::<usize>() + calls.sum::<usize>() + prompt;
        let texts = texts + self.rules.as_ref().map_or(0, text);
        let documents = self.variables.weight().saturating_add(self.context.weight());
        documents.saturating_add(texts as u64)
    }

    fn artifacts_text(&self, out: &mut String) -> Result<()> {
        out.push('{');
        for (n, (name, json)) in self.artifacts.iter().enumerate() {
            if n > 0 {
                out.push(',');
            }
            out.push_str(Json::string(name).text());
            out.push(':');
            json_text(json.text(), out).map_err(|error| error.at(format!("artifact `{name}`")))?;
        }
        out.push('}');
        Ok(())
    }
}

/// Writes JSON that every reader can parse: verbatim, unless it has half a surrogate pair or a
/// number beyond the range of `f64`.
fn json_text(text: &str, out: &mut String) -> Result<()> {
    match serde_json::from_str::<Plain>(text) {
        Ok(Plain) => out.push_str(text),
        Err(_) => out.push_str(&text_value(text)?.to_string()),
    }
    Ok(())
}

/// Returns the part of a JSON text at a pointer, without building the rest.
fn part<'a>(text: &'a str, pointer: &str) -> Option<&'a str> {
    let mut part = text;
    for token in tokens(pointer) {
        let mut read = serde_json::Deserializer::from_str(part);
        let found = Step(&token).deserialize(&mut read).ok()??;
        part = found.get();
    }
    Some(part)
}

/// A value that serde_json parses without a loss.
struct Plain;

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        d.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Plain {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> std::result::Result<Self, E> {
        Ok(Self)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self, E> {
        Ok(Self)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self, E> {
        Ok(Self)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self, E> {
        Ok(Self)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self, E> {
        Ok(Self)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self, E> {
        Ok(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self, A::Error> {
        while let Some(Self) = items.next_element()? {}
        Ok(Self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Self, A::Error> {
        // With some features of serde_json a number comes as a map: its text is read as a string.
        while let Some((Self, Self)) = fields.next_entry()? {}
        Ok(Self)
    }
}

/// Selects the value of one token of a pointer.
struct Step<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<Self::Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut fields: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let mut found = None;
        // The last of duplicate keys counts.
        while let Some(is_it) = fields.next_key_seed(Same(self.0))? {
            if is_it {
                found = Some(fields.next_value()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut items: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let wanted_index = index_of(self.0);
        let (mut at, mut found) = (0, None);
        loop {
            if wanted_index == Some(at) {
                let Some(item) = items.next_element()? else {
                    break;
                };
                found = Some(item);
            } else if items.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
            at += 1;
        }
        Ok(found)
    }
}

/// Compares a key with the wanted one.
struct Same<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for Same<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<bool, D::Error> {
        d.deserialize_str(self)
    }
}

impl Visitor<'_> for Same<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> std::result::Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::{MemoryChunks, MessageRange};

    #[test]
    fn the_text_of_a_state_is_its_value() {
        let artifacts = [
            ("a", r#"{"x": [1, 2.50, {"y": null}], "z": "w"}"#),
            ("half", r#"{"s": "\ud800", "n": 1e999}"#),
        ];
        let artifacts = artifacts.map(|(name, text)| (name.to_owned(), Json::new(text).unwrap()));
        let state = RunState { artifacts: artifacts.into(), ..RunState::default() };
        let chunks = MemoryChunks::default();
        let text = state.text(&chunks, Some(MessageRange::None)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, state.to_json(&chunks, MessageRange::None).unwrap());
    }

    #[test]
    fn a_part_of_a_text_is_found_without_the_rest() {
        let text = r#"{"a": [0, {"b/c": "x"}], "a": [1, {"b/c": [true]}], "d": 1e999}"#;
        for (pointer, found) in [
            ("", Some(text)),
            ("/a/1/b~1c", Some("[true]")),
            ("/a/1/b~1c/0", Some("true")),
            ("/d", Some("1e999")),
            ("/a/01", None),
            ("/a/2", None),
            ("/e", None),
            ("/d/0", None),
        ] {
            assert_eq!(part(text, pointer), found, "{pointer}");
        }
    }
}
