//! A stored checkpoint, decoded.

use jiff::Timestamp;
use milepost::Json;
use serde_json::Value;

use crate::json_object::{Object, compact};
use crate::record::database::METADATA_MAX;

/// Maximum size of a checkpoint, write or metadata, in bytes.
pub const STORED_MAX: usize = 64 << 20;
/// Type of a Python object in JSON, which consists of its class and arguments.
const CONSTRUCTOR: &str = "constructor";

/// A stored value: its encoding and its bytes.
#[derive(Debug, Default)]
pub struct Stored {
    /// Name of the encoding.
    pub kind: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The content of a checkpoint.
#[derive(Debug)]
pub struct Content {
    /// The values of the channels, in order.
    pub values: Vec<(String, Json)>,
    /// All other fields.
    pub rest: Object,
    /// Time of the checkpoint.
    pub time_us: Option<u64>,
}

impl Stored {
    /// Returns the value as JSON, or the reason why it cannot be decoded.
    pub fn json(&self) -> Result<Json, String> {
        if self.bytes.len() > STORED_MAX {
            return Err(format!("over {} MiB", STORED_MAX >> 20));
        }
        let text = match self.kind.as_deref() {
            Some("null") => "null".to_owned(),
            Some("msgpack") => milepost_langgraph::to_json(&self.bytes)?,
            Some("bytes" | "bytearray") => {
                let bytes = data_encoding::BASE64.encode(&self.bytes);
                format!("{{\"base64\":\"{bytes}\"}}")
            }
            // Old databases have JSON without a type.
            Some("json") | None => without_constructors(self.text()?)?,
            Some(other) => return Err(format!("it is written as `{other}`, which is not read")),
        };
        Json::new(text).map_err(|error| error.to_string())
    }

    fn text(&self) -> Result<String, String> {
        let text = std::str::from_utf8(&self.bytes).map_err(|error| error.to_string())?;
        Ok(compact(text))
    }
}

/// Returns the content of a stored checkpoint, or the reason why it cannot be read.
pub fn content(stored: &Stored) -> Result<Content, String> {
    let json = stored.json()?;
    let mut rest: Object =
        serde_json::from_str(json.text()).map_err(|_| "no object of a checkpoint".to_owned())?;
    let values =
        rest.take("channel_values").ok_or_else(|| "it has no `channel_values`".to_owned())?;
    let values: Object =
        serde_json::from_str(values.text()).map_err(|_| "`channel_values` is no object")?;
    let stamp = rest.text("ts").and_then(|ts| ts.parse::<Timestamp>().ok());
    Ok(Content {
        values: values.into_fields(),
        time_us: stamp.and_then(|stamp| u64::try_from(stamp.as_microsecond()).ok()),
        rest,
    })
}

/// Returns the metadata of a checkpoint. Metadata that cannot be decoded is kept as bytes.
pub fn metadata(bytes: Vec<u8>) -> Result<Json, String> {
    // In old databases, metadata is encoded as the checkpoint is.
    let kind = match bytes.first() {
        Some(b'{') => "json",
        None => "null",
        Some(_) => "msgpack",
    };
    let mut stored = Stored { kind: Some(kind.to_owned()), bytes };
    stored.json().or_else(|_| {
        stored.kind = Some("bytes".to_owned());
        stored.json()
    })
}

/// Returns `true` if a mark accepts the metadata.
pub fn is_of_a_mark(metadata: &Json) -> bool {
    metadata.text().starts_with('{') && metadata.text().len() <= METADATA_MAX
}

/// Returns the JSON with each Python object replaced by its arguments.
fn without_constructors(text: String) -> Result<String, String> {
    if !text.contains(CONSTRUCTOR) {
        return Ok(text);
    }
    let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(held(value).to_string())
}

fn held(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(held).collect(),
        Value::Object(mut fields) => {
            let is = |name: &str| fields.get(name).and_then(Value::as_str) == Some(CONSTRUCTOR);
            if fields.contains_key("lc") && is("type") {
                for name in ["kwargs", "args"] {
                    if let Some(value) = fields.remove(name).filter(|value| !value.is_null()) {
                        return held(value);
                    }
                }
            }
            let fields = fields.into_iter().map(|(name, value)| (name, held(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(kind: &str, bytes: &[u8]) -> Stored {
        Stored { kind: Some(kind.into()), bytes: bytes.into() }
    }

    #[test]
    fn each_way_of_writing_is_read() {
        let json =
            |kind: &str, bytes: &[u8]| stored(kind, bytes).json().map(|json| json.to_string());
        assert_eq!(json("null", b"").as_deref(), Ok("null"));
        assert_eq!(json("msgpack", &[0x91, 1]).as_deref(), Ok("[1]"));
        assert_eq!(json("bytes", &[0]).as_deref(), Ok(r#"{"base64":"AA=="}"#));
        assert_eq!(json("json", b"{\"a\": 1.50}").as_deref(), Ok(r#"{"a":1.50}"#));
        let message = concat!(
            r#"[{"lc":2,"type":"constructor","id":["langchain_core","HumanMessage"],"#,
            r#""kwargs":{"content":"hi","set":{"lc":2,"type":"constructor","#,
            r#""id":["builtins","set"],"args":[[1]]}}}]"#
        );
        assert_eq!(
            json("json", message.as_bytes()).as_deref(),
            Ok(r#"[{"content":"hi","set":[[1]]}]"#)
        );
        let error = json("pickle", b"x").unwrap_err();
        assert_eq!(error, "it is written as `pickle`, which is not read");
    }

    #[test]
    fn a_checkpoint_without_values_is_none() {
        for (text, why) in [
            ("[]", "no object"),
            ("{}", "no `channel_values`"),
            (r#"{"channel_values":7}"#, "is no object"),
            ("{", "not JSON"),
        ] {
            let error = content(&stored("json", text.as_bytes())).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
