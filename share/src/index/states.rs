//! The states of a lineage, as a state for each thousand events and the changes of each event.

use std::collections::HashMap;

use milepost::state::{Chunks, MessageRange, RunReducer};
use milepost::{Body, Event, Reducer as _, RunState};
use milepost_api::Big;
use milepost_formats::Result;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Index;
use super::lineage::{EVENTS, LineageDocuments};

/// States from an offset on.
#[derive(Serialize)]
struct StatesForm {
    from: Big,
    state: Map<String, Value>,
    changes: Vec<(Big, Vec<ChangeItem>)>,
}

/// A pointer with its new value, or a pointer alone: it was removed.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum ChangeItem {
    Set(String, Value),
    Removed([String; 1]),
}

/// Puts the documents of states of a lineage.
pub fn put(documents: &LineageDocuments<'_>, index: &mut Index) -> Result<()> {
    let (engine, lineage) = (documents.source.engine(), &documents.lineage);
    let (first, head) = (documents.first()?, lineage.head()?.next);
    let chunks = engine.view().chunks();
    let mut fold = Fold::new(engine.run_state(&lineage.point(first)?)?, &*chunks)?;
    let mut form = fold.form(first);
    let name = |page: u64| format!("{}/{page}", documents.name("states"));
    for event in lineage.read(first..head)? {
        let event = event?;
        let at = event.offset;
        if at > first && at % EVENTS == 0 {
            index.put(&name((at - 1) / EVENTS), &form)?;
            form = fold.form(at);
        }
        let changes = fold.apply(&event)?;
        if !changes.is_empty() {
            form.changes.push((Big(at), changes));
        }
    }
    index.put(&name(form.from.0 / EVENTS), &form)
}

/// A state and its JSON, event by event.
struct Fold<'a> {
    state: RunState,
    json: Map<String, Value>,
    chunks: &'a dyn Chunks,
    /// The fields that each kind of event can change.
    fields: HashMap<&'static str, Vec<String>>,
}

impl<'a> Fold<'a> {
    fn new(state: RunState, chunks: &'a dyn Chunks) -> Result<Self> {
        let mut json = object(state.to_json(chunks, MessageRange::None)?);
        json.remove("messages");
        let mut fields: HashMap<_, Vec<String>> = HashMap::new();
        for field in json.keys() {
            for kind in RunReducer::kinds_for(&format!("/{field}"))? {
                fields.entry(*kind).or_default().push(field.clone());
            }
        }
        Ok(Self { state, json, chunks, fields })
    }

    fn form(&self, from: u64) -> StatesForm {
        StatesForm { from: Big(from), state: self.json.clone(), changes: Vec::new() }
    }

    /// Applies an event, and returns its changes.
    fn apply(&mut self, event: &Event) -> Result<Vec<ChangeItem>> {
        RunReducer.apply(&mut self.state, event, self.chunks)?;
        let mut changes = Vec::new();
        let kind = Body::name_of(event.header.kind);
        let Some(fields) = self.fields.get(kind) else {
            return Ok(changes);
        };
        for field in fields {
            let after = self.field(field)?;
            let before = self.json.get(field).unwrap_or(&Value::Null);
            if *before != after {
                compare(&mut format!("/{field}"), before, &after, &mut changes);
                self.json.insert(field.clone(), after);
            }
        }
        Ok(changes)
    }

    fn field(&self, name: &str) -> Result<Value> {
        let value = match name {
            // The last of it, as a state shows it.
            "guidance" => {
                let all = self.state.to_json(self.chunks, MessageRange::None)?;
                object(all).remove(name)
            }
            _ => self.state.value_at(&format!("/{name}"), self.chunks)?,
        };
        Ok(value.unwrap_or_default())
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Adds the changes from one value to another one. Lists are replaced as a whole.
fn compare(path: &mut String, before: &Value, after: &Value, changes: &mut Vec<ChangeItem>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            changes.push(ChangeItem::Set(path.clone(), after.clone()));
        }
        return;
    };
    let length = path.len();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        changes.push(ChangeItem::Removed([format!("{path}/{}", escaped(name))]));
    }
    for (name, value) in new {
        path.push('/');
        path.push_str(&escaped(name));
        match old.get(name) {
            Some(before) => compare(path, before, value, changes),
            None => changes.push(ChangeItem::Set(path.clone(), value.clone())),
        }
        path.truncate(length);
    }
}

/// Returns a name as a part of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(before: &Value, after: &Value) -> Value {
        let mut found = Vec::new();
        compare(&mut String::new(), before, after, &mut found);
        serde_json::to_value(found).unwrap()
    }

    #[test]
    fn a_change_names_the_smallest_part_that_is_no_list() {
        let before = json!({"a": {"b": 1, "c": [1, 2]}, "gone": 0, "same": {"x": 1}});
        let after = json!({"a": {"b": 2, "c": [1]}, "d/e~": {}, "same": {"x": 1}});
        let said = json!([["/gone"], ["/a/b", 2], ["/a/c", [1]], ["/d~1e~0", {}]]);
        assert_eq!(changes(&before, &after), said);
        assert_eq!(changes(&after, &after), json!([]));
        assert_eq!(changes(&json!({"a": 1}), &json!({"a": {"b": 1}})), json!([["/a", {"b": 1}]]));
    }
}
