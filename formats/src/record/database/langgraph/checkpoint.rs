//! A stored checkpoint, taken apart. The bytes of its values stay as they are.

use std::collections::BTreeMap;

use jiff::Timestamp;
use milepost_langgraph::{Given, Typed, joined_map, split_map, to_json};

use crate::error::Converted;
use crate::json_object::Object;

/// The fields of a checkpoint that are read.
const VALUES: &str = "channel_values";
const VERSIONS: &str = "channel_versions";
const TIME: &str = "ts";

/// The parts of a checkpoint.
pub struct CheckpointParts {
    /// The checkpoint without the values of its channels.
    pub content: Typed,
    /// The values of the channels, by name.
    pub values: Vec<Given>,
    /// The time of the checkpoint.
    pub time_us: Option<u64>,
}

/// An entry of a map in MessagePack.
struct PackedField<'a> {
    name: String,
    key: &'a [u8],
    value: &'a [u8],
}

/// Returns the parts of a stored checkpoint, or the reason why it cannot be read.
pub fn parts(stored: &Typed) -> Converted<CheckpointParts> {
    match &*stored.encoding {
        "msgpack" => packed(&stored.bytes),
        "json" => written(&stored.bytes),
        other => Err(format!("it is written as `{other}`, which is not read")),
    }
}

fn packed(bytes: &[u8]) -> Converted<CheckpointParts> {
    let (own, rest): (Vec<_>, Vec<_>) =
        fields(bytes)?.into_iter().partition(|field| field.name == VALUES);
    // The last of two equal entries counts, as in Python.
    let values = own.last().ok_or_else(no_values)?;
    let last = |name: &str| rest.iter().rfind(|field| field.name == name);
    let json = |field: PackedField<'_>| Ok((field.name, to_json(field.value)?));
    let versions = match last(VERSIONS) {
        Some(field) => fields(field.value)?.into_iter().map(json).collect::<Converted<_>>()?,
        None => BTreeMap::new(),
    };
    let time = last(TIME).and_then(|field| text(field.value).ok());
    let values = fields(values.value)?.into_iter();
    let entries: Vec<_> = rest.iter().map(|field| (field.key, field.value)).collect();
    Ok(CheckpointParts {
        content: Typed::new("msgpack", &joined_map(&entries)),
        values: given(values.map(|field| (field.name, Typed::of_packed(field.value))), &versions),
        time_us: time_us(time),
    })
}

fn written(bytes: &[u8]) -> Converted<CheckpointParts> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let object = |text: &str| serde_json::from_str::<Object>(text).map_err(|e| e.to_string());
    let mut rest = object(text)?;
    let values = object(rest.take(VALUES).ok_or_else(no_values)?.text())
        .map_err(|why| format!("`{VALUES}`: {why}"))?;
    let versions = rest.get(VERSIONS).and_then(|json| object(json.text()).ok());
    let versions = versions.unwrap_or_default().into_fields().into_iter();
    let versions = versions.map(|(name, json)| (name, json.text().to_owned())).collect();
    let content = serde_json::to_string(&rest).map_err(|error| error.to_string())?;
    let typed = |text: &str| Typed::new("json", text.as_bytes());
    let values = values.into_fields().into_iter();
    Ok(CheckpointParts {
        content: typed(&content),
        values: given(values.map(|(name, json)| (name, typed(json.text()))), &versions),
        time_us: time_us(rest.text(TIME)),
    })
}

fn no_values() -> String {
    format!("it has no `{VALUES}`")
}

fn fields(bytes: &[u8]) -> Converted<Vec<PackedField<'_>>> {
    let entries = split_map(bytes).ok_or_else(|| "it is no whole map in MessagePack".to_owned())?;
    let named = |(key, value)| Ok(PackedField { name: text(key)?, key, value });
    entries.into_iter().map(named).collect()
}

/// Returns the text of a value that is one.
fn text(bytes: &[u8]) -> Converted<String> {
    let text = serde_json::from_str(&to_json(bytes)?);
    text.map_err(|_| "the name of a field is no text".to_owned())
}

fn given(
    values: impl Iterator<Item = (String, Typed)>,
    versions: &BTreeMap<String, String>,
) -> Vec<Given> {
    let values: BTreeMap<String, Typed> = values.collect();
    let given = |(name, value): (String, Typed)| {
        let version = versions.get(&name).map_or("null", String::as_str).to_owned();
        Given { name, version, value: Some(value.into()) }
    };
    values.into_iter().map(given).collect()
}

fn time_us(time: Option<String>) -> Option<u64> {
    let stamp: Timestamp = time?.parse().ok()?;
    u64::try_from(stamp.as_microsecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_taken_apart_and_its_bytes_stay_the_same() {
        let json = parts(&Typed::new(
            "json",
            br#"{"v": 1, "ts": "1970-01-01T00:00:01+00:00", "channel_versions": {"b": 2.50},
                "channel_values": {"b": 1.50, "a": null, "b": [2]}}"#,
        ));
        let json = json.unwrap();
        let content = br#"{"v":1,"ts":"1970-01-01T00:00:01+00:00","channel_versions":{"b": 2.50}}"#;
        assert_eq!(json.content, Typed::new("json", content));
        let shown = |parts: &CheckpointParts| {
            let each = parts.values.iter();
            each.map(|one| (one.name.clone(), one.version.clone())).collect::<Vec<_>>()
        };
        let versions = |a: &str, b: &str| vec![("a".into(), a.into()), ("b".into(), b.into())];
        assert_eq!((shown(&json), json.time_us), (versions("null", "2.50"), Some(1_000_000)));
        let stored = [
            &b"\x84\xa1v\x01\xaechannel_values\x83\xa1b\xc4\x01\xff\xa1a\xc0\xa1b\x91\x02"[..],
            b"\xb0channel_versions\x81\xa1b\xa13\xa2ts\xb91970-01-01T00:00:01+00:00",
        ]
        .concat();
        let content = [
            &b"\x83\xa1v\x01"[..],
            b"\xb0channel_versions\x81\xa1b\xa13\xa2ts\xb91970-01-01T00:00:01+00:00",
        ]
        .concat();
        let packed = parts(&Typed::new("msgpack", &stored)).unwrap();
        assert_eq!(packed.content, Typed::new("msgpack", &content));
        assert_eq!((shown(&packed), packed.time_us), (versions("null", "\"3\""), Some(1_000_000)));
    }

    #[test]
    fn what_is_no_checkpoint_is_refused_with_the_reason() {
        for (kind, bytes, why) in [
            ("json", &b"[]"[..], "expected an object"),
            ("json", b"{}", "no `channel_values`"),
            ("json", br#"{"channel_values":7}"#, "`channel_values`: invalid type"),
            ("json", b"{", "EOF"),
            ("msgpack", b"\x80", "no `channel_values`"),
            ("msgpack", b"\x90", "no whole map"),
            ("msgpack", b"\x81\x01\x02", "no text"),
            ("msgpack", b"\x81\xaechannel_values\x07", "no whole map"),
            ("pickle", b"x", "written as `pickle`"),
        ] {
            let error = parts(&Typed::new(kind, bytes)).err().unwrap();
            assert!(error.contains(why), "{kind} {bytes:?}: {error}");
        }
    }
}
