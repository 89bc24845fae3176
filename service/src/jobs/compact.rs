//! Compactions.

use std::path::{Path, PathBuf};

use milepost::calls::Cancel;
use milepost::retention::CompactionStep;
use milepost::{Engine, ErrorKind};
use milepost_api::{Big, CompactRequest, CompactedForm, JobProgress, JobResult, Remedy};

use crate::forms;
use crate::jobs::Told;
use crate::jobs::failure::{JobFailure, Result};

/// Removes withdrawn content from the disk.
pub(crate) fn run(engine: &Engine, asked: CompactRequest, told: Told<'_>) -> Result<CompactedForm> {
    let plan = engine.retention().plan_compaction()?;
    let free = engine.store().chunks().folder().and_then(free_bytes);
    let mut form = CompactedForm {
        dry_run: asked.dry_run,
        needs: Big(plan.needs),
        free: free.map(Big),
        before: forms::disk(plan.disk),
        after: None,
        packs_left: None,
        untouched: None,
    };
    if asked.dry_run {
        return Ok(form);
    }
    if let Err(failure) = check(plan.needs, free, asked.force) {
        return Err(failure.result(JobResult::Compact(form)));
    }
    let done = engine.retention().compact(&mut |step| {
        if let Some(progress) = progress(step) {
            told.progress(progress);
        }
    });
    let done = done.map_err(|error| match error.kind() {
        ErrorKind::Unavailable if !Cancel::is_cause_of(&error) => {
            JobFailure::from(error).remedy(Remedy::MakeRoom)
        }
        _ => error.into(),
    })?;
    form.after = Some(forms::disk(done.after));
    form.packs_left = done.packs_left;
    let names = |paths: Vec<PathBuf>| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    form.untouched = Some(names(done.untouched));
    Ok(form)
}

fn progress(step: CompactionStep) -> Option<JobProgress> {
    let (step, done, total) = match step {
        CompactionStep::Archive(done, total) => ("archive", done, total),
        CompactionStep::Sled(done, total) => ("sled", done, total),
        CompactionStep::Packs(done, total) => ("packs", done, total),
        _ => return None,
    };
    let (done, total) = (Big(done), Some(Big(total)));
    Some(JobProgress { step: step.to_owned(), done, total, bytes: None })
}

/// Refuses to compact with too little free space. The engine would stop too, but late.
fn check(needs: u64, free: Option<u64>, force: bool) -> Result<()> {
    match free {
        Some(free) if free < needs && !force => {
            let text = format!(
                "too little room: compacting needs at most {needs} bytes of free space, and \
                 {free} are free"
            );
            Err(JobFailure::new(ErrorKind::Unavailable, text).remedy(Remedy::MakeRoom))
        }
        _ => Ok(()),
    }
}

/// Returns the free bytes for this user on the file system of a folder.
fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_refused_unless_it_is_forced() {
        let refused = check(2 << 20, Some(1 << 20), false).expect_err("refused");
        assert_eq!(refused.remedy, Some(Remedy::MakeRoom));
        assert!(check(2 << 20, Some(1 << 20), true).is_ok());
        assert!(check(2 << 20, Some(2 << 20), false).is_ok());
        assert!(check(2 << 20, None, false).is_ok(), "it is not known");
    }

    #[test]
    fn the_room_of_a_folder_is_known() {
        assert!(free_bytes(Path::new("/")).is_some());
        assert_eq!(free_bytes(Path::new("/is/not/there")), None);
    }
}
