//! Imports inputs one by one.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use milepost::calls::Cancel;
use milepost::{Engine, ErrorKind};
use milepost_api::{Big, FailedInput, ImportForm, ImportRequest, JobNote, Remedy, SkippedForm};
use milepost_formats::Durable;
use milepost_formats::checkpoint_folder::{self, FolderOptions, FolderPlan};
use milepost_formats::export_file::{self, ExportImport, ExportInput};
use milepost_formats::input::RunInput;
use milepost_formats::look::{Input, look};
use milepost_formats::record::{LineStore, RecordOptions, record, record_lines};

use super::failures::InputFailure;
use super::names::Names;
use super::report::Report;
use super::watch::Watch;
use super::{EVENT_MAX, format};
use crate::jobs::Told;
use crate::jobs::failure::{JobFailure, Result};

/// Receiver of the events that are durable, if they are acknowledged.
pub type Acknowledge<'a> = Option<&'a mut dyn FnMut(Durable) -> io::Result<()>>;

/// The needs of an import, of an engine that is opened for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// True if all inputs are exports, whose events no hook receives.
    pub only_exports: bool,
    /// The largest event, in bytes.
    pub event_max: usize,
}

/// The place that inputs are imported to.
pub enum Place<'a> {
    /// An engine, opened for the first input that can be read: without one, no store is created.
    Engine(&'a mut dyn FnMut(Needed) -> Result<Engine>),
    /// A store that only takes JSON Lines, one by one.
    Lines(&'a dyn LineStore),
}

/// An input, or the failure to find one at a path.
type Looked = std::result::Result<Input, (PathBuf, InputFailure)>;

/// The end of an import, or of one input.
enum Ended {
    /// The end of all inputs.
    All(JobFailure),
    /// The end of this input.
    Input(InputFailure),
}

impl<E: Into<InputFailure>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Input(error.into())
    }
}

/// Imports inputs one by one.
pub struct Importer<'a> {
    asked: &'a ImportRequest,
    names: &'a Names,
    told: Told<'a>,
    /// The flag that cancels the import.
    pub(super) cancel: Cancel,
    options: RecordOptions,
    /// Opened for the first input that can be read.
    engine: Option<Engine>,
    needed: Needed,
    /// Names of runs whose file names belong to other inputs, by path.
    stems: HashMap<PathBuf, String>,
    report: Report,
}

impl<'a> Importer<'a> {
    /// Creates an importer. `user` owns the tasks of runs and folders, unless another is named.
    ///
    /// # Errors
    ///
    /// `Invalid`: no run has the format.
    pub fn new(
        asked: &'a ImportRequest,
        user: &str,
        names: &'a Names,
        told: Told<'a>,
    ) -> Result<Self> {
        // A checkpoint or a value of a database becomes an event that is a little larger.
        let default = if asked.runs_only { EVENT_MAX } else { checkpoint_folder::EVENT_MAX };
        let event_max = asked.event_max.map(|Big(bytes)| usize::try_from(bytes));
        let event_max = event_max.map_or(default, |bytes| bytes.unwrap_or(usize::MAX));
        let owner = asked.user.as_deref().or(asked.default_user.as_deref()).unwrap_or(user);
        let options = RecordOptions {
            user: owner.to_owned(),
            task: asked.task.clone(),
            stem: None,
            format: format(asked.format.as_deref())?,
            strict: asked.strict,
            acknowledge: false,
            allow_unknown: asked.allow_unknown,
            event_max,
        };
        let needed = Needed { only_exports: false, event_max };
        let (stems, report) = (HashMap::new(), Report::default());
        let cancel = Cancel::NEVER;
        Ok(Self { asked, names, told, cancel, options, engine: None, needed, stems, report })
    }

    /// Imports the inputs in order. With several ones, the failure of one is noted, and the others
    /// are imported.
    ///
    /// # Errors
    ///
    /// Errors of opening the engine. `Invalid`: a name for one task, and several inputs.
    /// `Unavailable`: the import was cancelled; the result covers the inputs before, and names the
    /// interrupted one.
    pub fn run(
        mut self,
        place: &mut Place<'_>,
        mut acknowledge: Acknowledge<'_>,
    ) -> Result<ImportForm> {
        self.options.acknowledge = acknowledge.is_some();
        let inputs = self.look()?;
        let is_unread = |input: &&Looked| matches!(input, Ok(Input::Unread(..)));
        let readable = inputs.len() - inputs.iter().filter(is_unread).count();
        let several = readable > 1;
        self.report.form.inputs = Big(inputs.len() as u64);
        if self.asked.task.is_some() && several {
            let text = format!("`task` names one task, and there are {readable} inputs");
            return Err(JobFailure::new(ErrorKind::Invalid, text).remedy(Remedy::OneInput));
        }
        let is_export = |input: &Input| matches!(input, Input::Export(_));
        let mut runs = inputs.iter().filter(|input| !is_unread(input)).flatten();
        self.needed.only_exports = runs.all(is_export);
        if inputs.iter().flatten().any(is_export) {
            self.needed.event_max = self.needed.event_max.max(export_file::EVENT_MAX);
        }
        self.stems = self.names.stems(inputs.iter().flatten());
        for input in inputs {
            self.cancel.check().map_err(|error| self.report.given_up(error))?;
            let is_whole = matches!(input, Ok(Input::Export(_)));
            let (path, done) = match input {
                Ok(input) => (input.path().to_owned(), self.input(&input, place, &mut acknowledge)),
                Err((path, failure)) => (path, Err(Ended::Input(failure))),
            };
            match done {
                Ok(()) => {}
                Err(Ended::All(failure)) => return Err(failure),
                Err(Ended::Input(failure)) => {
                    // An input that was read to its end is imported, also if the job is given up.
                    if let Err(error) = self.cancel.check() {
                        let failed = failure.of(path.display().to_string(), false);
                        return Err(self.report.given_up_at(failed, is_whole, error));
                    }
                    self.fail(failure.of(path.display().to_string(), several));
                }
            }
            if self.asked.strict && !self.report.form.is_complete() {
                break;
            }
        }
        Ok(self.report.form)
    }

    fn fail(&mut self, failed: FailedInput) {
        if failed.is_noted {
            self.told.note(JobNote::Failed(failed.clone()));
        }
        self.report.form.failed.push(failed);
    }

    /// Returns the inputs at the paths.
    fn look(&self) -> Result<Vec<Looked>> {
        let mut inputs = Vec::new();
        for asked in &self.asked.paths {
            let path = &asked.path;
            if self.asked.runs_only {
                inputs.push(Ok(Input::Run(path.clone())));
                continue;
            }
            let shown = path.display().to_string();
            match look(
                path,
                self.options.format,
                &self.cancel,
                &mut Watch::new(&shown, self.told, None),
            ) {
                Ok(found) => inputs.extend(found.into_iter().map(Ok)),
                Err(error) => {
                    self.cancel.check()?;
                    inputs.push(Err((path.clone(), error.into())));
                }
            }
        }
        Ok(inputs)
    }

    fn input(
        &mut self,
        input: &Input,
        place: &mut Place<'_>,
        acknowledge: &mut Acknowledge<'_>,
    ) -> std::result::Result<(), Ended> {
        match input {
            Input::Run(path) => self.run_of(path, place, acknowledge),
            Input::Checkpoints(folder) => self.checkpoints(folder, place),
            Input::Export(path) => self.export(path, place),
            Input::Unread(path, why) => {
                let (path, reason) = (path.display().to_string(), why.clone());
                self.told.note(JobNote::Skipped { place: path.clone(), reason: reason.clone() });
                self.report.form.skipped.push(SkippedForm { path, reason });
                Ok(())
            }
        }
    }

    /// Returns the engine, and opens it if it is not open.
    fn engine(&mut self, place: &mut Place<'_>) -> std::result::Result<Engine, Ended> {
        if let Some(engine) = &self.engine {
            return Ok(engine.clone());
        }
        let open = match place {
            Place::Engine(open) => open,
            Place::Lines(_) => {
                let text = "only lines of events are recorded line by line".to_owned();
                return Err(InputFailure::of_request(text, Remedy::NameNoPipe).into());
            }
        };
        let engine = open(self.needed).map_err(Ended::All)?;
        self.engine = Some(engine.clone());
        Ok(engine)
    }

    /// Records a run of another program.
    fn run_of(
        &mut self,
        path: &Path,
        place: &mut Place<'_>,
        acknowledge: &mut Acknowledge<'_>,
    ) -> std::result::Result<(), Ended> {
        let input = RunInput::open(path)?;
        let name = input.name().to_owned();
        let options = RecordOptions { stem: self.stems.get(path).cloned(), ..self.options.clone() };
        let acknowledge = acknowledge.as_mut().map(|it| &mut **it as _);
        let mut watch = Watch::new(&name, self.told, acknowledge);
        let report = match place {
            Place::Lines(lines) => record_lines(*lines, input, &options, &mut watch)?,
            Place::Engine(_) => record(&self.engine(place)?, input, &options, &mut watch)?,
        };
        self.report.add_run(&name, report);
        Ok(())
    }

    /// Imports a folder of JSON checkpoint files.
    fn checkpoints(
        &mut self,
        folder: &Path,
        place: &mut Place<'_>,
    ) -> std::result::Result<(), Ended> {
        let files = checkpoint_folder::files(folder)?;
        if self.asked.task.is_some() {
            let text = "`task` is for an export, or for one run of another program".to_owned();
            return Err(InputFailure::of_request(text, Remedy::NoNameForFolder).into());
        }
        let (strict, name) = (self.asked.strict, folder.display().to_string());
        let plan = FolderPlan::read(&files, &self.cancel, &mut Watch::new(&name, self.told, None));
        self.cancel.check()?;
        // Without anything to import, no store is created.
        if plan.is_empty() || (strict && !plan.is_complete()) {
            return Ok(self.report.add_folder(&name, None, plan.into_report())?);
        }
        let options = FolderOptions { user: self.options.user.clone(), strict };
        let engine = self.engine(place)?;
        let mut watch = Watch::new(&name, self.told, None);
        let report = checkpoint_folder::import(&engine, plan, &options, &mut watch);
        drop(watch);
        Ok(self.report.add_folder(&name, Some(&engine), report)?)
    }

    /// Imports an export: all of it, or nothing.
    fn export(&mut self, path: &Path, place: &mut Place<'_>) -> std::result::Result<(), Ended> {
        if self.asked.user.is_some() {
            let text = "`user` is not for an export: it says whose its tasks are".to_owned();
            return Err(InputFailure::of_request(text, Remedy::NoUserForExport).into());
        }
        if let Place::Lines(_) = place {
            // Nothing of a pipe is read for nothing.
            self.engine(place)?;
        }
        let import = ExportImport::begin(ExportInput::open(path)?)?;
        let (name, tasks) = (import.name(), import.header().tasks.0);
        let task = self.asked.task.as_deref();
        if task.is_some() && tasks != 1 {
            let text = format!("`task` names one task, and {name} has {tasks}");
            return Err(InputFailure::of_request(text, Remedy::OneTask).into());
        }
        let engine = self.engine(place)?;
        let shown = path.display().to_string();
        let imported = import.run(&engine, task, &mut Watch::new(&shown, self.told, None))?;
        Ok(self.report.add_export(&shown, &imported)?)
    }
}
