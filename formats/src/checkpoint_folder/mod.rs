//! Folders of JSON checkpoint files of other programs.
//!
//! ```text
//! find          the checkpoint files of a folder
//! write         plans written to the store
//! export        checkpoints of the store as files
//! plan          the checkpoints of each task, in order
//! file          one checkpoint file: reading and checks
//! target_state  the state in a file, and the events that lead to it
//! ```
//!
//! A file becomes one batch of events, durable together, and a mark:
//!
//! ```text
//! execution_id           the task
//! step_index, step_name  StepStarted; the name is the mark's label if it is valid as one
//! variables, context     VariablesPatched, ContextChanged, if they differ from the state before
//! state                  ArtifactsEdited: the artifact `state`
//! status, error          StepFinished or StepFailed; the mark's status
//! id, metadata           the mark's alias and metadata
//! timestamp              the time of the events and the mark
//! everything else        Application `checkpoint_file`
//! ```

mod export;
mod file;
mod find;
mod plan;
mod target_state;
mod write;

use std::path::{Path, PathBuf};

use milepost::calls::Cancel;
use milepost::{Engine, Offset};

use crate::error::Error;
use crate::progress::{Note, Progress, Unit, Work};
pub use export::{ExportedFiles, FileSink, export};
pub(crate) use find::has_files;
pub use find::{files, is_checkpoint};
use plan::TaskPlan;

/// The largest event of an import, in bytes: a file's largest field, and the patch around it.
pub const EVENT_MAX: usize = file::FILE_MAX as usize + 4096;

/// Settings of an import.
#[derive(Debug, Clone)]
pub struct FolderOptions {
    /// The owner of the tasks.
    pub user: String,
    /// Stop after the first task with a file that cannot be imported.
    pub strict: bool,
}

/// A file that was not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// The path of the file.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// Result of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTask {
    /// The id of the task.
    pub task: String,
    /// The number of events that were appended.
    pub events: u64,
    /// The number of checkpoints that were imported.
    pub checkpoints: u64,
    /// The number of checkpoints that were imported before.
    pub repeated: u64,
    /// The offset after the last event of the task.
    pub head: Offset,
}

/// The checkpoint files of a folder, read and put in order.
#[derive(Debug)]
pub struct FolderPlan {
    tasks: Vec<TaskPlan>,
    /// The number of files.
    files: u64,
    /// The files that cannot be read.
    skipped: Vec<SkippedFile>,
}

/// Result of an import.
#[derive(Debug, Default)]
pub struct FolderReport {
    /// The imported tasks.
    pub tasks: Vec<ImportedTask>,
    /// The files that were not imported.
    pub skipped: Vec<SkippedFile>,
    /// The error that ended the import.
    pub failed: Option<Error>,
}

impl FolderPlan {
    /// Reads checkpoint files, as [`files`] returns them, until it is cancelled.
    pub fn read(paths: &[PathBuf], cancel: &Cancel, progress: &mut dyn Progress) -> Self {
        let count = paths.len() as u64;
        progress.begin(Work { name: "read", unit: Unit::Files, total: Some(count) });
        let mut files = Files::new(progress);
        let tasks = plan::plans(paths, cancel, &mut files);
        let skipped = files.end();
        Self { tasks, files: count, skipped }
    }

    /// Returns `true` if no file can be imported.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns `true` if each file can be imported.
    pub fn is_complete(&self) -> bool {
        self.tasks.iter().map(TaskPlan::count).sum::<u64>() == self.files
    }

    /// Returns the result without an import.
    pub fn into_report(self) -> FolderReport {
        FolderReport { skipped: self.skipped, ..FolderReport::default() }
    }
}

/// Imports the checkpoints of a plan. A checkpoint that was imported before is not imported again.
/// An error ends the import; the tasks before it stay imported.
pub fn import(
    engine: &Engine,
    plan: FolderPlan,
    options: &FolderOptions,
    progress: &mut dyn Progress,
) -> FolderReport {
    progress.begin(Work { name: "import", unit: Unit::Files, total: Some(plan.files) });
    let mut files = Files::new(progress);
    let mut report = FolderReport { skipped: plan.skipped, ..FolderReport::default() };
    for task in &plan.tasks {
        let before = files.skipped.len();
        match write::write(engine, &options.user, task, &mut files) {
            Ok(written) => {
                report.tasks.extend(written);
                if options.strict && files.skipped.len() > before {
                    break;
                }
            }
            Err(error) => {
                report.failed = Some(error);
                break;
            }
        }
    }
    report.skipped.extend(files.end());
    report
}

/// The files of a piece of work: the skipped ones, and the progress.
struct Files<'a> {
    progress: &'a mut dyn Progress,
    skipped: Vec<SkippedFile>,
}

impl<'a> Files<'a> {
    fn new(progress: &'a mut dyn Progress) -> Self {
        Self { progress, skipped: Vec::new() }
    }

    /// Skips a file.
    fn skip(&mut self, path: &Path, reason: &str) {
        let path = path.display().to_string();
        self.progress.note(Note::Skipped { place: &path, reason });
        self.skipped.push(SkippedFile { path, reason: reason.to_owned() });
    }

    /// Counts a file as done.
    fn done(&mut self) {
        self.progress.advance(1);
    }

    /// Ends the piece of work, and returns the skipped files.
    fn end(self) -> Vec<SkippedFile> {
        self.progress.end();
        self.skipped
    }
}
