//! The report of an import: imported tasks, and omissions.

use milepost::{Engine, Error};
use milepost_api::{Big, FailedInput, ImportForm, ImportedForm, JobResult, SkippedForm};
use milepost_formats::Result;
use milepost_formats::checkpoint_folder::{FolderReport, ImportedTask};
use milepost_formats::export_file::{ImportedExport, TaskOfExport};
use milepost_formats::record::RecordReport;

use super::failures::InputFailure;
use crate::jobs::failure::JobFailure;

/// The name of the format of checkpoint files.
const CHECKPOINTS: &str = "checkpoints";

/// The name of the format of exports.
const EXPORT: &str = "export";

/// The report of all inputs so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) form: ImportForm,
}

impl Report {
    /// Returns the failure of a cancelled import, with what was imported before.
    pub(crate) fn given_up(&self, error: Error) -> JobFailure {
        JobFailure::from(error).result(JobResult::Import(self.form.clone()))
    }

    /// Returns the failure of an import that is cancelled while it reads an input, of which a part
    /// may be recorded unless it is imported whole or not at all.
    pub(crate) fn given_up_at(
        &mut self,
        mut failed: FailedInput,
        is_whole: bool,
        error: Error,
    ) -> JobFailure {
        failed.message.push_str(match is_whole {
            true => ": nothing of it is imported",
            false => ": what was recorded of it before stays",
        });
        self.form.failed.push(failed);
        self.given_up(error)
    }

    /// Adds a recorded input.
    pub(crate) fn add_run(&mut self, input: &str, report: RecordReport) {
        let RecordReport { tasks, bad_lines, unknown_kinds, bad_checkpoints, failed } = report;
        self.form.bad_lines.0 += bad_lines;
        self.form.unknown_kinds.0 += unknown_kinds;
        self.form.bad_checkpoints.0 += bad_checkpoints;
        self.form.tasks.extend(tasks.into_iter().map(|task| ImportedForm {
            id: task.task,
            input: input.to_owned(),
            format: task.format.name().to_owned(),
            lineages: task.lineages,
            events: Big(task.events),
            checkpoints: Big(task.checkpoints),
            repeated: None,
            head: Big(task.head),
            user: None,
            hash: None,
        }));
        // It was noted when it failed.
        let failed = failed.map(|error| InputFailure::from(error).of(input.to_owned(), true));
        self.form.failed.extend(failed);
    }

    /// Adds a folder of checkpoint files. Without an engine nothing was imported.
    pub(crate) fn add_folder(
        &mut self,
        folder: &str,
        engine: Option<&Engine>,
        report: FolderReport,
    ) -> Result<()> {
        let FolderReport { tasks, skipped, failed } = report;
        let skipped = skipped.into_iter();
        let skipped = skipped.map(|file| SkippedForm { path: file.path, reason: file.reason });
        self.form.skipped.extend(skipped);
        for ImportedTask { task, events, checkpoints, repeated, head } in tasks {
            let lineages = match engine {
                Some(engine) => engine.task(&task)?.lineages()?.len() as u64,
                None => 0,
            };
            self.form.tasks.push(ImportedForm {
                id: task,
                input: folder.to_owned(),
                format: CHECKPOINTS.to_owned(),
                lineages,
                events: Big(events),
                checkpoints: Big(checkpoints),
                repeated: Some(Big(repeated)),
                head: Big(head),
                user: None,
                hash: None,
            });
        }
        failed.map_or(Ok(()), Err)
    }

    /// Adds the tasks of an export.
    pub(crate) fn add_export(
        &mut self,
        input: &str,
        imported: &ImportedExport,
    ) -> milepost::Result<()> {
        let ImportedExport { tasks, copies } = imported;
        self.form.copies |= *copies;
        for TaskOfExport { task, .. } in tasks {
            let head = task.head()?;
            self.form.tasks.push(ImportedForm {
                id: task.id().to_owned(),
                input: input.to_owned(),
                format: EXPORT.to_owned(),
                lineages: task.lineages()?.len() as u64,
                events: Big(task.info()?.events),
                checkpoints: Big(task.checkpoints()?),
                repeated: None,
                head: Big(head.next),
                user: Some(task.user().to_owned()),
                hash: Some(head.hash),
            });
        }
        Ok(())
    }
}
