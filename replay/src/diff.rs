//! Two states as a list of changes.

use std::collections::BTreeSet;

use milepost_codec::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::chunks::Chunks;
use crate::run::{MessageRange, RunState, entry_json, guidance_json};
use crate::sequence::{Item, Sequence};

/// Values that nest deeper are compared as a whole.
const DEPTH_MAX: u32 = 128;

/// What happened to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is there only afterwards.
    Add,
    /// It was there only before.
    Remove,
    /// It is another value.
    Replace,
}

/// One change between two values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The place, as a JSON pointer (RFC 6901).
    pub path: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// The value before; absent where the place was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after; absent where the place is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What has to change for `before` to become `after`. Objects are compared by key in the order of
/// the keys' bytes; arrays index by index, and then what one has more than the other.
///
/// # Example
///
/// ```
/// use milepost_replay::{ChangeKind, diff};
/// use serde_json::json;
///
/// let changes = diff(&json!({"a": [1, 2], "b": 0}), &json!({"a": [1, 3], "c": 0}));
/// let listed: Vec<_> = changes.iter().map(|c| (c.path.as_str(), c.kind)).collect();
/// assert_eq!(
///     listed,
///     [("/a/1", ChangeKind::Replace), ("/b", ChangeKind::Remove), ("/c", ChangeKind::Add)]
/// );
/// ```
pub fn diff(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Found::up_to(ChangesMax::ALL);
    let path = &mut String::new();
    compare(path, Some(before), Some(after), 0, &mut found);
    found.changes.items
}

/// How much a list of changes may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangesMax {
    /// So many changes.
    pub changes: usize,
    /// About so many bytes in paths and values. One change is there whatever it has.
    pub bytes: usize,
}

impl ChangesMax {
    /// All that there are.
    pub const ALL: Self = Self {
        changes: usize::MAX,
        bytes: usize::MAX,
    };
}

/// Changes, as far as they were wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// The first of them.
    pub items: Vec<Change>,
    /// Whether there are more.
    pub more: bool,
}

/// What has to change for one state to become the other, in terms of [`RunState::to_json`] with
/// all messages. Of long sequences only what differs is read.
///
/// # Errors
///
/// Those of [`Chunks::get`].
pub fn diff_states(
    before: &RunState,
    after: &RunState,
    chunks: &dyn Chunks,
) -> Result<Vec<Change>> {
    let changes = diff_states_up_to(before, after, chunks, ChangesMax::ALL)?;
    Ok(changes.items)
}

/// The first changes of [`diff_states`], in its order. No more than these are held, and nothing is read behind the
/// first that is too much.
///
/// # Errors
///
/// Those of [`Chunks::get`].
pub fn diff_states_up_to(
    before: &RunState,
    after: &RunState,
    chunks: &dyn Chunks,
    most: ChangesMax,
) -> Result<Changes> {
    let plain = |state: &RunState| {
        let json = state.to_json(chunks, MessageRange::None)?;
        Ok(match json {
            Value::Object(fields) => fields,
            _ => Map::new(),
        })
    };
    let (a, b) = (plain(before)?, plain(after)?);
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut found = Found::up_to(most);
    for name in names {
        match name.as_str() {
            "guidance" => {
                let guidance = (&before.guidance, &after.guidance);
                compare_sequences(name, guidance, guidance_json, chunks, &mut found)?;
            }
            "messages" => {
                let messages = (&before.messages, &after.messages);
                compare_sequences(name, messages, entry_json, chunks, &mut found)?;
            }
            _ => below(
                &mut String::new(),
                name,
                a.get(name),
                b.get(name),
                0,
                &mut found,
            ),
        }
    }
    Ok(found.changes)
}

/// Changes that were found.
struct Found {
    changes: Changes,
    most: ChangesMax,
    bytes: usize,
}

impl Found {
    fn up_to(most: ChangesMax) -> Self {
        Self {
            changes: Changes::default(),
            most,
            bytes: 0,
        }
    }

    /// Whether there was one more than is wanted.
    fn is_full(&self) -> bool {
        self.changes.more
    }

    fn add(&mut self, path: &str, kind: ChangeKind, before: Option<&Value>, after: Option<&Value>) {
        let items = &mut self.changes.items;
        let values = before.map_or(0, weight) + after.map_or(0, weight);
        self.bytes = self.bytes.saturating_add(path.len() + values);
        let too_much = items.len() >= self.most.changes || self.bytes > self.most.bytes;
        if too_much && !(items.is_empty() && self.most.changes > 0) {
            self.changes.more = true;
            return;
        }
        items.push(Change {
            path: path.to_owned(),
            kind,
            before: before.cloned(),
            after: after.cloned(),
        });
    }
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    let below: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + weight(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    below + size_of::<Value>()
}

fn compare_sequences<T: Item>(
    field: &str,
    (before, after): (&Sequence<T>, &Sequence<T>),
    to_json: impl Fn(&T) -> Result<Value>,
    chunks: &dyn Chunks,
    found: &mut Found,
) -> Result<()> {
    if found.is_full() {
        return Ok(());
    }
    let first = before.common_prefix(after, chunks)?;
    let (mut ours, mut theirs) = (
        before.iter_from(first, chunks),
        after.iter_from(first, chunks),
    );
    let mut index = first;
    while !found.is_full() {
        let (a, b) = (ours.next().transpose()?, theirs.next().transpose()?);
        if a.is_none() && b.is_none() {
            break;
        }
        let a = a.map(|item| to_json(&item)).transpose()?;
        let b = b.map(|item| to_json(&item)).transpose()?;
        let mut path = format!("/{field}/{index}");
        compare(&mut path, a.as_ref(), b.as_ref(), 0, found);
        index = index.saturating_add(1);
    }
    Ok(())
}

fn compare(
    path: &mut String,
    before: Option<&Value>,
    after: Option<&Value>,
    depth: u32,
    found: &mut Found,
) {
    let kind = match (before, after) {
        _ if found.is_full() => return,
        (None, None) => return,
        (None, Some(_)) => ChangeKind::Add,
        (Some(_), None) => ChangeKind::Remove,
        (Some(Value::Object(a)), Some(Value::Object(b))) if depth < DEPTH_MAX => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                if found.is_full() {
                    return;
                }
                below(path, key, a.get(key), b.get(key), depth, found);
            }
            return;
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if depth < DEPTH_MAX => {
            for index in 0..a.len().max(b.len()) {
                if found.is_full() {
                    return;
                }
                let step = index.to_string();
                below(path, &step, a.get(index), b.get(index), depth, found);
            }
            return;
        }
        (Some(a), Some(b)) if a == b => return,
        (Some(_), Some(_)) => ChangeKind::Replace,
    };
    found.add(path, kind, before, after);
}

fn below(
    path: &mut String,
    step: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    depth: u32,
    found: &mut Found,
) {
    let len = path.len();
    path.push_str(&pointer_step(step));
    compare(path, before, after, depth + 1, found);
    path.truncate(len);
}

/// One step of a JSON pointer, escaped and with the slash in front.
pub(crate) fn pointer_step(step: &str) -> String {
    format!("/{}", step.replace('~', "~0").replace('/', "~1"))
}

/// The changes of [`diff`], in its order, as a JSON patch (RFC 6902) that turns `before` into
/// `after`. What is removed goes last and from the end, so that no removal moves another's place.
pub fn to_patch(changes: &[Change]) -> Value {
    let set = changes.iter().filter_map(|change| {
        let op = match change.kind {
            ChangeKind::Add => "add",
            ChangeKind::Replace => "replace",
            ChangeKind::Remove => return None,
        };
        Some(json!({"op": op, "path": change.path, "value": change.after}))
    });
    let removed = changes
        .iter()
        .rev()
        .filter(|change| change.kind == ChangeKind::Remove);
    let removed = removed.map(|change| json!({"op": "remove", "path": change.path}));
    Value::Array(set.chain(removed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(before: &Value, after: &Value) -> Vec<(String, ChangeKind)> {
        diff(before, after)
            .into_iter()
            .map(|change| (change.path, change.kind))
            .collect()
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
            let mut found = Found::up_to(ChangesMax { changes, bytes });
            compare(
                &mut String::new(),
                Some(&before),
                Some(&after),
                0,
                &mut found,
            );
            (found.changes.items, found.changes.more)
        };
        for most in 0..=4 {
            let (items, more) = up_to(most, usize::MAX);
            assert_eq!(items, all[..most.min(3)]);
            assert_eq!(more, most < 3, "{most}");
        }
        assert_eq!(
            up_to(9, 0),
            (all[..1].to_vec(), true),
            "one, whatever it has"
        );
        assert_eq!(up_to(9, usize::MAX), (all, false));
    }
}
