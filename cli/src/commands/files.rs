//! `files`: the files of a capture, and those that were left out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use milepost::ErrorKind;
use milepost_api::FileForm;
use milepost_workspace::{Snapshot, TreePath};
use serde::Serialize;
use serde_json::json;

use super::captured_files;
use super::command::{CliCommand, Examples, Needs, Run};
use super::on_store::needed;
use crate::backend::{Backend, captures};
use crate::error::{Failure, Result};
use crate::output::{Out, big, count, printable, size};

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
    /// Write the files into this folder, which is new or empty. Nothing is recorded, and no lineage
    /// changes.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["path", "skips"])]
    pub to: Option<PathBuf>,
}

impl CliCommand for FilesArgs {
    const EXAMPLES: Examples = &[
        ("files run@good", "what was captured last before there"),
        ("files run@good --to look", "the same files in a folder of their own"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &FilesArgs, out: &mut Out) -> Result<()> {
    let within = match &args.path {
        Some(path) => Some(captured_files::tree_path(path)?),
        None => None,
    };
    if let Some(to) = &args.to {
        return write(
            &captures::snapshot(needed(source, "`files --to`")?, &args.address)?,
            to,
            out,
        );
    }
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

fn write(snapshot: &Snapshot, to: &Path, out: &mut Out) -> Result<()> {
    snapshot.restore_into(to).map_err(|error| match error.kind() {
        ErrorKind::Invalid => Failure::from(error).hint("a new or an empty folder takes the files"),
        _ => error.into(),
    })?;
    let info = snapshot.info();
    if out.json {
        let form = json!({
            "to": to.to_string_lossy(), "folder": info.folder, "files": big(info.files),
            "links": big(info.links), "bytes": big(info.bytes), "skipped": big(info.skipped),
        });
        return Ok(out.json(&form)?);
    }
    let (files, size) = (count(info.files, "file"), size(info.bytes));
    let (to, folder) = (to.to_string_lossy(), info.folder.to_string());
    out.line(format!("{files}, {size}, of {} in {}", printable(&folder), printable(&to)))?;
    if info.skipped > 0 {
        let left = count(info.skipped, "path");
        out.line(format!("{left} left out of the capture: --skips lists them"))?;
    }
    Ok(())
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
