//! Documents compared with the oracles `serde_json` and `json-patch`, and cases beyond those.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn json(text: &str) -> Json {
    Json::new(text).unwrap()
}

fn document(text: &str) -> Document {
    Document::new(&json(text)).unwrap()
}

/// Small values with few keys, so that patches hit existing places.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[a-b/~]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c~/]{0,1}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let op = prop_oneof![
        Just("add"),
        Just("add"),
        Just("remove"),
        Just("replace"),
        Just("move"),
        Just("copy"),
        Just("test"),
    ];
    let path = || prop::collection::vec("[a-c]|[0-2]|-|~0|~1|", 0..4);
    let pointer = |steps: Vec<String>| steps.iter().map(|s| format!("/{s}")).collect::<String>();
    (op, path(), path(), value()).prop_map(move |(op, path, from, value)| {
        let (mut path, mut from) = (pointer(path), pointer(from));
        // The oracle treats `remove` and `move` of the whole document differently.
        if matches!(op, "remove" | "move") && (path.is_empty() || from.is_empty()) {
            (path, from) = (format!("{path}/a"), format!("{from}/b"));
        }
        json!({"op": op, "path": path, "from": from, "value": value})
    })
}

/// Text that is sometimes JSON, with whole and half surrogate pairs.
fn json_like() -> impl Strategy<Value = String> {
    prop_oneof!["[\\[\\]{}:,\"\\\\ua0-9d8c.eE+ -]{0,12}", "\"(\\\\u[dD][8-9c-f]00|\\PC)*\""]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_json_patch_does_what_the_oracle_does_or_nothing(
        before in value(),
        operations in prop::collection::vec(operation(), 1..6),
    ) {
        let mut ours = document(&before.to_string());
        let text = Value::Array(operations).to_string();
        let mut theirs = before.clone();
        let oracle = serde_json::from_str::<json_patch::Patch>(&text).unwrap();
        // The oracle's `patch` panics if it cannot undo.
        let expected = json_patch::patch_unsafe(&mut theirs, &oracle);
        let done = ours.patch(&json(&text));
        prop_assert_eq!(done.is_ok(), expected.is_ok(), "{:?} and {:?}", done, expected);
        let after = if done.is_ok() { theirs } else { before };
        prop_assert_eq!(ours.to_value(), after);
        prop_assert_eq!(ours.weight, ours.root.measure().0);
        prop_assert_eq!(&document(&ours.text()), &ours);
    }

    #[test]
    fn a_merge_patch_does_what_the_oracle_does(before in value(), patch in value()) {
        let mut ours = document(&before.to_string());
        ours.merge(&json(&patch.to_string())).unwrap();
        let mut theirs = before;
        json_patch::merge(&mut theirs, &patch);
        prop_assert_eq!(ours.to_value(), theirs);
        prop_assert_eq!(ours.weight, ours.root.measure().0);
    }

    #[test]
    fn any_text_that_is_json_is_read_alike(text in json_like()) {
        if let Ok(json) = Json::new(text.as_str()) {
            let document = Document::new(&json).unwrap();
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(document.to_value(), value);
            }
            prop_assert_eq!(Document::new(&Json::new(document.text()).unwrap()).unwrap(), document);
        }
    }
}

#[test]
fn keys_are_sorted_and_numbers_kept_word_for_word() {
    let text = r#"{ "b":1.10, "a" : {"z":1e400,"B":-0,"":[ ]} ,"b":2.50}"#;
    assert_eq!(document(text).text(), r#"{"a":{"":[],"B":-0,"z":1e400},"b":2.50}"#);
}

#[test]
fn a_number_too_large_for_a_float_is_shown_as_its_text() {
    assert_eq!(document("[1e400]").to_value(), json!(["1e400"]));
}

#[test]
fn half_a_surrogate_pair_becomes_the_replacement_character() {
    for (text, expected) in [
        (r#""\ud83d\ude00""#, "\u{1F600}"),
        (r#""\ud83d""#, "\u{FFFD}"),
        (r#""\ude00x""#, "\u{FFFD}x"),
        (r#""\ud83d\n""#, "\u{FFFD}\n"),
        (r#""\ud83d\ud83d\ude00""#, "\u{FFFD}\u{1F600}"),
    ] {
        if let Ok(json) = Json::new(text) {
            assert_eq!(Document::new(&json).unwrap().to_value(), Value::from(expected), "{text}");
        }
    }
}

#[test]
fn a_test_compares_numbers_by_what_they_are_worth() {
    let mut document = document(r#"{"n": 1.0, "m": -120, "z": 0}"#);
    for (path, value, holds) in [
        ("/n", "1", true),
        ("/n", "10e-1", true),
        ("/n", "1.01", false),
        ("/m", "-1.2e2", true),
        ("/m", "120", false),
        ("/z", "-0.0", true),
    ] {
        let patch = format!(r#"[{{"op":"test","path":"{path}","value":{value}}}]"#);
        assert_eq!(document.patch(&json(&patch)).is_ok(), holds, "{path} {value}");
    }
}

#[test]
fn a_patch_that_would_nest_too_deep_does_not_apply() {
    let mut document = Document::default();
    let deep = format!("{}{}", "[".repeat(90), "]".repeat(90));
    let path = "/a".repeat(9);
    let mut nest = Value::Null;
    for _ in 0..10 {
        nest = json!({ "a": nest });
    }
    document.merge(&json(&nest.to_string())).unwrap();
    let add = |path: &str| json(&format!(r#"[{{"op":"add","path":"{path}/b","value":{deep}}}]"#));
    document.patch(&add(&path)).unwrap();
    let before = document.clone();
    let copy = r#"[{"op":"add","path":"/x","value":{}},{"op":"copy","from":"/a","path":"/x/a"}]"#;
    assert!(document.patch(&json(copy)).unwrap_err().to_string().contains("deeper"));
    assert_eq!(document, before);
    assert_eq!(Document::new(&json(&document.text())).unwrap(), document);
}

#[test]
fn a_short_patch_cannot_ask_for_much_memory_or_work() {
    let mut document = document(r#"{"a":["0123456789"]}"#);
    let before = document.clone();
    let double = r#"{"op":"copy","from":"/a","path":"/a/-"}"#;
    let patch = format!("[{}]", vec![double; 60].join(","));
    assert!(document.patch(&json(&patch)).is_err());
    assert_eq!(document, before);
    let (text, copy) = ("x".repeat(4 << 20), r#"{"op":"copy","from":"/t","path":"/u"}"#);
    let patch =
        format!(r#"[{{"op":"add","path":"/t","value":"{text}"}},{}]"#, vec![copy; 80].join(","));
    assert!(document.patch(&json(&patch)).unwrap_err().to_string().contains("too much"));
    assert_eq!(document, before);
}

#[test]
fn errors_name_the_operation_and_the_place() {
    let mut document = document(r#"{"a/b":[0]}"#);
    for (patch, expected) in [
        (r#"{}"#, "array"),
        (r#"[7]"#, "operation 0"),
        (
            r#"[{"op":"test","path":"","value":{"a/b":[0]}},{"op":"remove","path":"/c"}]"#,
            "operation 1",
        ),
        (r#"[{"op":"remove","path":"/a~1b/1"}]"#, "/a~1b/1"),
        (r#"[{"op":"remove","path":""}]"#, "whole"),
        (r#"[{"op":"add","path":"/a~1b/01","value":1}]"#, "01"),
        (r#"[{"op":"add","path":"x","value":1}]"#, "pointer"),
        (r#"[{"op":"add","path":"/~2","value":1}]"#, "pointer"),
        (r#"[{"op":"add","path":"/x"}]"#, "value"),
        (r#"[{"op":"tea","path":"/x"}]"#, "tea"),
        (r#"[{"op":"move","from":"/a~1b","path":"/a~1b/0"}]"#, "itself"),
    ] {
        let error = document.patch(&json(patch)).unwrap_err().to_string();
        assert!(error.contains(expected), "{patch}: {error}");
    }
}
