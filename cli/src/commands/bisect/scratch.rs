//! `bisect --files`: captured files in a scratch folder, for the command that judges them.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use milepost::query::Verdict;
use milepost::{Body, Engine, ErrorKind, Hash, Offset, Point};
use milepost_workspace::Snapshot;
use serde_json::Value;

use super::command;
use crate::backend::captures;
use crate::error::{Failure, Result};
use crate::output::printable;

/// Maximum number of other folders that an error names.
const OTHERS: usize = 5;

/// The captures of a folder in the history of a search, with the verdicts on them.
pub struct Scratch {
    /// The offset after each capture, and the capture, oldest first.
    captures: Vec<(Offset, Hash)>,
    /// Points with the same capture have the same files, so the command judges them once.
    verdicts: HashMap<Hash, Verdict>,
}

impl Scratch {
    /// Finds the captures of a folder before the bad end of a search.
    pub fn new(engine: &Engine, bad: &Point, folder: &Path) -> Result<Self> {
        // A folder that is gone has captures under the path that it had.
        let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder))?;
        let begin = engine.query().bisect(None, bad)?.good().offset;
        let (mut captures, mut others) = (Vec::new(), BTreeSet::new());
        for event in engine.task(&bad.task)?.lineage_named(bad.lineage)?.read(begin..bad.offset)? {
            let event = event?;
            let Some(Body::WorkspaceCaptured(captured)) = &event.body else { continue };
            let of = Snapshot::of(engine, captured.root)?.info().folder.clone();
            match of.as_bytes() == folder.as_os_str().as_bytes() {
                true => captures.push((event.offset + 1, captured.root)),
                false => {
                    others.insert(printable(&of.to_string()).into_owned());
                }
            }
        }
        let named = printable(&folder.to_string_lossy()).into_owned();
        match captures.as_slice() {
            [] if others.is_empty() => Err(captures::none(&bad.task, &bad.to_string())),
            [] => {
                let others: Vec<String> = others.into_iter().take(OTHERS).collect();
                Err(Failure::new(format!("{named} was not captured before {bad}"))
                    .of_kind(ErrorKind::NotFound)
                    .hint(format!("captured before there: {}", others.join(", "))))
            }
            [(offset, _)] if *offset == bad.offset => {
                Err(Failure::new(format!("{named} has one capture before {bad}, its last event"))
                    .of_kind(ErrorKind::Invalid)
                    .hint("a search needs an earlier capture, in which it is not so"))
            }
            _ => Ok(Self { captures, verdicts: HashMap::new() }),
        }
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
