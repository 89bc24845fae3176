//! `compact`: removal of erased, trimmed, dropped and deleted content from the disk.

use milepost_api::{CompactRequest, CompactedForm, DiskForm, JobRequest, JobResult, Remedy};
use serde_json::{Value, json};

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::backend::jobs::{self, JobFailed, Wording};
use crate::error::{Failure, Result};
use crate::output::{JobBar, Out, printable, size};

/// Remove erased, trimmed, dropped and deleted content from the disk.
#[derive(Debug, clap::Args)]
pub struct CompactArgs {
    /// Change nothing: print the size of the store and the free space that compaction needs.
    #[arg(long)]
    pub dry_run: bool,
    /// Begin even if the free space seems too small.
    #[arg(long)]
    pub force: bool,
}

impl CliCommand for CompactArgs {
    const EXAMPLES: Examples = &[("compact", "remove dropped content from the disk")];
    const RUN: Run<Self> = Run::OnStore(Needs { attached: true, ..Needs::NONE }, run);
}

fn run(source: &dyn Backend, args: &CompactArgs, out: &mut Out) -> Result<()> {
    let plan = compact(source, CompactRequest { dry_run: true, force: args.force }, out)?;
    if !out.json {
        out.line(room(&plan))?;
        // The following work may be long.
        out.flush()?;
    }
    let done = match args.dry_run {
        true => None,
        false => Some(compact(source, CompactRequest { dry_run: false, force: args.force }, out)?),
    };
    if out.json {
        return print_json(&plan, done.as_ref(), out);
    }
    let Some((done, after)) = done.as_ref().and_then(|done| Some((done, done.after.as_ref()?)))
    else {
        return Ok(out.line("nothing was changed")?);
    };
    for ((name, before), (_, after)) in parts(&plan.before).into_iter().zip(parts(after)) {
        out.line(format!("{name:12} {} -> {}", size(before), size(after)))?;
    }
    out.line(freed(plan.before.total.0, after.total.0))?;
    if let Some(why) = &done.packs_left {
        out.line(format!("packs were left as they are: {}", printable(why)))?;
    }
    for name in done.untouched.iter().flatten() {
        out.line(format!(
            "{} was not looked into: remove it where it may hold what is gone",
            printable(name)
        ))?;
    }
    Ok(())
}

/// Returns the sentence about the room that a compaction made, which may be none.
fn freed(before: u64, after: u64) -> String {
    match before.checked_sub(after) {
        Some(0) => "no room was freed".to_owned(),
        Some(freed) => format!("{} were freed", size(freed)),
        None => format!("no room was freed: the store takes {} more", size(after - before)),
    }
}

fn compact(source: &dyn Backend, asked: CompactRequest, out: &Out) -> Result<CompactedForm> {
    match source.job(&JobRequest::Compact(asked), JobBar::new(!out.json)) {
        Ok(JobResult::Compact(form)) => Ok(form),
        Ok(_) => Err(jobs::no_such_result()),
        Err(failed) => Err(worded(failed)),
    }
}

/// Words a failure. One for too little free space is told before anything is done.
fn worded(failed: JobFailed) -> Failure {
    let JobFailed { failure, remedy, is_refused, result } = failed;
    match (remedy, result.as_deref()) {
        (Some(Remedy::MakeRoom), Some(JobResult::Compact(form))) => Failure::new(format!(
            "too little room: compacting needs at most {} of free space, and {} are free",
            size(form.needs.0),
            size(form.free.map_or(0, |free| free.0))
        ))
        .hint("make room, or begin anyway with --force: where the disk is full nothing changes"),
        (Some(Remedy::MakeRoom), _) => {
            failure.hint("make room and ask again: nothing of the store has changed")
        }
        (remedy, _) => {
            JobFailed { failure, remedy, is_refused, result: None }.worded(&Wording::default())
        }
    }
}

fn room(plan: &CompactedForm) -> String {
    let free = match plan.free {
        Some(free) => format!(", and {} are free", size(free.0)),
        None => String::new(),
    };
    format!(
        "the store takes {}; compacting needs at most {} of free space{free}",
        size(plan.before.total.0),
        size(plan.needs.0)
    )
}

fn print_json(plan: &CompactedForm, done: Option<&CompactedForm>, out: &mut Out) -> Result<()> {
    let after = done.and_then(|done| done.after.as_ref());
    Ok(out.json(&json!({
        "dry_run": done.is_none(),
        "needs": plan.needs,
        "free": plan.free,
        "before": form(&plan.before),
        "after": after.map(form),
        "packs_left": done.and_then(|done| done.packs_left.as_ref()),
        "untouched": done.and_then(|done| done.untouched.as_ref()),
    }))?)
}

fn parts(disk: &DiskForm) -> [(&'static str, u64); 5] {
    [
        ("archive", disk.archive.0),
        ("sled", disk.sled.0),
        ("packs", disk.packs.0),
        ("journal", disk.journal.0),
        ("total", disk.total.0),
    ]
}

fn form(disk: &DiskForm) -> Value {
    json!({
        "archive": disk.archive,
        "sled": disk.sled,
        "packs": disk.packs,
        "journal": disk.journal,
        "total": disk.total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_that_was_freed_is_that_of_the_files_before_and_after() {
        assert_eq!(freed(3 << 20, 1 << 20), "2.0 MiB were freed");
        assert_eq!(freed(5, 5), "no room was freed");
        assert_eq!(freed(1 << 20, 3 << 20), "no room was freed: the store takes 2.0 MiB more");
    }
}
