//! Outcome of a command, as recorded: the call, its return, and a file if the store cannot be
//! opened.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use milepost::events::ToolReturned;
use milepost::{Body, Json};
use milepost_api::{ToolCallForm, ToolReturnRequest};
use milepost_workspace::PathBytes;
use serde::Serialize;
use serde_json::json;

use super::process::{Ended, ExitStatus};
use super::recorder::Output;
use crate::error::{Failure, Result};
use crate::secrets::Secrets;

/// Name of the tool.
pub const TOOL: &str = "command";

/// Folder in the store for outcomes that could not be recorded.
const UNRECORDED: &str = "unrecorded";

/// Exit code of a command that exceeded its time limit.
const TIMED_OUT: u8 = 124;

/// Returns the arguments of the call of a command.
pub fn arguments(argv: &[std::ffi::OsString], folder: &Path, secrets: &Secrets) -> Result<Json> {
    let words = argv.iter().map(|word| {
        let blotted = secrets.blotted(word.as_bytes());
        String::from_utf8_lossy(&blotted).into_owned()
    });
    let words: Vec<_> = words.collect();
    let mut arguments = json!({
        "argv": words,
        "dir": PathBytes::from(folder.as_os_str().as_bytes()),
    });
    let is_lossy = argv.iter().any(|word| word.to_str().is_none());
    if let (true, Some(fields)) = (is_lossy, arguments.as_object_mut()) {
        fields.insert("lossy".into(), json!(true));
    }
    Ok(Json::from_value(&arguments)?)
}

/// Outcome of a command.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    pub ms: u64,
    #[serde(flatten)]
    pub output: Output,
}

impl Outcome {
    pub fn new(ended: Ended, output: Output) -> Self {
        let (exit, signal, error) = match ended.status {
            ExitStatus::Exit(code) => (Some(code), None, None),
            ExitStatus::Signal(signal) => (None, Some(signal), None),
            ExitStatus::NotStarted(code, error) => (Some(code), None, Some(error)),
        };
        Self { exit, signal, error, timed_out: ended.timed_out, ms: ended.ms, output }
    }

    pub fn is_good(&self) -> bool {
        self.exit == Some(0) && !self.timed_out
    }

    /// Returns the exit code for this outcome.
    pub fn code(&self) -> u8 {
        let code = match (self.exit, self.signal) {
            _ if self.timed_out => return TIMED_OUT,
            (Some(code), _) => code,
            (None, signal) => 128 + signal.unwrap_or_default(),
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    /// Describes the outcome for people.
    pub fn describe(&self) -> String {
        let how = match (&self.error, self.exit, self.signal) {
            (Some(error), ..) => return error.clone(),
            (_, Some(code), _) => format!("exit code {code}"),
            (_, _, signal) => format!("signal {}", signal.unwrap_or_default()),
        };
        match self.timed_out {
            true => format!("the time was over, {how}"),
            false => how,
        }
    }
}

/// Writes a return that could not be recorded to a file that `milepost record` reads.
pub fn save(store: &Path, begun: &ToolCallForm, returned: &ToolReturnRequest) -> Result<PathBuf> {
    let ToolReturnRequest { call, tool, ok, output, .. } = returned.clone();
    let returned = ToolReturned { call, tool: Some(tool), ok, output };
    let folder = store.join(UNRECORDED);
    let name = blake3::hash(format!("{} {} {}", begun.lineage, begun.call, begun.task).as_bytes());
    let file = folder.join(format!("{}.jsonl", name.to_hex()));
    let failed = |error: std::io::Error| {
        let file = file.display();
        Failure::new(format!("cannot write {file}: {error}"))
    };
    // A removed store is not created again: its folder must exist.
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if !fs::symlink_metadata(&folder).is_ok_and(|is| is.is_dir()) => {
            return Err(failed(error));
        }
        _ => {}
    }
    let mut line = Body::from(returned).to_json()?;
    line.push('\n');
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut written = options.open(&file).map_err(failed)?;
    written.write_all(line.as_bytes()).and_then(|()| written.sync_all()).map_err(failed)?;
    Ok(file)
}
