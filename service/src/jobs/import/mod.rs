//! Imports of runs, folders of checkpoint files and exports.
//!
//! ```text
//! importer  the inputs one by one
//! report    imported tasks, and what was left out
//! failures  failed inputs, with the kinds of their errors
//! remedies  remedies of formats, by name
//! names     names of inputs, and of their tasks
//! watch     progress and notes of a conversion
//! ```

mod failures;
mod importer;
mod names;
mod remedies;
mod report;
mod watch;
use std::path::Path;

use milepost::{Engine, ErrorKind};
use milepost_api::{
    FailedInput, ImportForm, ImportRequest, JobNote, JobProgress, JobResult, Remedy,
};
use milepost_formats::Format;

use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::{Listener, Told};
pub use importer::{Acknowledge, Importer, Needed, Place};
pub use names::Names;
pub use remedies::of_input;

/// The default of the largest event of a recorded run, in bytes.
pub const EVENT_MAX: usize = 64 << 20;

/// Imports for a caller whose files this process can read.
pub(crate) fn run(
    engine: &Engine,
    asked: &ImportRequest,
    user: &str,
    told: Told<'_>,
) -> Result<ImportForm> {
    asked.paths.iter().try_for_each(|path| check(&path.path))?;
    let names = Names::new(&asked.paths);
    let named = Named { names: &names, told };
    let mut importer = Importer::new(asked, user, &names, &named)?;
    importer.cancel = engine.cancel().clone();
    let mut open = |_: Needed| Ok(engine.clone());
    let end = |mut form: ImportForm| {
        form.failed.iter_mut().for_each(|failed| end_limit(failed, engine.store().event_max()));
        names.rename(form)
    };
    match importer.run(&mut Place::Engine(&mut open), None) {
        Ok(form) => Ok(end(form)),
        Err(JobFailure { error, remedy, result }) => {
            let result = result.map(|result| match *result {
                JobResult::Import(form) => Box::new(JobResult::Import(end(form))),
                other => Box::new(other),
            });
            Err(JobFailure { error, remedy, result })
        }
    }
}

/// Refuses a path that depends on the process, and one that may never end.
fn check(path: &Path) -> Result<()> {
    let shown = path.display();
    if !path.is_absolute() {
        let text = format!("`path` is an absolute path, not {shown}");
        return Err(JobFailure::new(ErrorKind::Invalid, text));
    }
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let text = format!("{shown} is no file and no folder: only its reader can record it");
            Err(JobFailure::new(ErrorKind::Invalid, text).remedy(Remedy::NameNoPipe))
        }
        // The import reports a missing path with the others.
        _ => Ok(()),
    }
}

/// Replaces the advice to raise a limit that is the engine's.
fn end_limit(failed: &mut FailedInput, event_max: usize) {
    let raised = match failed.remedy.as_ref().and_then(of_input) {
        Some(milepost_formats::Remedy::RaiseEventMax(bytes)) => bytes,
        _ => return,
    };
    if raised > event_max {
        failed.remedy = Some(Remedy::EndLimit);
    }
}

/// A listener that receives the caller's names.
struct Named<'a> {
    names: &'a Names,
    told: Told<'a>,
}

impl Listener for Named<'_> {
    fn progress(&self, progress: JobProgress) {
        let step = self.names.shown(&progress.step);
        self.told.progress(JobProgress { step, ..progress });
    }

    fn note(&self, note: JobNote) {
        self.told.note(self.names.in_note(note));
    }
}

/// Returns the format of a name, unless none is named.
fn format(name: Option<&str>) -> Result<Option<Format>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let format = serde_json::from_value(serde_json::Value::from(name));
    format.map(Some).map_err(|_| {
        let text = format!("no run has the format `{name}`");
        JobFailure::new(ErrorKind::Invalid, text)
    })
}
