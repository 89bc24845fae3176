#![allow(clippy::unwrap_used, reason = "tests")]

use milepost_codec::Json;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Document, MemoryChunks};

fn pointers() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "/(variables|context|messages)(/[a-z0-9 \"()=<é]{0,6}){0,3}",]
}

fn literals() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(|n| Value::from(f64::from(n) / 2.0)),
        "[a-z\"\\\\)é ]{0,6}".prop_map(Value::from),
        Just(json!(null)),
        Just(json!(true)),
        Just(json!([1, {"a b": ")"}])),
    ]
}

fn conditions() -> impl Strategy<Value = Condition> {
    let operator = (0..OPERATORS.len()).prop_map(|n| OPERATORS.get(n).unwrap().1);
    let leaf = prop_oneof![
        pointers().prop_map(Condition::Exists),
        (pointers(), operator, literals())
            .prop_map(|(pointer, operator, value)| Condition::Compare(pointer, operator, value)),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Or),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::And),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_again_gives_the_same(condition in conditions()) {
        let text = condition.to_string();
        let parsed = text.parse::<Condition>();
        prop_assert!(parsed.is_ok(), "{}: {}", text, parsed.unwrap_err());
        prop_assert_eq!(parsed.unwrap(), condition, "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = text.parse::<Condition>();
    }

    #[test]
    fn no_text_of_its_own_signs_makes_the_parser_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "not", "and", "or", "exists", "(", ")", "/variables/a", "/", "==", "<", "!", "1",
                "\"", "é", "[", "{}", " ", "\\", "-",
            ]),
            0..24,
        )
    ) {
        let _ = parse::parse(&parts.concat());
    }
}

fn holds(text: &str) -> bool {
    let mut state = RunState::default();
    let variables = r#"{"n": 10, "f": 1.0, "s": "b", "a": [1], "t": true, "z": null}"#;
    state.variables = Document::new(&Json::new(variables).unwrap()).unwrap();
    let condition = parse::parse(text).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    condition.holds(&state, &MemoryChunks::default()).unwrap()
}

#[test]
fn numbers_compare_as_numbers_texts_as_texts_and_others_only_for_being_equal() {
    for so in [
        "/variables/n > 9",
        "/variables/n >= 10 and /variables/n<=10",
        "/variables/f == 1",
        "/variables/s > \"a\"",
        "/variables/a == [1]",
        "/variables/a != [2]",
        "/variables/t != 1",
        "/variables/z == null",
        "exists /variables/z and not exists /variables/y",
        "(/variables/n == 1 or /variables/n == 10) and /variables/t == true",
        "/variables/n == 10 or /variables/n == 1 and /variables/t == false",
    ] {
        assert!(holds(so), "{so}");
    }
    for not in [
        "/variables/n < 9",
        "/variables/n < \"9\"",
        "/variables/s < 5",
        "/variables/t <= true",
        "/variables/y != 1",
        "/variables/y == null",
        "not /variables/t == true",
        "exists /variables/a/1",
    ] {
        assert!(!holds(not), "{not}");
    }
}

#[test]
fn an_error_says_where_and_what_was_expected() {
    for (text, said) in [
        ("", "character 1: expected a pointer, `exists`, `not` or `(`, found the end"),
        ("/variables/é x 1", "character 14: expected one of == != < <= > >=, found `x`"),
        ("/iteration == ", "character 15: expected a JSON value"),
        ("/iteration == one", "character 15: expected a JSON value"),
        ("(/iteration == 1", "character 17: expected `and`, `or` or `)`, found the end"),
        ("/iteration == 1 /phase", "character 17: expected `and`, `or` or the end"),
        ("/iterations == 1", "character 1: a state has no field \"iterations\""),
        ("/phase == \"a", "character 11: this is no JSON"),
    ] {
        let failure = parse::parse(text).unwrap_err();
        assert!(failure.to_string().contains(said), "{text}: {failure}");
        assert_eq!(failure.kind(), crate::ErrorKind::Invalid);
    }
    let deep = format!("{}exists /phase{}", "(".repeat(5000), ")".repeat(5000));
    assert!(parse::parse(&deep).unwrap_err().to_string().contains("deeper than 64"));
    let deep = format!("{}exists /phase", "not ".repeat(5000));
    assert!(parse::parse(&deep).unwrap_err().to_string().contains("deeper than 64"));
}
