//! `compact`: removal of erased, trimmed, dropped and deleted content from the disk.

use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use milepost::metrics::DiskBytes;
use milepost::retention::{CompactionPlan, CompactionReport, CompactionStep};
use milepost::{Engine, ErrorKind};
use serde_json::{Value, json};

use crate::args::Compact;
use crate::error::{Failure, Result};
use crate::output::{Out, bar, big, printable, size};
use crate::store_locator::StoreArgs;

pub fn run(store: &StoreArgs, engine: &Engine, args: &Compact, out: &mut Out) -> Result<()> {
    let plan = engine.retention().plan_compaction()?;
    let free = free_bytes(&store.folder()?);
    if !out.json {
        out.line(room(&plan, free))?;
        // The following work may be long.
        out.flush()?;
    }
    let done = match args.dry_run {
        true => None,
        false => {
            check(plan.needs, free, args.force)?;
            Some(compact(engine)?)
        }
    };
    if out.json {
        return Ok(out.json(&json!({
            "dry_run": args.dry_run,
            "needs": big(plan.needs),
            "free": free.map(big),
            "before": form(&plan.disk),
            "after": done.as_ref().map(|done| form(&done.after)),
            "packs_left": done.as_ref().and_then(|done| done.packs_left.as_ref()),
            "untouched": done.as_ref().map(|done| names(&done.untouched)),
        }))?);
    }
    let Some(done) = done else {
        return Ok(out.line("nothing was changed")?);
    };
    for ((name, before), (_, after)) in parts(&plan.disk).into_iter().zip(parts(&done.after)) {
        out.line(format!("{name:12} {} -> {}", size(before), size(after)))?;
    }
    if let Some(why) = &done.packs_left {
        out.line(format!("packs were left as they are: {why}"))?;
    }
    for name in names(&done.untouched) {
        out.line(format!(
            "{} was not looked into: remove it where it may hold what is gone",
            printable(&name)
        ))?;
    }
    Ok(())
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect()
}

fn compact(engine: &Engine) -> Result<CompactionReport> {
    let mut shown = Bars::default();
    let done = engine.retention().compact(&mut |step| shown.step(step));
    shown.clear();
    done.map_err(|error| {
        let full = error.kind() == ErrorKind::Unavailable;
        let failure = Failure::from(error);
        match full {
            true => failure.hint("make room and ask again: nothing of the store has changed"),
            false => failure,
        }
    })
}

/// Bars of the steps, one after another.
#[derive(Default)]
struct Bars(Option<(&'static str, ProgressBar)>);

impl Bars {
    fn step(&mut self, step: CompactionStep) {
        let (name, done, all) = match step {
            CompactionStep::Archive(done, all) => ("archive", done, all),
            CompactionStep::Sled(done, all) => ("sled", done, all),
            CompactionStep::Packs(done, all) => ("packs", done, all),
            _ => return,
        };
        if self.0.as_ref().is_none_or(|(shown, _)| *shown != name) {
            self.clear();
        }
        let (_, bar) = (self.0).get_or_insert_with(|| (name, bar(all, name, true, false)));
        bar.set_position(done);
    }

    fn clear(&mut self) {
        if let Some((_, bar)) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

fn room(plan: &CompactionPlan, free: Option<u64>) -> String {
    let free = match free {
        Some(free) => format!(", and {} are free", size(free)),
        None => String::new(),
    };
    format!(
        "the store takes {}; compacting needs at most {} of free space{free}",
        size(plan.disk.total),
        size(plan.needs)
    )
}

/// Refuses to compact with too little free space. The engine would stop too, but late.
fn check(needs: u64, free: Option<u64>, force: bool) -> Result<()> {
    match free {
        Some(free) if free < needs && !force => Err(Failure::new(format!(
            "too little room: compacting needs at most {} of free space, and {} are free",
            size(needs),
            size(free)
        ))
        .hint("make room, or begin anyway with --force: where the disk is full nothing changes")),
        _ => Ok(()),
    }
}

/// Returns the free bytes for this user on the file system of the store.
#[cfg(unix)]
fn free_bytes(dir: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(dir).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_dir: &Path) -> Option<u64> {
    None
}

fn parts(disk: &DiskBytes) -> [(&'static str, u64); 5] {
    [
        ("archive", disk.archive),
        ("sled", disk.sled),
        ("packs", disk.packs),
        ("journal", disk.journal),
        ("total", disk.total),
    ]
}

fn form(disk: &DiskBytes) -> Value {
    let parts = parts(disk).map(|(name, bytes)| (name.to_owned(), big(bytes)));
    Value::Object(parts.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_refused_unless_it_is_forced() {
        let refused = check(2 << 20, Some(1 << 20), false).expect_err("refused");
        let said = refused.to_string();
        assert!(said.contains("2.0 MiB") && said.contains("1.0 MiB"), "{said}");
        assert!(check(2 << 20, Some(1 << 20), true).is_ok());
        assert!(check(2 << 20, Some(2 << 20), false).is_ok());
        assert!(check(2 << 20, None, false).is_ok(), "it is not known");
    }

    #[cfg(unix)]
    #[test]
    fn the_room_of_a_folder_is_known() {
        assert!(free_bytes(Path::new("/")).is_some());
        assert_eq!(free_bytes(Path::new("/is/not/there")), None);
    }
}
