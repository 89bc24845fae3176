//! Long texts of a value, cut.

use milepost_codec::bounded;
use serde_json::{Value, json};

/// The length of the object that takes the place of a text, without what it has of that.
const OBJECT: usize = 64;

/// Replaces each text of a value that is longer than some bytes by an object: `cut`, its beginning,
/// `bytes`, the length of the whole, and `pointer`, its place in the value. A text stays whole if
/// the object would not be shorter.
///
/// ```
/// use serde_json::json;
///
/// let mut body = json!({"role": "tool", "content": ["a long text".repeat(20)]});
/// milepost_api::cut_texts(&mut body, 6);
/// let cut = json!({"cut": "a long", "bytes": 220, "pointer": "/content/0"});
/// assert_eq!(body, json!({"role": "tool", "content": [cut]}));
/// ```
pub fn cut_texts(value: &mut Value, most: usize) {
    cut(value, most, &mut String::new());
}

fn cut(value: &mut Value, most: usize, pointer: &mut String) {
    let length = pointer.len();
    match value {
        Value::String(text)
            if text.len() > most.saturating_add(pointer.len()).saturating_add(OBJECT) =>
        {
            let begin = bounded(text, most);
            *value = json!({"cut": begin, "bytes": text.len(), "pointer": pointer});
        }
        Value::Array(items) => {
            for (n, item) in items.iter_mut().enumerate() {
                pointer.push_str(&format!("/{n}"));
                cut(item, most, pointer);
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                cut(field, most, pointer);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}
