//! Checkpoints of LangGraph: their stored form, and the changes between two.

use milepost::{Json, RunState};
use milepost_formats::fuzzing::{
    Object, Typed, joined_map, metadata, parts, patch, split_map, to_json,
};

use crate::targets::bounds::bounded;

/// Bytes after a first byte with their kind: 0 MessagePack, 1 a checkpoint in it, 2 one in JSON, 3
/// metadata, 4 two lists of values in JSON, one after the other.
pub fn langgraph(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    // Names and places of values take more than the values, which may be a byte each.
    let taken_apart = |kind: &str| {
        drop(bounded("a checkpoint", 8 * rest.len(), 0, || parts(&Typed::new(kind, rest))));
    };
    match selector % 5 {
        0 => packed(rest),
        1 => taken_apart("msgpack"),
        2 => taken_apart("json"),
        3 => drop(bounded("metadata", 8 * rest.len(), 0, || metadata(rest))),
        _ => changed(rest),
    }
}

/// Asserts that the result is JSON, and not much larger than its source.
fn packed(bytes: &[u8]) {
    if let Some(entries) = bounded("a map", bytes.len(), 0, || split_map(bytes)) {
        let map = joined_map(&entries);
        assert_eq!(split_map(&map).as_ref(), Some(&entries), "a map is its entries");
        assert!(map.len() <= bytes.len(), "the shortest header");
    }
    let Ok(json) = bounded("packed", bytes.len(), 0, || to_json(bytes)) else {
        return;
    };
    assert!(json.len() <= 60 * bytes.len(), "{json}");
    let read = serde_json::from_str::<serde::de::IgnoredAny>(&json);
    // The importer rejects values nested more deeply than the reader's limit.
    let deep = json.matches(['[', '{']).count() > 100;
    assert!(read.is_ok() || deep, "{json}");
}

/// A patch leads from one list of values to the other.
fn changed(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Object>();
    let (Some(Ok(from)), Some(Ok(to))) = (values.next(), values.next()) else {
        return;
    };
    let state = |object: &Object| {
        let mut state = RunState::default();
        let json = object.clone().into_json()?;
        let whole = format!(r#"[{{"op":"replace","path":"","value":{json}}}]"#);
        let patch = Json::new(whole).ok()?;
        state.variables.patch(&patch).ok().map(|()| state)
    };
    let (Some(mut before), Some(after)) = (state(&from), state(&to)) else {
        return;
    };
    match patch(&from.into_fields(), &to.into_fields()) {
        None => {}
        Some(Err(_)) => return,
        Some(Ok(patch)) => before.variables.patch(&patch).expect("a patch that applies"),
    }
    assert_eq!(before.variables, after.variables);
}
