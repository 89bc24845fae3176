//! Compared values: in memory, or as JSON text.

use std::borrow::Cow;

use milepost_codec::Result;
use serde_json::Value;

use super::outline::Outline;
use crate::document::{text_value, weigh};

/// Kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
    Leaf,
}

/// A value to compare.
pub(super) trait Side: Copy {
    fn shape(self) -> Shape;
    /// Returns the fields of an object in byte order of their keys; empty for other values.
    fn fields(&self) -> Vec<(Cow<'_, str>, Self)>;
    /// Iterates over the items of an array; empty for other values.
    fn items(self) -> impl Iterator<Item = Self>;
    /// Returns `true` if both are the same object in memory or the same text.
    fn is_word_for_word(self, other: Self) -> bool;
    /// Returns `true` if both are the same value.
    fn is(self, other: Self) -> Result<bool>;
    /// Returns the value, for display.
    fn value(self) -> Result<Value>;
    /// Returns the approximate size of the value in memory, in bytes.
    fn weight(self) -> usize;
}

impl Side for &Value {
    fn shape(self) -> Shape {
        match self {
            Value::Object(_) => Shape::Object,
            Value::Array(_) => Shape::Array,
            _ => Shape::Leaf,
        }
    }

    fn fields(&self) -> Vec<(Cow<'_, str>, Self)> {
        let fields = self.as_object().into_iter().flatten();
        let mut fields: Vec<_> = fields.map(|(key, value)| (key.into(), value)).collect();
        fields.sort_unstable_by(|(a, _): &(Cow<'_, str>, _), (b, _)| a.cmp(b));
        fields
    }

    fn items(self) -> impl Iterator<Item = Self> {
        self.as_array().into_iter().flatten()
    }

    fn is_word_for_word(self, other: Self) -> bool {
        std::ptr::eq(self, other)
    }

    fn is(self, other: Self) -> Result<bool> {
        Ok(self == other)
    }

    fn value(self) -> Result<Value> {
        Ok(self.clone())
    }

    fn weight(self) -> usize {
        const OBJECT: usize = 640;
        let below: usize = match self {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(Side::weight).sum(),
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| key.len() + value.weight();
                fields.iter().map(field).sum::<usize>() + OBJECT
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        };
        below + size_of::<Value>()
    }
}

/// A value in a JSON text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) of: &'a Outline<'a>,
    /// The index of its mark.
    pub(super) at: usize,
}

impl Side for Part<'_> {
    fn shape(self) -> Shape {
        match self.of.text_at(self.at).as_bytes().first() {
            Some(b'{') => Shape::Object,
            Some(b'[') => Shape::Array,
            _ => Shape::Leaf,
        }
    }

    fn fields(&self) -> Vec<(Cow<'_, str>, Self)> {
        let mut fields: Vec<(Cow<'_, str>, Self)> = Vec::new();
        if self.shape() != Shape::Object {
            return fields;
        }
        let mut parts = self.of.children(self.at);
        while let (Some(key), Some(at)) = (parts.next(), parts.next()) {
            fields.push((string(self.of.text_at(key)), Part { of: self.of, at }));
        }
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        // The last of duplicate keys counts. It is the last one in `fields`.
        fields.reverse();
        fields.dedup_by(|(a, _), (b, _)| a == b);
        fields.reverse();
        fields
    }

    fn items(self) -> impl Iterator<Item = Self> {
        let is_array = self.shape() == Shape::Array;
        let items = is_array.then(|| self.of.children(self.at));
        items.into_iter().flatten().map(move |at| Part { of: self.of, at })
    }

    fn is_word_for_word(self, other: Self) -> bool {
        self.of.text_at(self.at) == other.of.text_at(other.at)
    }

    fn is(self, other: Self) -> Result<bool> {
        if self.is_word_for_word(other) {
            return Ok(true);
        }
        // Large arrays and objects count as equal only if their texts are equal.
        const SMALL: usize = 1 << 20;
        let leaves = [self, other].iter().all(|side| side.shape() == Shape::Leaf);
        if !leaves && self.weight().max(other.weight()) > SMALL {
            return Ok(false);
        }
        Ok(self.value()? == other.value()?)
    }

    fn value(self) -> Result<Value> {
        text_value(self.of.text_at(self.at))
    }

    fn weight(self) -> usize {
        usize::try_from(weigh(self.of.text_at(self.at))).unwrap_or(usize::MAX)
    }
}

/// Decodes a JSON string.
fn string(text: &str) -> Cow<'_, str> {
    let plain = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    match plain {
        Some(plain) if !plain.contains('\\') => plain.into(),
        // Half a surrogate pair is displayed as U+FFFD.
        _ => match text_value(text) {
            Ok(Value::String(text)) => text.into(),
            _ => text.into(),
        },
    }
}
