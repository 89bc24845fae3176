//! `import`: restores exports, and turns folders of JSON checkpoint files and runs of other
//! programs into tasks.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

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
    /// Names of runs whose file names are those of other inputs, by path.
    stems: HashMap<PathBuf, String>,
    report: ImportReport,
}

impl<'a> Importer<'a> {
    pub fn new(job: ImportJob<'a>) -> Self {
        let event_max = job.event_max;
        let (stems, report) = (HashMap::new(), ImportReport::default());
        Self { job, engine: None, only_exports: false, event_max, stems, report }
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
        self.stems = distinct_stems(inputs.iter().flatten());
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
            stem: self.stems.get(path).cloned(),
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

/// Returns names for the runs whose files have the same name: with as much of the path in front as
/// tells them apart, so that two runs never become one task.
fn distinct_stems<'a>(inputs: impl Iterator<Item = &'a Input>) -> HashMap<PathBuf, String> {
    let runs: Vec<&Path> = inputs
        .filter_map(|input| match input {
            Input::Run(path) => Some(path.as_path()),
            _ => None,
        })
        .collect();
    let mut names = HashMap::new();
    let mut left: Vec<(&Path, usize)> = runs.iter().map(|path| (*path, 1)).collect();
    while !left.is_empty() {
        let mut by_name: HashMap<String, Vec<(&Path, usize)>> = HashMap::new();
        for (path, parts) in left.drain(..) {
            by_name.entry(name_of(path, parts)).or_default().push((path, parts));
        }
        for (name, same) in by_name {
            let is_alone = same.len() == 1 && !names.values().any(|known| *known == name);
            for (path, parts) in same {
                let is_whole = parts >= path.components().count();
                match is_alone || is_whole {
                    true => _ = names.insert(path.to_owned(), name.clone()),
                    false => left.push((path, parts + 1)),
                }
            }
        }
    }
    let is_plain = |path: &Path, name: &String| name_of(path, 1) == *name;
    names.retain(|path, name| !is_plain(path, name));
    names
}

/// Returns the last parts of a path without the extension, joined by `-`.
fn name_of(path: &Path, parts: usize) -> String {
    let stem = path.with_extension("");
    let all = stem.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        _ => None,
    });
    let all: Vec<String> = all.collect();
    all.get(all.len().saturating_sub(parts)..).unwrap_or_default().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_the_same_file_name_get_the_part_of_the_path_that_tells_them_apart() {
        let paths = ["r/x/events.jsonl", "r/y/events.jsonl", "s/y/events.jsonl", "r/one.jsonl"];
        let inputs = paths.map(|path| Input::Run(path.into()));
        let names = distinct_stems(inputs.iter());
        let name = |path: &str| names.get(Path::new(path)).map(String::as_str);
        assert_eq!(name("r/x/events.jsonl"), Some("x-events"));
        assert_eq!(name("r/y/events.jsonl"), Some("r-y-events"));
        assert_eq!(name("s/y/events.jsonl"), Some("s-y-events"));
        assert_eq!(name("r/one.jsonl"), None);
        // The same file twice is one name: it is recorded twice, as it was asked for.
        let same = [Input::Run("a.jsonl".into()), Input::Run("a.jsonl".into())];
        assert!(distinct_stems(same.iter()).is_empty());
    }
}
