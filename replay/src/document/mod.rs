//! JSON documents that are patched: variables and context.
//!
//! A document is not a `serde_json::Value`: the form of numbers and the order of keys in a `Value`
//! depend on features that any crate of a build can enable, but a state must have the same bytes
//! everywhere (promise I5). A document keeps numbers as their text and sorts keys by their bytes.
//!
//! A patch applies completely or not at all. It fails if the document would nest deeper than
//! [`JSON_DEPTH_MAX`] or weigh more than [`DOCUMENT_WEIGHT_MAX`], so every patched document can be
//! stored and read again.

mod merge;
mod parse;
mod patch;

use std::collections::BTreeMap;

use milepost_codec::{Error, JSON_DEPTH_MAX, Json, Result};
use serde_json::Value;

use crate::pointer::{index_of, tokens};

/// The highest weight of a document. The weight approximates bytes of memory: 640 for an object and
/// 32 for any other value, plus the bytes of texts, numbers and keys.
pub const DOCUMENT_WEIGHT_MAX: u64 = 256 << 20;

const NODE_WEIGHT: u64 = 32;
const OBJECT_WEIGHT: u64 = 640;

/// A JSON document that is patched in place. The default is an empty object.
///
/// # Example
///
/// ```
/// use milepost_codec::Json;
/// use milepost_replay::Document;
///
/// let mut document = Document::new(&Json::new(r#"{"b": 1.50, "a": [1]}"#)?)?;
/// document.merge(&Json::new(r#"{"c": {"d": true}}"#)?)?;
/// document.patch(&Json::new(r#"[{"op": "add", "path": "/a/-", "value": 2}]"#)?)?;
/// assert_eq!(document.text(), r#"{"a":[1,2],"b":1.50,"c":{"d":true}}"#);
/// # Ok::<(), milepost_codec::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    root: Node,
    weight: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(BTreeMap<String, Node>),
}

impl Default for Document {
    fn default() -> Self {
        Self::from_node(Node::Object(BTreeMap::new()))
    }
}

impl Document {
    /// Parses a JSON value. The last of duplicate keys counts. Half a surrogate pair, which a text
    /// cannot hold, becomes U+FFFD.
    ///
    /// # Errors
    ///
    /// `Invalid`: the value weighs more than [`DOCUMENT_WEIGHT_MAX`].
    pub fn new(json: &Json) -> Result<Self> {
        parse::parse(json.text()).map(Self::from_node)
    }

    fn from_node(root: Node) -> Self {
        let weight = root.measure().0;
        Self { root, weight }
    }

    /// Returns the canonical text: keys sorted, no spaces, numbers unchanged.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.root.write(&mut out);
        out
    }

    /// Returns the weight, see [`DOCUMENT_WEIGHT_MAX`].
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Converts the document for display. A number that `serde_json` cannot hold becomes its text.
    pub fn to_value(&self) -> Value {
        self.root.to_value()
    }

    /// Returns the part at a JSON pointer, for display.
    pub(crate) fn value_at(&self, pointer: &str) -> Option<Value> {
        self.node_at(pointer).map(Node::to_value)
    }

    /// Returns the weight of the part at a JSON pointer.
    pub(crate) fn weight_at(&self, pointer: &str) -> u64 {
        self.node_at(pointer).map_or(0, |node| node.measure().0)
    }

    fn node_at(&self, pointer: &str) -> Option<&Node> {
        let mut node = &self.root;
        for token in tokens(pointer) {
            node = match node {
                Node::Object(fields) => fields.get(&token)?,
                Node::Array(items) => items.get(usize::try_from(index_of(&token)?).ok()?)?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// Applies a merge patch, RFC 7396.
    ///
    /// # Errors
    ///
    /// `Invalid`: the document and the patch together weigh too much.
    pub fn merge(&mut self, patch: &Json) -> Result<()> {
        let patch = Self::new(patch)?;
        if self.weight.saturating_add(patch.weight) > DOCUMENT_WEIGHT_MAX {
            return Err(too_heavy());
        }
        merge::merge(&mut self.root, patch.root, &mut self.weight);
        Ok(())
    }

    /// Applies a JSON patch, RFC 6902.
    ///
    /// # Errors
    ///
    /// `Invalid`: an operation does not apply; the error has its number, and the document is
    /// unchanged.
    pub fn patch(&mut self, patch: &Json) -> Result<()> {
        let operations = Self::new(patch)?;
        patch::patch(self, operations.root)
    }
}

/// Parses JSON text for display. A [`Value`] holds less than JSON does: a number that it cannot
/// hold becomes a string of its text, and half a surrogate pair U+FFFD.
///
/// ```
/// let value = milepost_replay::text_value(r#"[1e400, "\ud83d"]"#)?;
/// assert_eq!(value, serde_json::json!(["1e400", "\u{fffd}"]));
/// # Ok::<(), milepost_replay::Error>(())
/// ```
///
/// # Errors
///
/// `Invalid`: the value weighs more than [`DOCUMENT_WEIGHT_MAX`].
pub fn text_value(text: &str) -> Result<Value> {
    match parse::parse(text) {
        Ok(node) => Ok(node.into_value()),
        Err(_) => Err(Error::invalid(format!(
            "{} bytes of JSON are too large to be shown whole: ask for a part of them, by a \
             pointer that goes further",
            text.len()
        ))),
    }
}

/// Returns the approximate size of a JSON text's value in memory, as a document's weight.
pub(crate) fn weigh(text: &str) -> u64 {
    let mut weight = NODE_WEIGHT.saturating_add(text.len() as u64);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => weight += OBJECT_WEIGHT,
            b'[' | b',' => weight += NODE_WEIGHT,
            _ => {}
        }
    }
    weight
}

fn too_heavy() -> Error {
    Error::invalid(format!("the document would weigh more than {DOCUMENT_WEIGHT_MAX} bytes"))
}

fn too_deep() -> Error {
    Error::invalid(format!("the document would nest deeper than {JSON_DEPTH_MAX} levels"))
}

/// Returns the weight of a key in its object.
fn key_weight(key: &str) -> u64 {
    key.len() as u64
}

impl Node {
    /// Returns the weight, and the number of nested levels of arrays and objects.
    fn measure(&self) -> (u64, u32) {
        let (mut weight, mut depth) = (NODE_WEIGHT, 0);
        let mut add = |child: &Node| {
            let (child_weight, child_depth) = child.measure();
            weight = weight.saturating_add(child_weight);
            depth = depth.max(child_depth);
        };
        match self {
            Self::Null | Self::Bool(_) => (weight, 0),
            Self::Number(text) | Self::String(text) => (weight + text.len() as u64, 0),
            Self::Array(items) => {
                items.iter().for_each(&mut add);
                (weight, depth + 1)
            }
            Self::Object(fields) => {
                fields.values().for_each(&mut add);
                let keys: u64 = fields.keys().map(|key| key_weight(key)).sum();
                (weight.saturating_add(OBJECT_WEIGHT - NODE_WEIGHT).saturating_add(keys), depth + 1)
            }
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => out.push_str(Json::string(text).text()),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(Json::string(key).text());
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Converts like [`Node::to_value`], but moves the contents.
    fn into_value(self) -> Value {
        match self {
            Self::String(text) => Value::String(text),
            Self::Array(items) => Value::Array(items.into_iter().map(Self::into_value).collect()),
            Self::Object(fields) => {
                let fields = fields.into_iter();
                Value::Object(fields.map(|(key, value)| (key, value.into_value())).collect())
            }
            small => small.to_value(),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(text) => serde_json::from_str(text)
                .map_or_else(|_| Value::String(text.clone()), Value::Number),
            Self::String(text) => Value::String(text.clone()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.clone(), value.to_value()));
                Value::Object(fields.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests;
