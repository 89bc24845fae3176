//! A checkpoint file: reading and checks.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use milepost::Json;
use milepost::events::CheckpointMarked;
use milepost::internals::json_reason;
use serde::Deserialize;
use serde_json::error::Category;

use super::target_state::TargetState;
use crate::json_object::{Object, as_text, compact, fields_of};

/// Maximum size of a file, in bytes.
pub const FILE_MAX: u64 = 64 << 20;
/// Maximum size of a mark's metadata, in bytes.
const METADATA_MAX: usize = 64 << 10;
/// Maximum size of an id, in bytes.
const ID_MAX: usize = 200;

/// A checkpoint, as it was saved.
#[derive(Debug, PartialEq)]
pub struct SavedCheckpoint {
    pub id: String,
    pub execution: String,
    pub step_name: String,
    pub step: u64,
    pub time_us: u64,
    pub target: TargetState,
    pub success: bool,
    /// The status word of the file.
    pub status: String,
    pub error: Option<String>,
    /// A JSON object, if the file has one.
    pub metadata: Option<Json>,
    /// Values without a field of their own: other fields, metadata that is not an object, and the
    /// status of a failed step that has an error.
    pub rest: Object,
    /// Hash of the file.
    pub digest: String,
}

/// The JSON form of the file.
#[derive(Deserialize)]
struct Form {
    id: String,
    execution_id: String,
    step_name: String,
    step_index: u64,
    timestamp: String,
    state: Json,
    context: Json,
    variables: Json,
    status: String,
    error: Option<Json>,
    metadata: Option<Json>,
}

const FIELDS: [&str; 11] = [
    "id",
    "execution_id",
    "step_name",
    "step_index",
    "timestamp",
    "state",
    "context",
    "variables",
    "status",
    "error",
    "metadata",
];

/// Reads a checkpoint, or returns the reason why the file is invalid.
pub fn read(path: &Path) -> Result<SavedCheckpoint, String> {
    parse(&text(path)?)
}

fn text(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let irregular = || "not a regular file".to_owned();
    // Checked before it is opened, since opening a pipe would block.
    if !fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(irregular());
    }
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(irregular());
    }
    let too_large = || format!("over {} MiB", FILE_MAX >> 20);
    if found.len() > FILE_MAX {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    let mut limited = file.take(FILE_MAX + 1);
    limited.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("invalid UTF-8 at byte {at}")
    })
}

fn parse(file: &str) -> Result<SavedCheckpoint, String> {
    let text = file.strip_prefix('\u{feff}').unwrap_or(file).trim();
    if text.is_empty() {
        return Err("empty".into());
    }
    // serde would accept an array of eleven values as the form, too.
    if !text.starts_with('{') {
        return Err("not a JSON object".into());
    }
    let form: Form = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => json_reason(&error),
        Category::Eof => format!("cut off: {}", json_reason(&error)),
        _ => format!("not JSON: {}", json_reason(&error)),
    })?;
    check_id("id", &form.id)?;
    check_id("execution_id", &form.execution_id)?;
    let time_us = time(&form.timestamp)
        .ok_or_else(|| format!("`timestamp` is no time since 1970: {:?}", form.timestamp))?;
    let mut rest = rest(text)?;
    let metadata = form.metadata.as_ref().map(plain).transpose()?;
    let (metadata, other) = match metadata {
        Some(json) if json.text().starts_with('{') => (Some(json), None),
        other => (None, other.filter(|json| !json.is_null())),
    };
    if let Some(other) = other {
        rest.put("metadata", other);
    }
    let success = form.status == "success";
    if !success && form.error.is_some() {
        rest.put("status", Json::string(&form.status));
    }
    let size = metadata.as_ref().map_or(0, |json| json.text().len());
    if size > METADATA_MAX {
        return Err(format!("`metadata` of {size} bytes is over the limit of {METADATA_MAX}"));
    }
    let target =
        TargetState::new(plain(&form.variables)?, plain(&form.context)?, plain(&form.state)?)?;
    Ok(SavedCheckpoint {
        id: form.id,
        execution: form.execution_id,
        step_name: form.step_name,
        step: form.step_index,
        time_us,
        target,
        success,
        status: form.status,
        error: form.error.map(|json| as_text(&json).unwrap_or_else(|| json.text().to_owned())),
        metadata,
        rest,
        digest: blake3::hash(file.as_bytes()).to_hex().to_string(),
    })
}

/// Returns the fields that are not in [`FIELDS`].
fn rest(text: &str) -> Result<Object, String> {
    let fields = fields_of(text).unwrap_or_default().into_iter();
    let mut rest = Object::default();
    for (name, value) in fields.filter(|(name, _)| !FIELDS.contains(&name.as_str())) {
        rest.put(name, plain(&value)?);
    }
    Ok(rest)
}

/// Removes the white space between tokens. Numbers and strings stay unchanged.
fn plain(json: &Json) -> Result<Json, String> {
    Json::new(compact(json.text())).map_err(|error| error.to_string())
}

/// Checks an id. Ids of tasks and of checkpoints have the same limits.
pub fn check_id(name: &str, id: &str) -> Result<(), String> {
    if id.is_empty() || id.len() > ID_MAX {
        let len = id.len();
        return Err(format!("`{name}` has 1 to {ID_MAX} bytes, not {len}"));
    }
    if id.chars().any(char::is_control) {
        return Err(format!("`{name}` has a control character: {id:?}"));
    }
    Ok(())
}

/// Returns an ISO 8601 time in microseconds since the Unix epoch. A time without a zone is UTC.
fn time(text: &str) -> Option<u64> {
    let stamp = match text.parse::<Timestamp>() {
        Ok(stamp) => stamp,
        Err(_) => {
            let civil: DateTime = text.parse().ok()?;
            civil.to_zoned(TimeZone::UTC).ok()?.timestamp()
        }
    };
    u64::try_from(stamp.as_microsecond()).ok()
}

impl SavedCheckpoint {
    /// Returns the step's name, if it is valid as a label.
    pub fn label(&self) -> Option<&str> {
        let mark =
            CheckpointMarked { label: Some(self.step_name.clone()), ..CheckpointMarked::default() };
        mark.check().is_ok().then_some(self.step_name.as_str())
    }

    /// Returns the error of a failed step.
    pub fn failure(&self) -> String {
        self.error.clone().unwrap_or_else(|| self.status.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_a_zone() {
        let noon = Some(1_731_753_045_123_456);
        assert_eq!(time("2024-11-16T10:30:45.123456"), noon);
        assert_eq!(time("2024-11-16 10:30:45.123456"), noon);
        assert_eq!(time("2024-11-16T10:30:45.123456Z"), noon);
        assert_eq!(time("2024-11-16T12:30:45.123456+02:00"), noon);
        assert_eq!(time("2024-11-16T10:30:45"), Some(1_731_753_045_000_000));
        assert_eq!(time("1969-12-31T23:59:59"), None);
        assert_eq!(time("yesterday"), None);
        assert_eq!(time(""), None);
    }
}
