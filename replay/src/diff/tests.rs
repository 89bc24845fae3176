//! Tests of the comparison of values and states.

use milepost_codec::ErrorKind;

use super::*;

fn listed(before: &Value, after: &Value) -> Vec<(String, ChangeKind)> {
    diff(before, after).into_iter().map(|change| (change.path, change.kind)).collect()
}

#[test]
fn equal_values_have_no_changes() {
    let value = json!({"a": [1, {"b": null}], "c": 1.5});
    assert_eq!(diff(&value, &value), []);
}

#[test]
fn keys_are_escaped_and_come_in_order() {
    let changes = listed(&json!({"b/c": 1, "a~": 1}), &json!({"": 2, "a~": 2}));
    let expected = [
        ("/".to_owned(), ChangeKind::Add),
        ("/a~0".to_owned(), ChangeKind::Replace),
        ("/b~1c".to_owned(), ChangeKind::Remove),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn arrays_are_compared_index_by_index_and_then_their_ends() {
    let changes = listed(&json!([1, 2, 3, 4]), &json!([1, 5]));
    let expected = [
        ("/1".to_owned(), ChangeKind::Replace),
        ("/2".to_owned(), ChangeKind::Remove),
        ("/3".to_owned(), ChangeKind::Remove),
    ];
    assert_eq!(changes, expected);
    let patch = to_patch(&diff(&json!([1, 2, 3, 4]), &json!([1, 5])));
    assert_eq!(patch[1]["path"], "/3");
    assert_eq!(patch[2]["path"], "/2");
}

#[test]
fn null_is_a_value_and_absence_is_none() {
    let changes = diff(&json!({"a": null}), &json!({"b": null}));
    let text = serde_json::to_string(&changes).unwrap();
    let expected = concat!(
        r#"[{"path":"/a","kind":"remove","before":null},"#,
        r#"{"path":"/b","kind":"add","after":null}]"#
    );
    assert_eq!(text, expected);
}

#[test]
fn the_whole_value_can_be_replaced() {
    let changes = diff(&json!([]), &json!({}));
    assert_eq!((changes.len(), changes[0].path.as_str()), (1, ""));
}

#[test]
fn no_more_changes_are_held_than_are_wanted() {
    let (before, after) = (json!([1, 2, 3, 4]), json!(["a", 2, "ccc", "d"]));
    let all = diff(&before, &after);
    let up_to = |changes: usize, bytes: usize| {
        let mut found = ChangeCollector::up_to(ChangeLimits { changes, bytes });
        let path = &mut String::new();
        compare(path, Some(&before), Some(&after), 0, &mut found)?;
        Ok::<_, Error>((found.changes.items, found.changes.more))
    };
    for most in 0..=4 {
        let (items, more) = up_to(most, usize::MAX).unwrap();
        assert_eq!(items, all[..most.min(3)]);
        assert_eq!(more, most < 3, "{most}");
    }
    let one = (all[..1].to_vec(), true);
    assert_eq!(up_to(9, 40).unwrap(), one, "the first may have more");
    assert_eq!(up_to(9, 1).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(up_to(9, usize::MAX).unwrap(), (all, false));
}
