//! The report of `record` and `import`: imported tasks, and what was left out.

use std::path::Path;

use milepost::{Engine, Hash, Offset};
use milepost_formats::Format;
use milepost_formats::checkpoint_folder::{FolderReport, ImportedTask, SkippedFile};
use milepost_formats::export_file::ImportedExport;
use milepost_formats::record::RecordReport;
use serde_json::{Value, json};

use crate::error::{Failure, Result, UNMET};
use crate::output::{ErrorStyle, Out, big, count, printable};

/// A task that was imported.
struct ReportedTask {
    id: String,
    /// Name of the input.
    input: String,
    format: &'static str,
    lineages: u64,
    events: u64,
    checkpoints: u64,
    /// Checkpoints of a folder that were imported before.
    repeated: Option<u64>,
    head: Offset,
    /// The owner and the hash of a task from an export.
    origin: Option<(String, Hash)>,
}

/// Result of all inputs.
#[derive(Default)]
pub struct ImportReport {
    tasks: Vec<ReportedTask>,
    bad_lines: u64,
    /// Those of the lines that have an unknown kind.
    unknown_kinds: u64,
    /// Checkpoints of a database that could not be recorded, and their writes.
    bad_checkpoints: u64,
    /// Checkpoint files that were not imported.
    skipped: Vec<SkippedFile>,
    /// `true` if a task of an export was imported as a copy.
    copies: bool,
    /// The inputs that failed, or tasks of one, and the reasons.
    failed: Vec<(String, String)>,
    /// The first failure.
    worst: Option<Failure>,
}

impl ImportReport {
    /// Returns `true` if all of each input was imported.
    pub fn is_complete(&self) -> bool {
        self.bad_lines == 0
            && self.bad_checkpoints == 0
            && self.skipped.is_empty()
            && self.worst.is_none()
    }

    /// Returns `true` if no task was imported, and not for a reason that it counts.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.worst.is_some()
    }

    /// Adds the failure of an input. It is printed if there are other inputs; `printed` then says
    /// if in colours.
    pub fn fail(&mut self, path: &Path, failure: Failure, printed: Option<ErrorStyle>) {
        self.failed.push((path.display().to_string(), failure.to_string()));
        let failure = match printed {
            Some(style) => {
                failure.print(style);
                Failure::reported(failure.code())
            }
            None => failure,
        };
        self.worst.get_or_insert(failure);
    }

    /// Adds a recorded input.
    pub fn add_run(&mut self, input: &str, report: RecordReport) {
        let RecordReport { tasks, bad_lines, unknown_kinds, bad_checkpoints, failed } = report;
        self.bad_lines += bad_lines;
        self.unknown_kinds += unknown_kinds;
        self.bad_checkpoints += bad_checkpoints;
        self.tasks.extend(tasks.into_iter().map(|task| ReportedTask {
            id: task.task,
            input: input.to_owned(),
            format: task.format.name(),
            lineages: task.lineages,
            events: task.events,
            checkpoints: task.checkpoints,
            repeated: None,
            head: task.head,
            origin: None,
        }));
        if let Some(error) = failed {
            // It is printed already.
            self.failed.push((input.to_owned(), error.to_string()));
            let said = Failure::reported(Failure::from(error).code());
            self.worst.get_or_insert(said);
        }
    }

    /// Adds a folder of checkpoint files. Without an engine nothing was imported.
    pub fn add_folder(
        &mut self,
        folder: &Path,
        engine: Option<&Engine>,
        report: FolderReport,
    ) -> Result<()> {
        let FolderReport { tasks, skipped, failed } = report;
        self.skipped.extend(skipped);
        for ImportedTask { task, events, checkpoints, repeated, head } in tasks {
            let lineages = match engine {
                Some(engine) => engine.task(&task)?.lineages()?.len() as u64,
                None => 0,
            };
            self.tasks.push(ReportedTask {
                id: task,
                input: folder.display().to_string(),
                format: "checkpoints",
                lineages,
                events,
                checkpoints,
                repeated: Some(repeated),
                head,
                origin: None,
            });
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Adds the tasks of an export.
    pub fn add_export(&mut self, path: &Path, imported: &ImportedExport) -> Result<()> {
        let ImportedExport { tasks, copies } = imported;
        self.copies |= *copies;
        for task in tasks {
            let head = task.head()?;
            self.tasks.push(ReportedTask {
                id: task.id().to_owned(),
                input: path.display().to_string(),
                format: "export",
                lineages: task.lineages()?.len() as u64,
                events: task.info()?.events,
                checkpoints: task.checkpoints()?,
                repeated: None,
                head: head.next,
                origin: Some((task.user().to_owned(), head.hash)),
            });
        }
        Ok(())
    }

    pub fn print(&self, out: &mut Out) -> Result<()> {
        if out.json {
            return Ok(out.json(&self.form())?);
        }
        if self.tasks.is_empty() {
            return Ok(());
        }
        let repeats = self.tasks.iter().any(|task| task.repeated.is_some());
        let mut columns = vec!["TASK", "FORMAT", "LINEAGES", "EVENTS", "CHECKPOINTS"];
        columns.extend(repeats.then_some("REPEATED"));
        columns.push("HEAD");
        let row = |task: &ReportedTask| {
            let mut row = vec![
                printable(&task.id).into_owned(),
                task.format.to_owned(),
                task.lineages.to_string(),
                task.events.to_string(),
                task.checkpoints.to_string(),
            ];
            let repeated = task.repeated.map_or(String::new(), |count| count.to_string());
            row.extend(repeats.then_some(repeated));
            row.push(format!("@{}", task.head));
            row
        };
        let rows: Vec<Vec<String>> = self.tasks.iter().map(row).collect();
        out.table(&columns, &rows)?;
        if self.copies {
            out.line(
                "with hashes of their own: `milepost show TASK@0` says where each comes from",
            )?;
        }
        Ok(())
    }

    fn form(&self) -> Value {
        let tasks: Vec<Value> = self.tasks.iter().map(ReportedTask::form).collect();
        let skipped: Vec<Value> = (self.skipped.iter())
            .map(|file| json!({"path": file.path, "reason": file.reason}))
            .collect();
        let failed: Vec<Value> = (self.failed.iter())
            .map(|(input, message)| json!({"input": input, "message": message}))
            .collect();
        json!({
            "tasks": tasks,
            "bad_lines": big(self.bad_lines),
            "bad_checkpoints": big(self.bad_checkpoints),
            "skipped": skipped,
            "failed": failed,
            "copies": self.copies,
        })
    }

    /// Returns the failure of the command, if there is one.
    pub fn end(self, strict: bool) -> Result<()> {
        if self.is_complete() {
            return Ok(());
        }
        match self.worst {
            Some(failure) => Err(failure),
            None => Err(self.left_out(strict)),
        }
    }

    fn left_out(&self, strict: bool) -> Failure {
        let (lines, checkpoints) = (self.bad_lines, self.bad_checkpoints);
        let files = self.skipped.len() as u64;
        let parts = [(lines, "line"), (checkpoints, "checkpoint"), (files, "file")];
        let parts = parts.into_iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts.map(|(number, what)| count(number, what)).collect();
        let done = if lines == 0 && checkpoints == 0 { "imported" } else { "recorded" };
        let what = parts.join(" and ");
        let failure = Failure::new(format!("{what} could not be {done}")).code_of(UNMET);
        let of_session = |task: &ReportedTask| task.format == Format::ClaudeCode.name();
        failure.hint(if lines == 0 && checkpoints == 0 {
            "mend them and import the folder again: what is in already stays as it is"
        } else if strict {
            "the lines before it are recorded; without --strict the rest is recorded too"
        } else if lines == 0 {
            "the others are recorded; what went on from these went on from those before them"
        } else if self.tasks.iter().any(of_session) {
            "the other lines are recorded; with these corrected it is another session: import it \
             under another name"
        } else if self.unknown_kinds > 0 {
            "the other lines are recorded; correct these and record them alone, or with \
             --allow-unknown, as `application` events"
        } else {
            "the other lines are recorded; correct these and record them alone"
        })
    }
}

impl ReportedTask {
    fn form(&self) -> Value {
        let mut form = json!({
            "id": self.id,
            "input": self.input,
            "format": self.format,
            "lineages": self.lineages,
            "events": big(self.events),
            "checkpoints": big(self.checkpoints),
            "head": big(self.head),
        });
        if let Some(fields) = form.as_object_mut() {
            if let Some(repeated) = self.repeated {
                fields.insert("repeated".to_owned(), big(repeated));
            }
            if let Some((user, hash)) = &self.origin {
                fields.insert("user".to_owned(), json!(user));
                fields.insert("hash".to_owned(), json!(hash));
            }
        }
        form
    }
}
