//! Lines for tests of the parsers: any JSON with the names that a format has.

use milepost::{Body, Json};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::LineParser;
use super::line::SessionLine;
use crate::json_object::compact;

/// Reads lines, one after another.
pub fn read(parser: &mut dyn LineParser, lines: &[Value]) -> Vec<SessionLine> {
    lines.iter().map(|line| parser.read(&line.to_string()).unwrap()).collect()
}

/// Returns the kinds of the events of a line.
pub fn kinds(line: &SessionLine) -> Vec<&'static str> {
    line.events.iter().map(Body::kind_name).collect()
}

/// Returns any JSON whose fields and texts are mostly those given.
pub fn any_json(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let text =
        prop_oneof![4 => prop::sample::select(names), 1 => Just("{\"a\":1}"), 1 => Just("ü\n")];
    let leaf = prop_oneof![
        3 => text.clone().prop_map(|text| json!(text)),
        1 => any::<i64>().prop_map(|number| json!(number)),
        1 => any::<bool>().prop_map(|is| json!(is)),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            4 => prop::collection::vec((text.clone(), inner), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(n, v)| (n.to_owned(), v)).collect()),
        ]
    })
}

/// Asserts that a line is written again as it was, and that its events can be stored.
pub fn assert_kept(text: &str, line: &SessionLine, written: fn(&[Body]) -> Option<Json>) {
    let again = written(&line.events).unwrap_or_else(|| panic!("{text}: {line:?}"));
    assert_eq!(compact(again.text()), compact(text));
    for body in &line.events {
        let (kind, payload) = body.encode();
        assert_eq!(&Body::decode(kind, &payload).unwrap(), body);
    }
}
