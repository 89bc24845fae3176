//! Comparison of two states: the list of their changes.

mod outline;
mod side;

use std::borrow::Cow;
use std::collections::BTreeSet;

use milepost_codec::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::outline::Outline;
use self::side::{Shape, Side};
use crate::chunks::Chunks;
use crate::pointer::pointer_step;
use crate::run_state::{RunState, entry_text, guidance_text};
use crate::sequence::{Item, Sequence};

/// The most levels of nesting; deeper values are compared as a whole.
const DEPTH_MAX: u32 = 128;

/// The most bytes of an entry's text; longer entries of a list are compared as a whole.
const ENTRY_MAX: usize = 1 << 20;

/// The first change may have this many times the bytes of the limit for all changes.
const FIRST: usize = 4;

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The place exists only after the change.
    Add,
    /// The place exists only before the change.
    Remove,
    /// The value is another one.
    Replace,
}

/// One change between two values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The place, as a JSON pointer (RFC 6901).
    pub path: String,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The value before; absent for an addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after; absent for a removal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Returns the changes that turn `before` into `after`. Objects are compared by key in byte order
/// of the keys. Arrays are compared index by index, then the surplus items of the longer one.
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
    let mut found = ChangeCollector::up_to(ChangeLimits::ALL);
    // Cannot fail: values in memory are displayed at any size.
    let _ = compare(&mut String::new(), Some(before), Some(after), 0, &mut found);
    found.changes.items
}

/// Limits of a list of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeLimits {
    /// The most changes.
    pub changes: usize,
    /// The most bytes of memory, approximately, for paths and values; an object counts 640. The
    /// first change may have up to four times as many.
    pub bytes: usize,
}

impl ChangeLimits {
    /// No limits.
    pub const ALL: Self = Self { changes: usize::MAX, bytes: usize::MAX };
}

/// A list of changes, up to the limits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// The first changes.
    pub items: Vec<Change>,
    /// Set if there are more changes.
    pub more: bool,
}

/// Returns the changes that turn one state into the other, in terms of [`RunState::to_json`] with
/// all messages. Only the parts of long sequences that differ are read. An entry whose text is
/// longer than 1 MiB is compared as a whole.
///
/// # Errors
///
/// As [`RunState::text`].
pub fn diff_states(
    before: &RunState,
    after: &RunState,
    chunks: &dyn Chunks,
) -> Result<Vec<Change>> {
    let changes = diff_states_up_to(before, after, chunks, ChangeLimits::ALL)?;
    Ok(changes.items)
}

/// Returns the first changes of [`diff_states`], in its order. Memory holds no more than these, and
/// nothing is read after the first change beyond the limits. States are compared as texts, without
/// building values of equal parts; in memory, both take at most twelve times their weight.
///
/// # Errors
///
/// `Invalid`: the first change alone has too many bytes. Otherwise as [`RunState::text`].
pub fn diff_states_up_to(
    before: &RunState,
    after: &RunState,
    chunks: &dyn Chunks,
    most: ChangeLimits,
) -> Result<Changes> {
    let (a, b) = (before.text(chunks, None)?, after.text(chunks, None)?);
    let (a, b) = (Outline::of(&a)?, Outline::of(&b)?);
    let (a, b) = (a.root(), b.root());
    let (a, b) = (a.fields(), b.fields());
    let mut names: BTreeSet<&str> = a.iter().chain(&b).map(|(name, _)| name.as_ref()).collect();
    names.extend(["guidance", "messages"]);
    let mut found = ChangeCollector::up_to(most);
    for name in names {
        match name {
            "guidance" => {
                let guidance = (&before.guidance, &after.guidance);
                compare_sequences(name, guidance, guidance_text, chunks, &mut found)?;
            }
            "messages" => {
                let messages = (&before.messages, &after.messages);
                compare_sequences(name, messages, entry_text, chunks, &mut found)?;
            }
            _ => {
                let (a, b) = (find_field(&a, name), find_field(&b, name));
                below(&mut String::new(), name, a, b, 0, &mut found)?;
            }
        }
    }
    Ok(found.changes)
}

fn find_field<S: Side>(fields: &[(Cow<'_, str>, S)], name: &str) -> Option<S> {
    let field = fields.iter().find(|(key, _)| key == name);
    field.map(|(_, value)| *value)
}

/// Collects changes up to the limits.
struct ChangeCollector {
    changes: Changes,
    most: ChangeLimits,
    bytes: usize,
}

impl ChangeCollector {
    fn up_to(most: ChangeLimits) -> Self {
        Self { changes: Changes::default(), most, bytes: 0 }
    }

    /// Returns `true` if a change beyond the limits was found.
    fn is_full(&self) -> bool {
        self.changes.more
    }

    fn add<S: Side>(
        &mut self,
        path: &str,
        kind: ChangeKind,
        before: Option<S>,
        after: Option<S>,
    ) -> Result<()> {
        let items = &mut self.changes.items;
        let values = [before, after].into_iter().flatten().map(S::weight);
        let values = values.fold(path.len(), usize::saturating_add);
        self.bytes = self.bytes.saturating_add(values);
        let too_much = items.len() >= self.most.changes || self.bytes > self.most.bytes;
        if too_much && !(items.is_empty() && self.most.changes > 0) {
            self.changes.more = true;
            return Ok(());
        }
        if values > self.most.bytes.saturating_mul(FIRST) {
            return Err(Error::invalid(format!(
                "the change at `{path}` is too large to be shown: read both states there"
            )));
        }
        items.push(Change {
            path: path.to_owned(),
            kind,
            before: before.map(S::value).transpose()?,
            after: after.map(S::value).transpose()?,
        });
        Ok(())
    }
}

fn compare_sequences<T: Item>(
    field: &str,
    (before, after): (&Sequence<T>, &Sequence<T>),
    text: impl Fn(T) -> Result<String>,
    chunks: &dyn Chunks,
    found: &mut ChangeCollector,
) -> Result<()> {
    if found.is_full() {
        return Ok(());
    }
    let first = before.common_prefix(after, chunks)?;
    let (mut ours, mut theirs) = (before.iter_from(first, chunks), after.iter_from(first, chunks));
    let mut index = first;
    while !found.is_full() {
        let (a, b) = (ours.next().transpose()?, theirs.next().transpose()?);
        if a.is_none() && b.is_none() {
            break;
        }
        let a = a.map(&text).transpose()?;
        let b = b.map(&text).transpose()?;
        let mut path = format!("/{field}/{index}");
        let a = a.as_deref().map(entry_outline).transpose()?;
        let b = b.as_deref().map(entry_outline).transpose()?;
        let (a, b) = (a.as_ref().map(Outline::root), b.as_ref().map(Outline::root));
        compare(&mut path, a, b, 0, found)?;
        index = index.saturating_add(1);
    }
    Ok(())
}

fn entry_outline(text: &str) -> Result<Outline<'_>> {
    match text.len() > ENTRY_MAX {
        true => Ok(Outline::unparsed(text)),
        false => Outline::of(text),
    }
}

fn compare<S: Side>(
    path: &mut String,
    before: Option<S>,
    after: Option<S>,
    depth: u32,
    found: &mut ChangeCollector,
) -> Result<()> {
    if found.is_full() {
        return Ok(());
    }
    let kind = match (before, after) {
        (None, None) => return Ok(()),
        (None, Some(_)) => ChangeKind::Add,
        (Some(_), None) => ChangeKind::Remove,
        (Some(a), Some(b)) => {
            match (a.shape(), b.shape()) {
                _ if a.is_word_for_word(b) => return Ok(()),
                (Shape::Object, Shape::Object) if depth < DEPTH_MAX => {
                    return compare_fields(path, (a, b), depth, found);
                }
                (Shape::Array, Shape::Array) if depth < DEPTH_MAX => {
                    return compare_items(path, (a, b), depth, found);
                }
                _ if a.is(b)? => return Ok(()),
                _ => {}
            }
            ChangeKind::Replace
        }
    };
    found.add(path, kind, before, after)
}

fn compare_fields<S: Side>(
    path: &mut String,
    (before, after): (S, S),
    depth: u32,
    found: &mut ChangeCollector,
) -> Result<()> {
    let (before, after) = (before.fields(), after.fields());
    let (mut ours, mut theirs) = (before.iter().peekable(), after.iter().peekable());
    while !found.is_full() {
        let (a, b) = (ours.peek().copied(), theirs.peek().copied());
        let Some(key) = [a, b].into_iter().flatten().map(|(key, _)| key).min() else {
            break;
        };
        let a = ours.next_if(|(ours, _)| ours == key).map(|(_, value)| *value);
        let b = theirs.next_if(|(theirs, _)| theirs == key).map(|(_, value)| *value);
        below(path, key, a, b, depth, found)?;
    }
    Ok(())
}

fn compare_items<S: Side>(
    path: &mut String,
    (before, after): (S, S),
    depth: u32,
    found: &mut ChangeCollector,
) -> Result<()> {
    let (mut ours, mut theirs) = (before.items(), after.items());
    let mut index = 0_usize;
    while !found.is_full() {
        let (a, b) = (ours.next(), theirs.next());
        if a.is_none() && b.is_none() {
            break;
        }
        below(path, &index.to_string(), a, b, depth, found)?;
        index += 1;
    }
    Ok(())
}

fn below<S: Side>(
    path: &mut String,
    step: &str,
    before: Option<S>,
    after: Option<S>,
    depth: u32,
    found: &mut ChangeCollector,
) -> Result<()> {
    let len = path.len();
    path.push_str(&pointer_step(step));
    let compared = compare(path, before, after, depth + 1, found);
    path.truncate(len);
    compared
}

/// Converts the changes of [`diff`], in its order, into a JSON patch (RFC 6902) that turns `before`
/// into `after`. Removals come last and from the end, so that no removal shifts another one's
/// place.
pub fn to_patch(changes: &[Change]) -> Value {
    let set = changes.iter().filter_map(|change| {
        let op = match change.kind {
            ChangeKind::Add => "add",
            ChangeKind::Replace => "replace",
            ChangeKind::Remove => return None,
        };
        Some(json!({"op": op, "path": change.path, "value": change.after}))
    });
    let removed = changes.iter().rev().filter(|change| change.kind == ChangeKind::Remove);
    let removed = removed.map(|change| json!({"op": "remove", "path": change.path}));
    Value::Array(set.chain(removed).collect())
}

#[cfg(test)]
mod tests;
