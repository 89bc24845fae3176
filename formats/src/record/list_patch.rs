//! JSON patches between lists of named values.

use std::collections::BTreeMap;

use milepost::Json;
use serde_json::value::RawValue;

use crate::json_object::Object;

/// Approximate size of an operation without its value, in bytes.
const OPERATION: usize = 40;

/// Returns a JSON patch that turns the values `from` into `to`, or `None` if they are equal. If a
/// value is an array that only grew, its new items are appended, unless the whole array is shorter.
pub fn patch(from: &[(String, Json)], to: &[(String, Json)]) -> Option<Result<Json, String>> {
    let before: BTreeMap<&str, &Json> = by_name(from);
    let after: BTreeMap<&str, &Json> = by_name(to);
    let mut operations = Vec::new();
    for name in before.keys().filter(|name| !after.contains_key(**name)) {
        operations.push(operation("remove", &pointer(name)));
    }
    for (name, value) in &after {
        match before.get(name) {
            Some(same) if same == value => {}
            Some(old) => match added(old, value) {
                Some(items) => {
                    let end = format!("{}/-", pointer(name));
                    operations.extend(items.into_iter().map(|item| add(&end, item)));
                }
                None => operations.push(set(name, (*value).clone())),
            },
            None => operations.push(set(name, (*value).clone())),
        }
    }
    if operations.is_empty() {
        return None;
    }
    Some(Json::from_value(&operations).map_err(|error| error.to_string()))
}

fn by_name(values: &[(String, Json)]) -> BTreeMap<&str, &Json> {
    values.iter().map(|(name, value)| (name.as_str(), value)).collect()
}

/// Returns the operation that sets a field of the document to a value.
pub fn set(name: &str, value: Json) -> Object {
    add(&pointer(name), value)
}

fn add(path: &str, value: Json) -> Object {
    let mut operation = operation("add", path);
    operation.put("value", value);
    operation
}

fn operation(what: &str, path: &str) -> Object {
    let mut operation = Object::default();
    operation.put("op", Json::string(what));
    operation.put("path", Json::string(path));
    operation
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the items of `new` after those of `old`. Returns `None` if `new` does not begin with
/// `old`, or if the whole array is shorter than the operations.
fn added(old: &Json, new: &Json) -> Option<Vec<Json>> {
    let full_len = new.text().len();
    let (old, new) = (items(old)?, items(new)?);
    let same = old.iter().zip(&new).all(|(a, b)| a.get() == b.get());
    if old.is_empty() || old.len() > new.len() || !same {
        return None;
    }
    let more = new.iter().skip(old.len());
    let patch_len: usize = more.clone().map(|item| OPERATION + item.get().len()).sum();
    if patch_len > full_len {
        return None;
    }
    more.map(|item| Json::new(item.get()).ok()).collect()
}

fn items(json: &Json) -> Option<Vec<&RawValue>> {
    serde_json::from_str(json.text()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<(String, Json)> {
        serde_json::from_str::<Object>(text).unwrap().into_fields()
    }

    fn between(from: &str, to: &str) -> Option<String> {
        let patch = patch(&values(from), &values(to))?;
        Some(patch.unwrap().text().to_owned())
    }

    #[test]
    fn only_what_changed_is_in_a_patch() {
        assert_eq!(between(r#"{"a":1,"b":[1]}"#, r#"{"b":[1],"a":1}"#), None);
        assert_eq!(
            between(r#"{"a/b":1,"gone":2}"#, r#"{"a/b":null}"#).as_deref(),
            Some(r#"[{"op":"remove","path":"/gone"},{"op":"add","path":"/a~1b","value":null}]"#)
        );
        let text = "a text that is longer than what an operation says beside it, twice over, and \
            then some";
        let [from, to] = [format!(r#"{{"l":["{text}"]}}"#), format!(r#"{{"l":["{text}",2,3]}}"#)];
        assert_eq!(
            between(&from, &to).as_deref(),
            Some(r#"[{"op":"add","path":"/l/-","value":2},{"op":"add","path":"/l/-","value":3}]"#)
        );
        assert_eq!(
            between(r#"{"l":[1]}"#, r#"{"l":[1,2,3]}"#).as_deref(),
            Some(r#"[{"op":"add","path":"/l","value":[1,2,3]}]"#),
            "shorter than to say each"
        );
        assert_eq!(
            between(r#"{"l":[1,2]}"#, r#"{"l":[2,1,3]}"#).as_deref(),
            Some(r#"[{"op":"add","path":"/l","value":[2,1,3]}]"#)
        );
    }
}
