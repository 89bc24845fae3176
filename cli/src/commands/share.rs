//! `share`: writes a task as one HTML file.

use std::path::Path;

use milepost_api::{ShareAsked, SharePlanForm};
use serde_json::json;

use super::confirm::confirm;
use super::conversion::Bars;
use crate::args::Share;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, count, note, size};
use crate::share_file::{shared, withheld_lines, write_file};

pub fn run(source: &dyn Backend, args: &Share, out: &mut Out) -> Result<()> {
    let task = source.task(&args.task)?.id;
    let asked = ShareAsked {
        redact: !args.no_redact,
        withhold: args.withhold.clone(),
        max: args.max.unwrap_or(ShareAsked::default().max),
    };
    let Some(path) = args.output.as_deref().filter(|_| !args.dry_run) else {
        let plan = shared(source, &task, &asked, &mut Bars::new(0, out), None)?;
        return tell(None, &plan, out);
    };
    if args.no_redact {
        let note = format!("All texts of task `{task}` will be in the file, secrets included.");
        confirm(args.yes, &note, "Share it without redaction?", out)?;
    }
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let plan = shared(
            source,
            &task,
            &asked,
            &mut Bars::new(0, out),
            Some(&mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            }),
        )?;
        out.bytes(&bytes)?;
        withheld_lines(&plan).iter().for_each(|line| note(line));
        return Ok(());
    }
    let plan = write_file(source, &task, &asked, path, &mut Bars::new(0, out))?;
    tell(Some(path), &plan, out)
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
    withheld_lines(plan).iter().try_for_each(|line| out.line(line))?;
    Ok(())
}
