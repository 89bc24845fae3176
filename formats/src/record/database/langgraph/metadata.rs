//! The metadata of a stored checkpoint: its bytes, and the part for filters and people.

use milepost::Json;
use milepost_langgraph::{Step, Typed, to_json};

use crate::json_object::Object;

/// Maximum size of the metadata for filters, in bytes. The saver has the same limit.
const FILTER_MAX: usize = 60_000;
/// Maximum size of one of its values if not all of them fit, in bytes.
const SCALAR_MAX: usize = 4096;

/// The metadata of a checkpoint.
pub struct CheckpointMetadata {
    /// The bytes, and their encoding.
    pub stored: Typed,
    /// The object for filters: all of the metadata if there is room, otherwise its scalars.
    pub filters: Option<Json>,
    /// The step of a loop.
    pub step: Option<Step>,
}

/// Returns the metadata in a row. What cannot be decoded is kept as bytes.
pub fn metadata(bytes: &[u8]) -> CheckpointMetadata {
    let (stored, text) = match bytes.first() {
        None => (Typed::new("json", b"{}"), Some("{}".to_owned())),
        Some(b'{') => {
            let text = std::str::from_utf8(bytes).ok();
            (Typed::new("json", bytes), text.map(str::to_owned))
        }
        // Older versions encoded it as they did the checkpoint.
        Some(_) => match to_json(bytes) {
            Ok(text) => (Typed::new("msgpack", bytes), Some(text)),
            Err(_) => (Typed::new("bytes", bytes), None),
        },
    };
    let finite = text.as_deref().and_then(finite);
    let is_whole = finite.is_none();
    let text = finite.or(text);
    let fields = text.as_deref().and_then(|text| serde_json::from_str::<Object>(text).ok());
    let step = fields.as_ref().and_then(step);
    let text = text.filter(|text| is_whole && text.len() <= FILTER_MAX);
    let filters = fields.and_then(|fields| filters(text, fields));
    CheckpointMetadata { stored, filters, step }
}

fn step(fields: &Object) -> Option<Step> {
    // The input before the first step has a negative number.
    let number = fields.get("step")?.text().parse().ok()?;
    Some(Step { number, source: fields.text("source") })
}

/// Returns the text with an empty list for each number that Python writes and JSON does not have:
/// `NaN`, `Infinity`, `-Infinity`. `None` if it has no such number.
fn finite(text: &str) -> Option<String> {
    const NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
    if !NUMBERS.iter().any(|number| text.contains(number)) {
        return None;
    }
    let mut finite = String::with_capacity(text.len());
    let mut rest = text;
    let (mut is_text, mut changed) = (false, false);
    while let Some(next) = rest.chars().next() {
        let number = NUMBERS.iter().find(|number| !is_text && rest.starts_with(**number));
        let len = match (number, next) {
            (Some(number), _) => number.len(),
            // With the character that it escapes.
            (None, '\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            (None, next) => next.len_utf8(),
        };
        let (part, behind) = rest.split_at(len);
        is_text ^= next == '"';
        changed |= number.is_some();
        finite.push_str(if number.is_some() { "[]" } else { part });
        rest = behind;
    }
    changed.then_some(finite)
}

/// Returns the object for filters: the whole text, if it is given, or the scalars that fit.
fn filters(text: Option<String>, fields: Object) -> Option<Json> {
    if let Some(Ok(json)) = text.map(Json::new) {
        return Some(json);
    }
    let is_scalar = |json: &Json| !json.text().starts_with(['[', '{']);
    let mut scalars = fields.into_fields();
    scalars.retain(|(_, json)| is_scalar(json) && json.text().len() < SCALAR_MAX);
    scalars.sort_by_key(|(name, json)| name.len() + json.text().len());
    let mut room = FILTER_MAX;
    let mut fitting = Object::default();
    for (name, json) in scalars {
        // Its quotation marks, the colon and the comma.
        let Some(left) = room.checked_sub(name.len() + json.text().len() + 8) else {
            break;
        };
        room = left;
        fitting.put(name, json);
    }
    Json::from_value(&fitting).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters_of(bytes: &[u8]) -> Option<String> {
        metadata(bytes).filters.map(|json| json.text().to_owned())
    }

    #[test]
    fn metadata_is_kept_and_what_is_an_object_is_for_filters() {
        let text = br#"{"source": "loop", "step": 3, "of": [1.50]}"#;
        let found = metadata(text);
        assert_eq!(found.stored, Typed::new("json", text));
        assert_eq!(found.step, Some(Step { number: 3, source: Some("loop".into()) }));
        assert_eq!(filters_of(text).unwrap().as_bytes(), text);
        assert_eq!(metadata(br#"{"source":"input","step":-1}"#).step, None);
        assert_eq!(metadata(b"").stored, Typed::new("json", b"{}"));
        // As Python writes it, and JSON cannot have it: it is kept, and the others are for filters.
        let number = br#"{"step": 1, "a": NaN, "b": -Infinity, "c": [Infinity], "d": "\"NaN"}"#;
        let found = metadata(number);
        assert_eq!(found.stored, Typed::new("json", number));
        assert_eq!(found.step, Some(Step { number: 1, source: None }));
        assert_eq!(filters_of(number).as_deref(), Some(r#"{"step":1,"d":"\"NaN"}"#));
        let text = br#"{"step": 1, "of": [2], "name": "NaN"}"#;
        assert_eq!(filters_of(text).unwrap().as_bytes(), text);
        assert_eq!(metadata(b"\x91\x01").stored, Typed::new("msgpack", b"\x91\x01"));
        assert_eq!(filters_of(b"\x91\x01"), None);
        assert_eq!(filters_of(b"\x81\xa4step\x02").as_deref(), Some(r#"{"step":2}"#));
        assert_eq!(metadata(b"\xc1").stored, Typed::new("bytes", b"\xc1"));
    }

    #[test]
    fn of_large_metadata_the_shortest_scalars_are_for_filters() {
        let long = "x".repeat(3000);
        let mut fields: Vec<String> =
            (10..40).map(|at| format!(r#""n{at}":"{long}{at}""#)).collect();
        fields.push(format!(r#""too long":"{}""#, "x".repeat(4096)));
        fields.push(r#""source":"loop","list":[1],"object":{},"none":null"#.to_owned());
        let found = filters_of(format!("{{{}}}", fields.join(",")).as_bytes()).unwrap();
        assert!(found.starts_with(r#"{"none":null,"source":"loop","n10":"x"#), "{found:.60}");
        assert!(found.len() < FILTER_MAX && found.len() > FILTER_MAX - 3100, "{}", found.len());
        assert!(!found.contains("too long") && !found.contains("list"));
    }
}
