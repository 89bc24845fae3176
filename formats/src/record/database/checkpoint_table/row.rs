//! A row of the table: the state in it, and the metadata of its mark.

use jiff::Timestamp;
use milepost::Json;
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};

use crate::error::Converted;
use crate::json_object::Object;
use crate::record::database::ids::METADATA_MAX;
use crate::record::iteration::{IterationTarget, USER_GUIDANCE, artifacts, control, json, phase};

/// The columns that become metadata.
const METADATA: [&str; 6] = [
    "checksum",
    "branch_id",
    "parent_id",
    "lineage_type",
    "branch_description",
    "run_control_state",
];

/// A row that can be written.
#[derive(Debug)]
pub struct StoredRow {
    pub target: IterationTarget,
    pub time_us: u64,
    pub description: Option<String>,
    /// Metadata, if a mark accepts it.
    pub metadata: Option<Json>,
    /// Columns without a meaning, and metadata that a mark does not accept.
    pub rest: Object,
}

/// The values of a row by column.
pub struct RawRow(Vec<(String, Value)>);

impl FromIterator<(String, Value)> for RawRow {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(cells: I) -> Self {
        Self(cells.into_iter().collect())
    }
}

/// Returns a value of a row.
pub fn cell(row: &Row<'_>, column: usize) -> rusqlite::Result<Value> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(bytes.to_owned()),
        },
        other => other.into(),
    })
}

impl RawRow {
    fn get(&self, name: &str) -> &Value {
        let cell = self.0.iter().find(|(column, _)| column == name);
        cell.map_or(&Value::Null, |(_, value)| value)
    }

    /// Returns a text, or `None` for NULL.
    fn text(&self, name: &str) -> Converted<Option<&str>> {
        match self.get(name) {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            _ => Err(format!("`{name}` is no text in UTF-8")),
        }
    }

    fn required(&self, name: &str) -> Converted<&str> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is NULL"))
    }

    /// Returns the JSON of a column, or `None` for NULL and `null`.
    fn json(&self, name: &str) -> Converted<Option<Json>> {
        let parsed = |text| json(text).map_err(|error| format!("`{name}`: {error}"));
        let json = self.text(name)?.map(parsed).transpose()?;
        Ok(json.filter(|json| !json.is_null()))
    }

    /// Returns a number that is not negative.
    fn number(&self, name: &str) -> Converted<u64> {
        let number = match self.get(name) {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        number.ok_or_else(|| format!("`{name}` is no number from 0 on"))
    }

    fn time_us(&self) -> Converted<u64> {
        let ms = self.number("created_at")?;
        let stamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let us = stamp.and_then(|stamp| u64::try_from(stamp.as_microsecond()).ok());
        us.ok_or_else(|| "`created_at` is no time".to_owned())
    }

    fn target(&self) -> Converted<IterationTarget> {
        let state = json(self.required("state")?).map_err(|error| format!("`state`: {error}"))?;
        let held = self.json("artifacts")?;
        Ok(IterationTarget {
            phase: Some(phase(&state)),
            iteration: Some(self.number("iteration")?),
            prompt: Some(self.required("prompt")?.to_owned()),
            rules: self.json("rule_system")?,
            variables: vec![(USER_GUIDANCE, self.json("user_guidance")?)],
            artifacts: Some(held.as_ref().map(artifacts).unwrap_or_default()),
            control: control(self.required("run_control_state")?),
        })
    }

    /// Converts the row. `others` are the columns without a meaning.
    pub fn into_stored(self, others: &[String]) -> Converted<StoredRow> {
        let mut metadata = Object::default();
        for name in METADATA {
            if let Some(text) = self.text(name)? {
                metadata.put(name, Json::string(text));
            }
        }
        let metadata = Json::from_value(&metadata).map_err(|error| error.to_string())?;
        let fits = metadata.text().len() <= METADATA_MAX;
        let mut rest = Object::default();
        for name in others {
            if let Some(value) = kept(self.get(name))? {
                rest.put(name.as_str(), value);
            }
        }
        if !fits {
            rest.put("metadata", metadata.clone());
        }
        Ok(StoredRow {
            target: self.target()?,
            time_us: self.time_us()?,
            description: self.text("branch_description")?.map(str::to_owned),
            metadata: Some(metadata).filter(|_| fits),
            rest,
        })
    }
}

/// Returns a value as JSON, or `None` for NULL.
fn kept(value: &Value) -> Converted<Option<Json>> {
    let json = match value {
        Value::Null => return Ok(None),
        Value::Integer(number) => Json::from_value(number),
        Value::Real(number) if number.is_finite() => Json::from_value(number),
        Value::Real(number) => Ok(Json::string(&number.to_string())),
        Value::Text(text) => Ok(Json::string(text)),
        Value::Blob(bytes) => {
            let bytes = data_encoding::BASE64.encode(bytes);
            Json::new(format!("{{\"base64\":\"{bytes}\"}}"))
        }
    };
    json.map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(changed: &[(&str, Value)]) -> Converted<StoredRow> {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut cells = vec![
            ("iteration", Value::Integer(2)),
            ("state", text("\"running_tests\"")),
            ("run_control_state", text("running")),
            ("prompt", text("p")),
            ("rule_system", text("{\"rules\": []}")),
            ("branch_id", text("b")),
            ("checksum", text("abc")),
            ("created_at", Value::Integer(1_700_000_000_123)),
        ];
        for (name, value) in changed {
            cells.retain(|(known, _)| known != name);
            cells.push((name, value.clone()));
        }
        let cells: RawRow =
            cells.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        cells.into_stored(&["more".to_owned()])
    }

    #[test]
    fn a_row_has_a_state_metadata_and_the_rest() {
        let stored = row(&[("more", Value::Blob(vec![0]))]).unwrap();
        assert_eq!(stored.target.phase.as_deref(), Some("running_tests"));
        assert_eq!(stored.time_us, 1_700_000_000_123_000);
        let metadata = r#"{"checksum":"abc","branch_id":"b","run_control_state":"running"}"#;
        assert_eq!(stored.metadata.unwrap().text(), metadata);
        assert_eq!(stored.rest.into_json().unwrap().text(), r#"{"more":{"base64":"AA=="}}"#);
        let object = row(&[("state", Value::Text("{\"layer\": 2}".into()))]).unwrap();
        assert_eq!(object.target.phase.as_deref(), Some(r#"{"layer":2}"#));
        let long = row(&[("checksum", Value::Text("x".repeat(METADATA_MAX)))]).unwrap();
        assert!(long.metadata.is_none() && long.rest.get("metadata").is_some());
    }

    #[test]
    fn rows_that_cannot_be_converted_name_the_column() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (name, value) in [
            ("iteration", Value::Integer(-1)),
            ("iteration", text("two")),
            ("state", text("layer_1")),
            ("prompt", Value::Null),
            ("prompt", Value::Blob(vec![0xff])),
            ("rule_system", text("{")),
            ("artifacts", text("[1,]")),
            ("user_guidance", text("")),
            ("created_at", Value::Integer(-1)),
            ("created_at", Value::Integer(i64::MAX)),
            ("created_at", Value::Null),
        ] {
            let error = row(&[(name, value)]).unwrap_err();
            assert!(error.contains(&format!("`{name}`")), "{name}: {error}");
        }
    }
}
