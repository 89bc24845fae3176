//! Jobs: work in folders and on the disk, by this process or by the program that has the store
//! open. Failures are worded with the options of the commands.

use std::path::{Path, PathBuf};

use milepost::{Detail, ErrorKind};
use milepost_api::{JobNote, JobProgress, JobResult, Remedy};
use milepost_service::jobs::{JobFailure, Listener, place};
use parking_lot::Mutex;

use crate::error::{Failure, USAGE};
use crate::output::{JobBar, printable, shell_word, words};

/// Hint with the choices for a conflicting path.
pub const CHOOSE: &str = "`--theirs PATH` takes what was captured, `--keep-mine PATH` leaves what \
    is there; PATH may be a folder, for all below it";

/// The failure of a job, before its hint.
pub struct JobFailed {
    pub failure: Failure,
    pub remedy: Option<Remedy>,
    /// `true` if a hook refused it.
    pub is_refused: bool,
    /// The part of the result that explains the failure, such as a plan with conflicts.
    pub result: Option<Box<JobResult>>,
}

/// Parts of hints that depend on the command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wording<'a> {
    /// The address of the point to restore, as the user wrote it.
    pub address: Option<&'a str>,
    /// The folder, if the user named it.
    pub files: Option<&'a Path>,
    /// `true` if the folder is an argument of its own, and not of an option.
    pub is_argument: bool,
}

/// Converts the failure of a job of this process.
pub fn failed(failed: JobFailure) -> JobFailed {
    let JobFailure { error, remedy, result } = failed;
    let is_refused = matches!(error.detail(), Some(Detail::Refused { .. }));
    JobFailed { failure: error.into(), remedy, is_refused, result }
}

impl From<Failure> for JobFailed {
    fn from(failure: Failure) -> Self {
        Self { failure, remedy: None, is_refused: false, result: None }
    }
}

/// A bar that listens to a job of this process.
pub struct Listening(Mutex<JobBar>);

impl Listening {
    pub fn new(bar: JobBar) -> Self {
        Self(Mutex::new(bar))
    }
}

impl Listener for Listening {
    fn progress(&self, progress: JobProgress) {
        self.0.lock().set(&progress);
    }

    fn note(&self, note: JobNote) {
        self.0.lock().note(&note);
    }
}

impl JobFailed {
    /// Sets the remedy.
    #[must_use]
    pub fn remedied(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }

    /// Returns the failure, with the hint of its remedy.
    pub fn worded(self, wording: &Wording<'_>) -> Failure {
        let Self { failure, remedy, .. } = self;
        let Some(remedy) = remedy else {
            return failure;
        };
        let is_conflict = failure.kind() == Some(ErrorKind::Conflict);
        match (&remedy, hint(&remedy, is_conflict, wording)) {
            (Remedy::UndoState { .. }, Some(hint)) => failure.code_of(USAGE).hint(hint),
            // The address as the user wrote it.
            (Remedy::Capture { .. }, Some(hint)) => match wording.address.map(printable) {
                Some(address) => Failure::new(format!("no folder was captured before {address}"))
                    .of_kind(ErrorKind::NotFound)
                    .hint(hint),
                None => failure.hint(hint),
            },
            (_, Some(hint)) => failure.hint(hint),
            (_, None) => failure,
        }
    }
}

/// Returns the hint of a remedy.
fn hint(remedy: &Remedy, is_conflict: bool, wording: &Wording<'_>) -> Option<String> {
    let name = |task: &String| words::encode(task);
    Some(match remedy {
        Remedy::Choose => CHOOSE.to_owned(),
        Remedy::NameFolder { folder: None } => "name it with --files DIR".to_owned(),
        Remedy::NameFolder { folder: Some(folder) } => format!(
            "`--files {}` names it on the command line, if you want it changed; `milepost trust \
             --show` says what trust means",
            shell_word(&place(folder).display().to_string())
        ),
        Remedy::NameMoved => "`--files DIR --moved` names it where it was moved to".to_owned(),
        Remedy::Capture { task } => match wording.address.map(shell_word) {
            Some(address) => {
                format!("`milepost restore {address}` goes back to it and leaves the files")
            }
            None => format!("`milepost capture DIR --task {}` captures one", name(task)),
        },
        Remedy::Anyway | Remedy::NameExisting | Remedy::NameProject | Remedy::Allow => {
            folder_hint(remedy, wording.is_argument).to_owned()
        }
        Remedy::Recover { task } if is_conflict => decide(&name(task), wording.files),
        Remedy::Recover { task } => {
            let name = name(task);
            format!("`milepost recover {name}` undoes the interrupted restore; then run this again")
        }
        Remedy::NameBegun { task, folder: None } => no_way_back(&name(task)),
        Remedy::NameBegun { task, .. } => {
            let name = name(task);
            format!(
                "`milepost recover {name} --files DIR` names the folder it was begun in; `milepost \
                 recover {name} --give-up` ends it and leaves the folder as it is"
            )
        }
        Remedy::UndoState { task } => format!("`milepost undo {}` takes it back", name(task)),
        Remedy::LookAgain { task } if is_conflict => {
            let name = name(task);
            format!(
                "`milepost lineages {name}` shows the active lineage; run it again to undo that \
                 too"
            )
        }
        Remedy::LookAgain { task } => {
            format!("`milepost lineages {}` shows the lineages as they are", name(task))
        }
        _ => return None,
    })
}

/// Returns the hint for a folder that cannot be used.
fn folder_hint(remedy: &Remedy, is_argument: bool) -> &'static str {
    match (remedy, is_argument) {
        (Remedy::Anyway, true) => "--anyway captures it all the same; usually DIR is one project",
        (Remedy::NameExisting, true) => "DIR is a folder that is there; default: this one",
        (Remedy::Allow, _) => "give yourself leave to read the folder, and ask again",
        (_, true) => "DIR is a folder that you work in",
        (Remedy::NameExisting, false) => {
            "check the name: `--files DIR` names a folder that is there"
        }
        (_, false) => {
            "`--files DIR` names the folder that goes back: one that you work in; --anyway takes \
             your home all the same"
        }
    }
}

/// Returns a hint with the choices for a path that was changed since.
fn decide(name: &str, files: Option<&Path>) -> String {
    let files = files.map(|files| format!(" --files {}", shell_word(&files.display().to_string())));
    let files = files.unwrap_or_default();
    format!(
        "`milepost recover {name}{files} --keep-mine PATH` leaves what is there, `--theirs PATH` \
         puts back what was there before; `milepost recover {name} --give-up` leaves the folder as \
         it is; all other paths are back"
    )
}

fn no_way_back(name: &str) -> String {
    format!(
        "`milepost recover {name} --files DIR` where the folder was moved; `milepost recover \
         {name} --give-up` ends it and leaves the folder as it is"
    )
}

/// Returns the failure of looking for jobs without a program that has the store open.
pub fn no_holder() -> Failure {
    Failure::new("no program has the store open, so there are no jobs").hint(
        "`milepost serve` and programs that keep a store open have them; without one each command \
         does its work itself",
    )
}

/// Returns the failure of a job whose result is of another kind.
pub fn no_such_result() -> Failure {
    Failure::new("the program that has the store answered something else")
        .hint("it is of another version: run this command with the same one")
}

/// Returns the failure of an operation on a folder through a service on another machine.
pub fn on_another_machine(what: &str) -> Failure {
    Failure::new(format!("{what} is not possible through --server: a folder belongs to a machine"))
        .hint("run it on the machine of the store, without --server")
}

/// Returns the absolute path of a folder: the program that has the store has another one.
pub fn absolute(folder: &Path) -> crate::error::Result<PathBuf> {
    std::path::absolute(folder)
        .map_err(|error| Failure::of_file(format_args!("{}", folder.display()), &error))
}
