//! A share as a file, for `share` and the terminal view.

use std::io;
use std::path::Path;

use milepost::ErrorKind;
use milepost_api::{SharePlanForm, ShareRequest};
use milepost_formats::Progress;

use crate::atomic_file::WholeFile;
use crate::backend::{Backend, Bytes};
use crate::error::{Failure, Result};
use crate::output::{count, size, words};

/// Hint for what a share withholds.
const WITHHELD: &str =
    "--withhold takes a regular expression of what stays out, as in 'sk-[a-z0-9]+'";

/// Returns the plan of a share. With `each`, also passes the bytes of the file to it.
pub fn shared(
    source: &dyn Backend,
    task: &str,
    asked: &ShareRequest,
    progress: &mut dyn Progress,
    each: Option<Bytes<'_>>,
) -> Result<SharePlanForm> {
    source.share(task, asked, progress, each).map_err(|failure| {
        let size = format!(
            "`milepost export {} --redact` writes it without a limit of its size",
            words::encode(task)
        );
        match (failure.kind(), asked.withhold.is_empty()) {
            (Some(ErrorKind::Invalid), true) => failure.hint(size),
            (Some(ErrorKind::Invalid), false) => failure.hint(format!("{WITHHELD}; {size}")),
            (_, true) => failure,
            (_, false) => failure.or_hint(WITHHELD),
        }
    })
}

/// Writes the file, which appears when it is complete.
pub fn write_file(
    source: &dyn Backend,
    task: &str,
    asked: &ShareRequest,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<SharePlanForm> {
    let failed = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display()))
            .hint("give a file in a folder that is there and may be written to")
    };
    let mut file = WholeFile::begin(path).map_err(failed)?;
    let written =
        shared(source, task, asked, progress, Some(&mut |bytes| file.write(bytes).map_err(failed)));
    match written {
        Ok(plan) => file.end().map_err(failed).map(|()| plan),
        Err(failure) => {
            file.take_back();
            Err(failure)
        }
    }
}

/// Returns the summary of a plan, line by line.
pub fn withheld_lines(plan: &SharePlanForm) -> Vec<String> {
    let mut lines = Vec::new();
    let events = count(plan.withheld.0, "event");
    match (plan.withheld.0, plan.trusted.0) {
        (0, 0) => lines.push("nothing is withheld".to_owned()),
        (_, 0) => lines.push(format!("{events} withheld: the hashes of the bodies stay")),
        (_, trusted) => lines.push(format!(
            "{events} withheld: the hashes of the bodies stay; {} on trust: a header is redacted",
            count(trusted, "event")
        )),
    }
    for find in &plan.finds {
        let places = find.places.join(", ");
        let more = if find.count.0 > find.places.len() as u64 { ", .." } else { "" };
        lines.push(format!("  {}: {}, at {places}{more}", find.name, find.count));
    }
    if let Some(longest) = plan.longest {
        let (texts, longest) = (count(plan.long.0, "text"), size(longest.0));
        lines.push(format!("{texts} over {longest} withheld, so that the file is small enough"));
    }
    if plan.captures.0 > 0 {
        let folders = count(plan.captures.0, "captured folder");
        lines.push(format!("{folders} without files: `milepost export --files` takes them along"));
    }
    if plan.copy_only {
        lines.push("an import of it is a copy, with hashes of its own".to_owned());
    }
    lines
}
