//! `files`: the files of a capture, and those that were left out.

use std::ffi::OsString;

use milepost_api::FileForm;
use milepost_workspace::{Snapshot, TreePath};
use serde::Serialize;
use serde_json::json;

use super::captured_files;
use super::command::{CliCommand, Examples, Needs, Run};
use super::on_store::needed;
use crate::backend::{Backend, captures};
use crate::error::Result;
use crate::output::{Out, big};

/// List the files of the last capture before a point.
#[derive(Debug, clap::Args)]
pub struct FilesArgs {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// Only files at or below this path of the folder.
    pub path: Option<OsString>,
    /// List the entries that were left out, and the reasons.
    #[arg(long)]
    pub skips: bool,
}

impl CliCommand for FilesArgs {
    const EXAMPLES: Examples = &[("files run@good", "what was captured last before there")];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &FilesArgs, out: &mut Out) -> Result<()> {
    let within = match &args.path {
        Some(path) => Some(captured_files::tree_path(path)?),
        None => None,
    };
    if args.skips {
        let snapshot = captures::snapshot(needed(source, "`files --skips`")?, &args.address)?;
        return skips(&snapshot, within.as_ref(), out);
    }
    let point = source.point(&args.address)?;
    let mut list = List::default();
    source.files(&point, &mut |file| {
        if !within.as_ref().is_none_or(|within| file.path.is_in(within)) {
            return Ok(());
        }
        match out.json {
            true => list.json(&file, out),
            false => list.line(&line(&file), out),
        }
    })?;
    match within {
        Some(path) if !list.any => Err(captured_files::nothing_at(&path, &args.address)),
        _ => list.end("the folder was empty", out),
    }
}

fn line(file: &FileForm) -> String {
    let (mode, path) = (captured_files::mode_line(&file.kind, &file.mode), &file.path);
    let size = file.size.map_or_else(|| "-".to_owned(), |size| size.to_string());
    match &file.target {
        Some(target) => format!("{mode} {size:>12} {path} -> {target}"),
        None => format!("{mode} {size:>12} {path}"),
    }
}

fn skips(snapshot: &Snapshot, within: Option<&TreePath>, out: &mut Out) -> Result<()> {
    let mut list = List::default();
    for skip in snapshot.skips() {
        let skip = skip?;
        let is_in = |within: &TreePath| match skip.path.as_bytes().strip_prefix(within.as_bytes()) {
            Some(rest) => matches!(rest.first(), None | Some(b'/')),
            None => false,
        };
        if !within.is_none_or(is_in) {
            continue;
        }
        let reason = skip.reason.name();
        if out.json {
            let form = json!({"path": skip.path, "reason": reason, "size": big(skip.size)});
            list.json(&form, out)?;
        } else {
            list.line(&format!("{reason:8} {:>12} {}", skip.size, skip.path), out)?;
        }
    }
    list.end("nothing was left out", out)
}

/// A list that is printed while it is read.
#[derive(Default)]
struct List {
    any: bool,
}

impl List {
    fn line(&mut self, line: &str, out: &mut Out) -> Result<()> {
        self.any = true;
        Ok(out.line(line)?)
    }

    fn json(&mut self, form: &impl Serialize, out: &mut Out) -> Result<()> {
        out.raw(if self.any { "," } else { "[" })?;
        self.any = true;
        Ok(out.raw(&serde_json::to_string(form)?)?)
    }

    fn end(&self, none: &str, out: &mut Out) -> Result<()> {
        match (out.json, self.any) {
            (true, true) => Ok(out.line("]")?),
            (true, false) => Ok(out.line("[]")?),
            (false, true) => Ok(()),
            (false, false) => Ok(out.line(none)?),
        }
    }
}
