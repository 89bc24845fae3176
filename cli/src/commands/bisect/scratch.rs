//! `bisect --files`: captured files in a scratch folder, for the command that judges them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use milepost::query::{Bisect, Verdict};
use milepost::{Body, Engine, Hash, Offset, Point};
use milepost_workspace::Snapshot;
use serde_json::Value;

use super::command;
use crate::backend::captures;
use crate::error::{Failure, Result};
use crate::output::{printable, words};

/// The captures of a folder in the history of a search, with the verdicts on them.
pub struct Scratch {
    /// The offset after each capture, and the capture, oldest first.
    captures: Vec<(Offset, Hash)>,
    /// Points with the same capture have the same files, so the command judges them once.
    verdicts: HashMap<Hash, Verdict>,
}

impl Scratch {
    /// Finds the captures of a folder between the ends of a search.
    pub fn new(engine: &Engine, bisect: &Bisect, folder: &Path) -> Result<Self> {
        let (good, bad) = (bisect.good(), bisect.bad());
        // A folder that is gone has captures under the path that it had.
        let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder))?;
        let mut captures = Vec::new();
        if let Some(root) = engine.run_state(&good)?.workspace
            && is_of(engine, root, &folder)?
        {
            captures.push((good.offset, root));
        }
        let task = engine.task(&bad.task)?;
        for event in task.lineage(bad.lineage)?.read(good.offset..bad.offset)? {
            let event = event?;
            if let Some(Body::WorkspaceCaptured(captured)) = &event.body
                && is_of(engine, captured.root, &folder)?
            {
                captures.push((event.offset + 1, captured.root));
            }
        }
        if captures.is_empty() {
            let (folder, at) = (folder.to_string_lossy(), bad.to_string());
            let text = format!("{} was not captured before {at}", printable(&folder));
            let task = words::encode(&bad.task);
            return Err(Failure::new(text).hint(format!(
                "`milepost log {task} --kind workspace_captured` shows which folders were"
            )));
        }
        Ok(Self { captures, verdicts: HashMap::new() })
    }

    /// Returns the first offset at which the folder is captured.
    pub fn first(&self) -> Offset {
        self.captures.first().map_or(0, |(offset, _)| *offset)
    }

    /// Runs the command in a folder with the files of a point, and returns its verdict.
    pub fn ask(
        &mut self,
        engine: &Engine,
        argv: &[OsString],
        point: &Point,
        state: &Value,
    ) -> Result<Verdict> {
        let before = self.captures.partition_point(|(offset, _)| *offset <= point.offset);
        let Some((_, root)) = before.checked_sub(1).and_then(|last| self.captures.get(last)) else {
            return Ok(Verdict::Skip);
        };
        if let Some(verdict) = self.verdicts.get(root) {
            return Ok(*verdict);
        }
        let folder = tempfile::Builder::new().prefix("milepost-bisect-").tempdir()?;
        Snapshot::of(engine, *root)?.restore_into(folder.path())?;
        let verdict = command::ask(argv, point, state, Some(folder.path()))?;
        self.verdicts.insert(*root, verdict);
        Ok(verdict)
    }
}

/// Returns `true` if a capture is of a folder.
fn is_of(engine: &Engine, root: Hash, folder: &Path) -> Result<bool> {
    let info = Snapshot::of(engine, root)?;
    Ok(info.info().folder.as_bytes() == folder.as_os_str().as_bytes())
}
