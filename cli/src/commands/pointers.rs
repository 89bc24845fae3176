//! JSON pointers that name nothing: the nearest ones that name something.

use serde_json::Value;

use crate::output::nearest::{did_you_mean, nearest};

/// Returns the question about the pointers that are nearest to one that names nothing in a state;
/// `None` if none is near.
pub fn suggestion(state: &Value, pointer: &str) -> Option<String> {
    let near = match pointer.starts_with('/') {
        true => nearest_pointers(state, pointer),
        false => vec![format!("/{pointer}")],
    };
    let there: Vec<String> =
        near.into_iter().filter(|pointer| state.pointer(pointer).is_some()).collect();
    did_you_mean(&there)
}

/// Replaces the first part of a pointer that is not there by the nearest ones.
fn nearest_pointers(state: &Value, pointer: &str) -> Vec<String> {
    let mut above = String::new();
    let mut parts = pointer.split('/').skip(1);
    while let Some(part) = parts.next() {
        let here = format!("{above}/{part}");
        if state.pointer(&here).is_some() {
            above = here;
            continue;
        }
        let Some(Value::Object(fields)) = state.pointer(&above) else {
            break;
        };
        let below: String = parts.map(|part| format!("/{part}")).collect();
        let part = part.replace("~1", "/").replace("~0", "~");
        let near = nearest(&part, fields.keys()).into_iter().map(|field| {
            let near = format!("{above}/{}", field.replace('~', "~0").replace('/', "~1"));
            let whole = format!("{near}{below}");
            if state.pointer(&whole).is_some() { whole } else { near }
        });
        return near.collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_part_that_is_missing_is_replaced_by_a_near_one() {
        let state = json!({"prompt": null, "variables": {"best": 1, "a/b": 2}, "messages": [{}]});
        for (pointer, near) in [
            ("/promt", "did you mean `/prompt`?"),
            ("prompt", "did you mean `/prompt`?"),
            ("variables/best", "did you mean `/variables/best`?"),
            ("/variables/bst", "did you mean `/variables/best`?"),
            ("/varables/best", "did you mean `/variables/best`?"),
            ("/varables/bst", "did you mean `/variables`?"),
            ("/variables/a~1c", "did you mean `/variables/a~1b`?"),
        ] {
            assert_eq!(suggestion(&state, pointer).unwrap(), near, "{pointer}");
        }
        for pointer in ["", "/", "/sunrise", "/variables/sunrise", "/messages/7", "sunrise"] {
            assert_eq!(suggestion(&state, pointer), None, "{pointer}");
        }
    }
}
