//! `share`: writes a task as one HTML file.

use std::path::{Path, PathBuf};

use milepost_api::{SharePlanForm, ShareRequest};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use super::confirm::confirm;
use super::conversion::Bars;
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, count, note, size, words};
use crate::share_file::{shared, withheld_lines, write_file};

/// Write a task as one HTML file, without secrets. A browser shows and verifies it without
/// Milepost, and `import` reads it; see docs/SHARE.md.
#[derive(Debug, clap::Args)]
pub struct ShareArgs {
    /// The task.
    pub task: String,
    /// The HTML file to write, or `-` for standard output. Default: `TASK.html` in this folder,
    /// unless it exists.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Share all texts as they are, secrets included. Asks first.
    #[arg(long)]
    pub no_redact: bool,
    /// Withhold events with a text that matches this regular expression, too.
    #[arg(long, value_name = "REGEX")]
    pub withhold: Vec<String>,
    /// The largest file, in bytes: the longest texts are withheld first. Default: 32 MiB; at most
    /// 256 MiB.
    #[arg(long, value_name = "BYTES",
          value_parser = clap::value_parser!(u64).range(1..=ShareRequest::MAX))]
    pub max: Option<u64>,
    /// Print what the file would have, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

impl CliCommand for ShareArgs {
    const EXAMPLES: Examples = &[
        ("share run", "a file for a colleague's browser, without secrets: `run.html`"),
        ("share run --dry-run", "its size, and what is withheld"),
        ("share run -o run.html --withhold 'ACME-[0-9]+'", "without these numbers, either"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs { attached: true, ..Needs::READS }, run);
}

fn run(source: &dyn Backend, args: &ShareArgs, out: &mut Out) -> Result<()> {
    let task = source.task(&args.task)?.id;
    let asked = ShareRequest {
        redact: !args.no_redact,
        withhold: args.withhold.clone(),
        max: args.max.unwrap_or(ShareRequest::default().max),
    };
    if args.dry_run {
        let plan = shared(source, &task, &asked, &mut Bars::new(0, out), None)?;
        return tell(None, &plan, out);
    }
    let path = match &args.output {
        Some(path) => path.clone(),
        None => own_name(&task)?,
    };
    let path = path.as_path();
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

/// Returns the name of a file for a task, in the current folder.
fn own_name(task: &str) -> Result<PathBuf> {
    let name: String = task
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .collect();
    let path = PathBuf::from(format!("./{}.html", name.trim_start_matches('.')));
    match path.symlink_metadata() {
        Ok(_) => Err(Failure::new(format!("{} exists", path.display())).hint(format!(
            "`milepost share {} -o FILE` replaces it, or takes another name",
            words::encode(task)
        ))),
        Err(_) => Ok(path),
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
    withheld_lines(plan).iter().try_for_each(|line| out.line(line))?;
    Ok(())
}
