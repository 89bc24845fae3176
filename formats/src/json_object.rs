//! JSON objects of recorded runs: fields in order, values as compact text.

use std::fmt;

use milepost::Json;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The fields of a JSON object. Fields that are not taken stay, so that they can be kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(Vec<(String, Json)>);

impl Object {
    /// Returns `true` if the object has no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a field.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// Returns the field as a value of a type, if it is one.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get(name).and_then(value_of)
    }

    /// Returns the field as an object, if it is one.
    pub fn object(&self, name: &str) -> Option<Object> {
        self.read(name)
    }

    /// Returns the field as text, if it is a JSON string.
    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// Returns `true` if the field is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|json| json.text() == "true")
    }

    /// Removes and returns a field.
    pub fn take(&mut self, name: &str) -> Option<Json> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    /// Removes and returns the field, if it is a JSON string.
    pub fn take_text(&mut self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        self.take(name);
        Some(text)
    }

    /// Removes and returns the field, if it is a list of objects.
    pub fn take_list(&mut self, name: &str) -> Option<Vec<Object>> {
        let list = self.read(name)?;
        self.take(name);
        Some(list)
    }

    /// Replaces the value of a field, which keeps its place, and returns the old one.
    pub fn replace(&mut self, name: &str, value: Json) -> Option<Json> {
        let (_, old) = self.0.iter_mut().find(|(n, _)| n == name)?;
        Some(std::mem::replace(old, value))
    }

    /// Adds a field after the others.
    pub fn put(&mut self, name: impl Into<String>, value: Json) {
        self.0.push((name.into(), value));
    }

    /// Returns the fields in order.
    pub fn into_fields(self) -> Vec<(String, Json)> {
        self.0
    }

    /// Returns the object as JSON, or `None` if it has no field.
    pub fn into_json(self) -> Option<Json> {
        if self.0.is_empty() { None } else { Json::from_value(&self).ok() }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }
        }
        d.deserialize_map(Fields)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Returns the fields of a JSON object, or `None` for any other JSON.
pub fn fields_of(text: &str) -> Option<Vec<(String, Json)>> {
    let object: Object = serde_json::from_str(text).ok()?;
    Some(object.into_fields())
}

/// Returns the text of a JSON string, or `None` for any other JSON.
pub fn as_text(json: &Json) -> Option<String> {
    value_of(json)
}

/// Returns JSON as a value of a type, if it is one.
pub fn value_of<T: DeserializeOwned>(json: &Json) -> Option<T> {
    serde_json::from_str(json.text()).ok()
}

/// Maximum nesting of an input. The log accepts 100 levels, and an event adds some around the
/// input's values.
const DEPTH_MAX: usize = 96;

/// Refuses JSON that nests too deep for an event.
pub fn check_depth(text: &str) -> Result<(), String> {
    let opens = |byte: &&u8| matches!(**byte, b'[' | b'{');
    if text.as_bytes().iter().filter(opens).count() <= DEPTH_MAX {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(format!("JSON nested deeper than {DEPTH_MAX} levels"));
        }
    }
    Ok(())
}

/// Returns the JSON without white space between its tokens. Numbers and strings stay unchanged.
pub fn compact(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => continue,
            _ => {}
        }
        out.push(byte);
    }
    // Only ASCII bytes are removed, so the text stays UTF-8.
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_text_keeps_strings_and_numbers_word_for_word() {
        let text = "{ \"a b\" : [ 1.50 ,\n 1e400 , \"x \\\" y\\\\\" ] , \"c\":\t\"é \" }";
        assert_eq!(compact(text), "{\"a b\":[1.50,1e400,\"x \\\" y\\\\\"],\"c\":\"é \"}");
    }

    #[test]
    fn json_that_nests_too_deep_is_refused_whatever_its_strings_have_in_them() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check_depth(&nested(96)), Ok(()));
        assert!(check_depth(&nested(97)).is_err());
        let beside = format!("[{}]", [nested(90).as_str(); 3].join(","));
        assert_eq!(check_depth(&beside), Ok(()));
        let text = format!("[\"{}\", \"\\\"{}\"]", "[".repeat(200), "{".repeat(200));
        assert_eq!(check_depth(&text), Ok(()));
    }

    #[test]
    fn fields_keep_their_order_and_what_is_taken_is_gone() {
        let mut object: Object = serde_json::from_str(r#"{"z":1,"a":"x","m":[{"k":2}]}"#).unwrap();
        assert_eq!(object.take_text("a").as_deref(), Some("x"));
        assert_eq!(object.take_text("z"), None, "a number is not a text and stays");
        assert_eq!(object.take_list("m").unwrap().len(), 1);
        assert_eq!(object.into_json().unwrap().text(), r#"{"z":1}"#);
    }
}
