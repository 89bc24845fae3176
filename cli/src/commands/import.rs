//! `import`: restores exports, and turns folders of JSON checkpoint files and runs of other
//! programs into tasks.

use std::path::{Path, PathBuf};

use milepost::{Engine, Options};
use milepost_formats::checkpoint_folder::{self, FolderOptions, FolderPlan};
use milepost_formats::export_file::{self, ExportImport, ExportInput};
use milepost_formats::input::RunInput;
use milepost_formats::look::{Input, look};
use milepost_formats::record::{RecordOptions, record};

use super::conversion::Bars;
use super::import_report::ImportReport;
use crate::args::{Import, RunArgs};
use crate::backend::hints::current_user;
use crate::error::{Failure, Result};
use crate::output::{Out, count};
use crate::store_locator::{Attachment, StoreArgs, attach};

/// Minimum number of bytes for a progress bar.
const LONG: u64 = 8 << 20;

pub fn run(store: &StoreArgs, args: &Import, out: &mut Out) -> Result<()> {
    let format = args.runs.format.into_format();
    let mut inputs = Vec::new();
    for path in &args.from {
        match look(path, format, &mut Bars::new(LONG, out)) {
            Ok(found) => inputs.extend(found.into_iter().map(Ok)),
            Err(error) => inputs.push(Err((path.clone(), error.into()))),
        }
    }
    // A checkpoint or a value of a database becomes an event that is a little larger.
    let event_max = args.runs.event_max.unwrap_or(checkpoint_folder::EVENT_MAX);
    let job = ImportJob { store, args: &args.runs, ack: false, attaches: true, event_max };
    Importer::new(job).run(inputs, out)
}

/// An input, or the path that has none, and the reason.
pub type Looked = Result<Input, (PathBuf, Failure)>;

/// Settings of `record` and `import`.
pub struct ImportJob<'a> {
    pub store: &'a StoreArgs,
    pub args: &'a RunArgs,
    /// `true` prints an acknowledgement of each event, and no report.
    pub ack: bool,
    /// `true` if other processes can query the store in the meantime.
    pub attaches: bool,
    /// The largest event of a run, in bytes.
    pub event_max: usize,
}

/// Imports inputs one by one.
pub struct Importer<'a> {
    job: ImportJob<'a>,
    /// Opened for the first input that can be read: without one, no store is created.
    engine: Option<(Engine, Option<Attachment>)>,
    /// `true` if all inputs are exports.
    only_exports: bool,
    /// The largest event of the store, in bytes.
    event_max: usize,
    report: ImportReport,
}

impl<'a> Importer<'a> {
    pub fn new(job: ImportJob<'a>) -> Self {
        let event_max = job.event_max;
        Self { job, engine: None, only_exports: false, event_max, report: ImportReport::default() }
    }

    /// Imports the inputs in order. With several ones, the failure of one is printed, and the
    /// others are imported.
    pub fn run(mut self, inputs: Vec<Looked>, out: &mut Out) -> Result<()> {
        let several = inputs.len() > 1;
        if self.job.args.task.is_some() && several {
            let inputs = count(inputs.len() as u64, "input");
            return Err(Failure::new(format!("--as names one task, and there are {inputs}"))
                .hint("leave it out, or give one input"));
        }
        let is_export = |input: &Input| matches!(input, Input::Export(_));
        self.only_exports = inputs.iter().flatten().all(is_export);
        if inputs.iter().flatten().any(is_export) {
            self.event_max = self.event_max.max(export_file::EVENT_MAX);
        }
        for input in inputs {
            let (path, done) = match input {
                Ok(input) => (input.path().to_owned(), self.input(&input, out)),
                Err((path, failure)) => (path, Err(failure)),
            };
            if let Err(failure) = done {
                self.report.fail(&path, failure, several.then_some(out.error_style()));
            }
            if self.job.args.strict && !self.report.is_complete() {
                break;
            }
        }
        if let Some((engine, attached)) = self.engine {
            drop(attached);
            let closed = engine.close();
            if self.report.is_complete() {
                closed?;
            }
        }
        if !self.job.ack && (several || !self.report.is_empty()) {
            self.report.print(out)?;
        }
        self.report.end(self.job.args.strict)
    }

    fn input(&mut self, input: &Input, out: &mut Out) -> Result<()> {
        match input {
            Input::Run(path) => self.run_of(path, out),
            Input::Checkpoints(folder) => self.checkpoints(folder, out),
            Input::Export(path) => self.export(path, out),
        }
    }

    /// Returns the engine, and opens the store if it is not open.
    fn engine(&mut self) -> Result<Engine> {
        if let Some((engine, _)) = &self.engine {
            return Ok(engine.clone());
        }
        let store = self.job.store;
        let options = Options::default().event_max(self.event_max);
        // Hooks do not receive imported events.
        let engine = match self.only_exports {
            true => store.open_or_create(options)?,
            false => store.open_or_create_with_hooks(options)?,
        };
        let attached = self.job.attaches.then(|| attach(&engine)).flatten();
        self.engine = Some((engine.clone(), attached));
        Ok(engine)
    }

    fn user(&self) -> String {
        self.job.args.user.clone().unwrap_or_else(current_user)
    }

    /// Records a run of another program.
    fn run_of(&mut self, path: &Path, out: &mut Out) -> Result<()> {
        let input = RunInput::open(path)?;
        let name = input.name().to_owned();
        let ImportJob { args, ack, event_max, .. } = self.job;
        let options = RecordOptions {
            user: self.user(),
            task: args.task.clone(),
            format: args.format.into_format(),
            strict: args.strict,
            acknowledge: ack,
            allow_unknown: args.allow_unknown,
            event_max,
        };
        let engine = self.engine()?;
        let report = record(&engine, input, &options, &mut Bars::acknowledging(LONG, out))?;
        self.report.add_run(&name, report);
        Ok(())
    }

    /// Imports a folder of JSON checkpoint files.
    fn checkpoints(&mut self, folder: &Path, out: &Out) -> Result<()> {
        let files = checkpoint_folder::files(folder)?;
        if self.job.args.task.is_some() {
            return Err(Failure::new("--as is for an export, or for one run of another program")
                .hint("of a folder each execution becomes a task of its name"));
        }
        let strict = self.job.args.strict;
        let plan = FolderPlan::read(&files, &mut Bars::new(LONG, out));
        // Without anything to import, no store is created.
        if plan.is_empty() || (strict && !plan.is_complete()) {
            return self.report.add_folder(folder, None, plan.into_report());
        }
        let options = FolderOptions { user: self.user(), strict };
        let engine = self.engine()?;
        let report = checkpoint_folder::import(&engine, plan, &options, &mut Bars::new(LONG, out));
        self.report.add_folder(folder, Some(&engine), report)
    }

    /// Imports an export: all of it, or nothing.
    fn export(&mut self, path: &Path, out: &Out) -> Result<()> {
        let args = self.job.args;
        if args.user.is_some() {
            return Err(Failure::new("--user is not for an export: it says whose its tasks are")
                .hint("import it without --user"));
        }
        let import = ExportImport::begin(ExportInput::open(path)?)?;
        let (name, tasks) = (import.name(), import.header().tasks.0);
        if args.task.is_some() && tasks != 1 {
            return Err(Failure::new(format!("--as names one task, and {name} has {tasks}"))
                .hint("import it without --as, or export the task alone"));
        }
        let engine = self.engine()?;
        let imported = import.run(&engine, args.task.as_deref(), &mut Bars::new(LONG, out))?;
        self.report.add_export(path, &imported)
    }
}
