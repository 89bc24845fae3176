//! `share`: writes a task as one HTML file.

use std::io;
use std::path::Path;

use milepost_api::{ShareAsked, SharePlanForm};
use serde_json::json;

use super::confirm::confirm;
use super::conversion::Bars;
use crate::args::Share;
use crate::atomic_file::WholeFile;
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, count, note, size};

pub fn run(source: &dyn Backend, args: &Share, out: &mut Out) -> Result<()> {
    let task = source.task(&args.task)?.id;
    let asked = ShareAsked {
        redact: !args.no_redact,
        withhold: args.withhold.clone(),
        max: args.max.unwrap_or(ShareAsked::default().max),
    };
    let Some(path) = args.output.as_deref().filter(|_| !args.dry_run) else {
        let plan = source.share(&task, &asked, &mut Bars::new(0, out), None)?;
        return tell(None, &plan, out);
    };
    if args.no_redact {
        let note = format!("All texts of task `{task}` will be in the file, secrets included.");
        confirm(args.yes, &note, "Share it without redaction?")?;
    }
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let plan = source.share(
            &task,
            &asked,
            &mut Bars::new(0, out),
            Some(&mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            }),
        )?;
        out.bytes(&bytes)?;
        lines(&plan).iter().for_each(|line| note(line));
        return Ok(());
    }
    let plan = write_file(source, &task, &asked, path, out)?;
    tell(Some(path), &plan, out)
}

/// Writes the file, which appears when it is complete.
fn write_file(
    source: &dyn Backend,
    task: &str,
    asked: &ShareAsked,
    path: &Path,
    out: &Out,
) -> Result<SharePlanForm> {
    let failed = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display()))
            .hint("give a file in a folder that is there and may be written to")
    };
    let mut file = WholeFile::begin(path).map_err(failed)?;
    let written = source.share(
        task,
        asked,
        &mut Bars::new(0, out),
        Some(&mut |bytes| file.write(bytes).map_err(failed)),
    );
    match written {
        Ok(plan) => file.end().map_err(failed).map(|()| plan),
        Err(failure) => {
            file.take_back();
            Err(failure)
        }
    }
}

fn tell(path: Option<&Path>, plan: &SharePlanForm, out: &mut Out) -> Result<()> {
    if out.json {
        let file = path.map(|path| path.display().to_string());
        return Ok(out.json(&json!({"file": file, "plan": plan}))?);
    }
    let (bytes, events) = (size(plan.bytes.0), count(plan.events.0, "event"));
    out.line(match path {
        Some(path) => format!("shared as {}: {bytes}, {events}", path.display()),
        None => format!("the file would have {bytes}, {events}"),
    })?;
    lines(plan).iter().try_for_each(|line| out.line(line))?;
    Ok(())
}

/// Returns what is withheld, line by line.
fn lines(plan: &SharePlanForm) -> Vec<String> {
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
