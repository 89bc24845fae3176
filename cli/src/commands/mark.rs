//! `mark`: a checkpoint at a point.

use milepost::{ErrorKind, Json};
use milepost_api::{MarkGiven, PointForm};
use serde_json::Value;

use crate::args;
use crate::backend::{Backend, hints};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, excerpt, note, printable, words};
use crate::store_locator;

pub fn run(source: &dyn Backend, args: &args::Mark, out: &mut Out) -> Result<()> {
    let point = match &args.address {
        Some(address) => source.point(address)?,
        None => {
            check_is_no_task(source, &args.label)?;
            source.point(&words::encode(&default_task(source)?))?
        }
    };
    let metadata = args.metadata.as_deref().map(metadata).transpose()?;
    let asked = MarkGiven {
        label: Some(args.label.clone()),
        aliases: args.alias.clone(),
        status: Some(args.status.into()),
        metadata,
        cause: None,
    };
    let before = if out.json { None } else { labelled(source, &point, &args.label) };
    let checkpoint = source.mark(&point, asked)?;
    if out.json {
        return Ok(out.json(&checkpoint)?);
    }
    let at = checkpoint.at.0;
    let place = words::address(&checkpoint.task, checkpoint.lineage, at);
    out.line(printable(&format!("marked {place} as `{}`", args.label)))?;
    if let Some(before) = before.filter(|before| *before != at) {
        let moved = format!("label `{}` moved from @{before} to @{at}", args.label);
        out.line(printable(&moved))?;
    }
    Ok(out.line(format!("checkpoint @{}", checkpoint.id))?)
}

/// Returns the offset that a label names on the lineage of a point, if it is used there.
fn labelled(source: &dyn Backend, point: &PointForm, label: &str) -> Option<u64> {
    let (task, lineage) = (words::encode(&point.task), point.lineage);
    let found = source.point(&format!("{task}/{lineage}@{}", words::encode(label)));
    found.ok().map(|point| point.offset.0)
}

/// Parses metadata.
fn metadata(text: &str) -> Result<Json> {
    let is_object = serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    match Json::new(text) {
        Ok(json) if is_object => Ok(json),
        _ => {
            let text = excerpt(text, 40);
            Err(Failure::new(format!("--metadata is `{text}`, which is no JSON object"))
                .code_of(USAGE)
                .hint("as in --metadata '{\"score\": 0.9}'"))
        }
    }
}

/// Refuses a label that names a task: the label itself was left out.
fn check_is_no_task(source: &dyn Backend, label: &str) -> Result<()> {
    match source.task(label) {
        Ok(_) => {
            let shown = printable(label);
            Err(Failure::new(format!("`{shown}` is a task, and the label is missing"))
                .hint(format!("`milepost mark {} LABEL`", words::encode(label))))
        }
        Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Returns the task named after the current folder, or after the nearest one above it in the
/// project that has a task.
/// If there is none, starts one for the current folder.
fn default_task(source: &dyn Backend) -> Result<String> {
    let here = store_locator::here()?;
    let project = store_locator::project_here().unwrap_or_else(|| here.clone());
    let above = here.ancestors().take_while(|folder| folder.starts_with(&project));
    let above = above.filter_map(|folder| hints::name_of(folder).ok());
    for name in above {
        match source.task(&name) {
            Ok(task) => return Ok(task.id),
            Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => {}
            Err(failure) => return Err(failure),
        }
    }
    let name = hints::name_of(&here)?;
    source.start(&name, None, None)?;
    note(&hints::started(&name));
    Ok(name)
}
