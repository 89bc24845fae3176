//! Checkpoints of LangGraph: what is stored, and what changed between two.

use milepost::{Json, RunState};
use milepost_formats::fuzzing::{Object, Stored, content, metadata, patch, to_json};

use crate::targets::bounds::bounded;

/// The bytes behind a first byte that says what they are: 0 MessagePack, 1 a checkpoint in it, 2 one in JSON, 3 metadata, 4 two
/// lists of values in JSON, one behind the other.
pub fn langgraph(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let stored = |kind: &str| Stored { kind: Some(kind.to_owned()), bytes: rest.to_owned() };
    match selector % 5 {
        0 => packed(rest),
        1 => drop(bounded("a checkpoint", rest.len(), 0, || content(&stored("msgpack")))),
        // JSON that is taken apart as values is no text any more.
        2 => drop(bounded("a checkpoint", 8 * rest.len(), 0, || content(&stored("json")))),
        3 => drop(bounded("metadata", 8 * rest.len(), 0, || metadata(rest.to_vec()))),
        _ => changed(rest),
    }
}

/// Whatever is read is JSON, and not much more than what was stored.
fn packed(bytes: &[u8]) {
    let Ok(json) = bounded("packed", bytes.len(), 0, || to_json(bytes)) else {
        return;
    };
    assert!(json.len() <= 60 * bytes.len(), "{json}");
    let read = serde_json::from_str::<serde::de::IgnoredAny>(&json);
    // What nests deeper than the reader goes is refused by whoever takes it.
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
