//! Events of a checkpoint.
//!
//! ```text
//! step and source of the metadata    StepStarted and StepFinished around the others, from 0 on
//! changes of the channels, as JSON   VariablesPatched: for people, and for state, diff and blame
//! the bytes of the serializer        Application `langgraph.checkpoint`
//! ```

use std::sync::Arc;

use milepost::events::{Application, Data, PatchForm, StepFinished, StepStarted, VariablesPatched};
use milepost::{Body, Json};
use serde_json::value::RawValue;

use crate::change::{Change, Given, Missing, changes};
use crate::msgpack::to_json;
use crate::objects::without_objects;
use crate::record::{EVENT, Record};
use crate::thread::{Content, Thread, Typed};

/// The largest value that people get as JSON, in bytes. A larger one is named by its size.
const SHOWN_MAX: usize = 1 << 20;
/// The largest list that people get as JSON, in bytes of its items.
const LIST_SHOWN_MAX: usize = 4 << 20;
/// The most items of such a list.
const LIST_ITEMS_MAX: usize = 100_000;

/// The levels by which the list of operations and each operation nest a value.
const PATCH_LEVELS: usize = 2;
/// The most new items of a list that are operations of their own, unless as many are kept.
const ITEMS_MAX: usize = 1000;

/// A checkpoint to put.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Its id.
    pub id: String,
    /// The id of its parent.
    pub parent: Option<String>,
    /// The checkpoint without the values of its channels.
    pub content: Typed,
    /// The metadata.
    pub metadata: Typed,
    /// The step of a loop; `None` for input and updates from outside.
    pub step: Option<Step>,
}

/// The step that a checkpoint ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its number.
    pub number: u64,
    /// The source: `loop`, `fork`.
    pub source: Option<String>,
}

/// An operation of a JSON patch, RFC 6902.
#[derive(serde::Serialize)]
struct Operation {
    op: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Box<RawValue>>,
}

impl Checkpoint {
    /// Returns the events of the checkpoint after the state of its parent.
    ///
    /// # Errors
    ///
    /// [`Missing`]: channels without a value that the parent does not have in that version.
    pub fn events(&self, before: &Thread, given: &[Given]) -> Result<Vec<Body>, Missing> {
        self.all(before, given, false)
    }

    /// Returns the events of the first checkpoint of a namespace: its channels begin empty.
    ///
    /// # Errors
    ///
    /// As [`Checkpoint::events`].
    pub fn first_events(&self, given: &[Given]) -> Result<Vec<Body>, Missing> {
        self.all(&Thread::default(), given, true)
    }

    fn all(&self, before: &Thread, given: &[Given], fresh: bool) -> Result<Vec<Body>, Missing> {
        let changes = changes(before, given)?;
        let mut events: Vec<Body> = Vec::with_capacity(4);
        if let Some(Step { number, source }) = &self.step {
            let (step, name) = (*number, source.clone());
            events.push(StepStarted { step, name, ..StepStarted::default() }.into());
        }
        let shown = shown(before, &changes, fresh);
        events.extend(
            shown.map(|patch| Body::from(VariablesPatched { form: PatchForm::Patch, patch })),
        );
        let record = Record {
            id: self.id.as_str().into(),
            parent: self.parent.as_deref().map(Into::into),
            fresh,
            content: self.content.clone(),
            metadata: self.metadata.clone(),
            changes,
        };
        let data = Data::Bytes(record.encode());
        events.push(Application { name: EVENT.into(), data }.into());
        if let Some(Step { number, .. }) = self.step {
            events.push(StepFinished { step: number, ..StepFinished::default() }.into());
        }
        Ok(events)
    }
}

/// Returns the JSON patch of the changes; `None` without any.
fn shown(before: &Thread, changes: &[Change], fresh: bool) -> Option<Json> {
    let mut operations = Vec::new();
    if fresh {
        operations.push(operation("add", String::new(), Some("{}".into())));
    }
    for change in changes {
        let path = pointer(change.name());
        match change {
            Change::Version { .. } => {}
            Change::Removed { .. } => operations.push(operation("remove", path, None)),
            Change::Set { value, .. } => operations.push(operation("add", path, Some(json(value)))),
            Change::NewList { items, .. } => {
                operations.push(operation("add", path, Some(list_json(items.iter()))));
            }
            Change::List { name, kept, items, .. } => {
                let known = before.channels.get(name).map(|channel| &channel.content);
                let known: &[Arc<[u8]>] = match known {
                    Some(Content::Items(items)) => items,
                    _ => &[],
                };
                operations.extend(list_operations(&path, known, *kept, items));
            }
        }
    }
    if operations.is_empty() {
        return None;
    }
    Json::from_value(&operations).ok()
}

/// Returns the operations that lead from a list to its first items and new ones.
fn list_operations(
    path: &str,
    known: &[Arc<[u8]>],
    kept: usize,
    new: &[Arc<[u8]>],
) -> Vec<Operation> {
    let all = known.iter().take(kept).chain(new);
    let are_shown = is_shown(known.iter()) && is_shown(all.clone());
    if new.len() > ITEMS_MAX.max(kept) || !are_shown {
        return vec![operation("add", path.to_owned(), Some(list_json(all)))];
    }
    let gone = (kept..known.len()).rev();
    let removed = gone.map(|index| operation("remove", format!("{path}/{index}"), None));
    let added = new.iter().map(|new| operation("add", format!("{path}/-"), Some(item_json(new))));
    removed.chain(added).collect()
}

fn bytes_of<'a>(items: impl Iterator<Item = &'a Arc<[u8]>>) -> usize {
    items.map(|item| item.len()).sum()
}

/// Returns `true` if people get the items of a list, and not its size. A document of variables has
/// at most 256 MiB, by a weight of up to 1 KiB for a small item.
fn is_shown<'a>(items: impl Iterator<Item = &'a Arc<[u8]>> + Clone) -> bool {
    bytes_of(items.clone()) <= LIST_SHOWN_MAX && items.count() <= LIST_ITEMS_MAX
}

/// Returns a list as JSON for people. An item that cannot be shown is described, as is a list that
/// is too large.
fn list_json<'a>(items: impl Iterator<Item = &'a Arc<[u8]>> + Clone) -> String {
    if !is_shown(items.clone()) {
        return described("msgpack", bytes_of(items), "too large to be shown");
    }
    let items: Vec<String> = items.map(item_json).collect();
    format!("[{}]", items.join(","))
}

fn item_json(item: &Arc<[u8]>) -> String {
    let item = Typed { encoding: "msgpack".into(), bytes: item.clone() };
    json_within(&item, PATCH_LEVELS + 1)
}

fn described(encoding: &str, bytes: usize, why: &str) -> String {
    serde_json::json!({ "encoding": encoding, "bytes": bytes, "why": why }).to_string()
}

fn operation(op: &'static str, path: String, value: Option<String>) -> Operation {
    // The text is JSON: `json` checks it.
    let value = value.and_then(|text| RawValue::from_string(text).ok());
    Operation { op, path, value }
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns a value as JSON for people. What cannot be shown is described.
fn json(value: &Typed) -> String {
    json_within(value, PATCH_LEVELS)
}

/// Does the same for a value that is nested by this number of levels in the patch.
fn json_within(value: &Typed, levels: usize) -> String {
    let described = |why: &str| described(&value.encoding, value.bytes.len(), why);
    if value.bytes.len() > SHOWN_MAX {
        return described("too large to be shown");
    }
    let text = match &*value.encoding {
        "null" => Ok("null".to_owned()),
        "msgpack" => to_json(&value.bytes),
        "json" => std::str::from_utf8(&value.bytes)
            .map_err(|error| error.to_string())
            .and_then(without_objects),
        "bytes" | "bytearray" => {
            Ok(format!("{{\"base64\":\"{}\"}}", data_encoding::BASE64.encode(&value.bytes)))
        }
        _ => return described("of an unknown encoding"),
    };
    let (begin, end) = ("[".repeat(levels), "]".repeat(levels));
    let nested = |json: Json| Json::new(format!("{begin}{json}{end}")).map(|_| json);
    let json = |text: String| Json::new(text).and_then(nested).map_err(|error| error.to_string());
    match text.and_then(json) {
        Ok(json) => json.text().to_owned(),
        Err(why) => described(&why),
    }
}
