//! Python objects in the JSON of older versions of LangGraph's serializer.

use serde_json::Value;

/// Type of a Python object in JSON, which consists of its class and arguments.
const CONSTRUCTOR: &str = "constructor";

/// Returns the JSON with each Python object replaced by its arguments, or the reason why it cannot
/// be read.
pub(crate) fn without_objects(text: &str) -> Result<String, String> {
    if !text.contains(CONSTRUCTOR) {
        return Ok(text.to_owned());
    }
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
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

    #[test]
    fn an_object_is_its_arguments() {
        let message = concat!(
            r#"[{"lc":2,"type":"constructor","id":["langchain_core","HumanMessage"],"#,
            r#""kwargs":{"content":"hi","set":{"lc":2,"type":"constructor","#,
            r#""id":["builtins","set"],"args":[[1]]}}}]"#
        );
        let plain = r#"[{"content":"hi","set":[[1]]}]"#;
        assert_eq!(without_objects(message).as_deref(), Ok(plain));
        assert_eq!(without_objects(r#"{"a": 1.50}"#).as_deref(), Ok(r#"{"a": 1.50}"#));
        assert!(without_objects("constructor").is_err());
    }
}
