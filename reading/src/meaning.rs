//! JSON by its meaning, to compare arguments of calls.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// The depth up to which arguments are compared by meaning; deeper parts are compared as text.
const DEPTH_MAX: usize = 64;

/// Returns JSON text by its meaning: without spaces, and with the keys of each object in order.
/// Numbers and strings are as they were written, except for escapes. A string that holds an object
/// or a list, as some programs write arguments, is that object or list.
pub(crate) fn meaning(json: &str) -> String {
    let Ok(value) = serde_json::from_str::<&RawValue>(json) else {
        return json.to_owned();
    };
    let mut out = String::with_capacity(json.len());
    write_meaning(value.get(), DEPTH_MAX, &mut out);
    out
}

fn write_meaning(json: &str, depth: usize, out: &mut String) {
    let json = json.trim();
    let whole = |out: &mut String| out.push_str(json);
    match (json.as_bytes().first(), depth.checked_sub(1)) {
        (_, None) => whole(out),
        (Some(b'{'), Some(depth)) => {
            match serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
                Ok(fields) => {
                    out.push('{');
                    for (name, value) in fields {
                        out.push_str(&Value::from(name).to_string());
                        out.push(':');
                        write_meaning(value.get(), depth, out);
                        out.push(',');
                    }
                    out.push('}');
                }
                Err(_) => whole(out),
            }
        }
        (Some(b'['), Some(depth)) => match serde_json::from_str::<Vec<&RawValue>>(json) {
            Ok(items) => {
                out.push('[');
                for value in items {
                    write_meaning(value.get(), depth, out);
                    out.push(',');
                }
                out.push(']');
            }
            Err(_) => whole(out),
        },
        (Some(b'"'), Some(depth)) => match serde_json::from_str::<String>(json) {
            Ok(text) if is_nested(&text) => write_meaning(&text, depth, out),
            Ok(text) => out.push_str(&Value::from(text).to_string()),
            Err(_) => whole(out),
        },
        _ => whole(out),
    }
}

/// Returns `true` for a text that is a whole object or list.
fn is_nested(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(text).is_ok()
}
