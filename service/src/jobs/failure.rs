//! Failures and their remedies.

use std::fmt;

use milepost::{Detail, Error, ErrorKind};
use milepost_api::{JobResult, RecoveredFolder, Remedy};
use milepost_reading::shell;

/// The maximum number of conflicts in a text.
const CONFLICTS: usize = 10;

/// The result of a part of a job.
pub type Result<T, E = JobFailure> = std::result::Result<T, E>;

/// The failure of a job.
#[derive(Debug)]
pub struct JobFailure {
    /// The error.
    pub error: Error,
    /// The next step, if it adds something to the error.
    pub remedy: Option<Remedy>,
    /// The part of the result that explains the failure, such as a plan with conflicts.
    pub result: Option<Box<JobResult>>,
}

impl JobFailure {
    /// Creates a failure of a kind, with a text for people.
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Error::new(kind, text.into()).into()
    }

    /// Sets the next step.
    #[must_use]
    pub(crate) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Adds the part of the result that explains the failure.
    #[must_use]
    pub(crate) fn result(mut self, result: JobResult) -> Self {
        self.result = Some(Box::new(result));
        self
    }
}

impl From<Error> for JobFailure {
    fn from(error: Error) -> Self {
        let remedy = match error.detail() {
            Some(Detail::Pending { task, .. }) => Some(Remedy::Recover { task: task.clone() }),
            _ => None,
        };
        Self { error, remedy, result: None }
    }
}

/// Writes the error, after the recovery that preceded it and before conflicts and the command to
/// run: for callers without words of their own.
impl fmt::Display for JobFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = self.result.as_ref().and_then(|result| result.restore());
        if let Some(recovered) = form.and_then(|form| form.recovered.as_ref()) {
            write!(f, "{}; ", recovered_text(recovered))?;
        }
        self.error.fmt(f)?;
        let files = form.and_then(|form| form.files.as_ref());
        let conflicts = files.and_then(|files| files.get("conflicts")?.as_array());
        for conflict in conflicts.into_iter().flatten().take(CONFLICTS) {
            let field = |name| conflict.get(name).and_then(|value| value.as_str());
            let path = field("path").map_or_else(String::new, |path| format!("`{path}`: "));
            write!(f, "; {path}{}", field("text").unwrap_or_default())?;
        }
        match &self.remedy {
            Some(Remedy::Recover { task }) if self.error.kind() == ErrorKind::Conflict => {
                let task = shell::task(task);
                write!(
                    f,
                    ": `milepost recover {task} --files DIR --keep-mine PATH` leaves what is \
                     there, and `milepost recover {task} --files DIR --theirs PATH` puts back \
                     what was there before"
                )
            }
            Some(Remedy::Recover { task }) => {
                write!(f, ": `milepost recover {}` undoes it", shell::task(task))
            }
            Some(Remedy::NameBegun { task, folder: Some(folder) }) => {
                let (task, folder) = (shell::task(task), shell::word(folder.as_bytes()));
                write!(f, ": `milepost recover {task} --files {folder}` undoes it")
            }
            Some(Remedy::NameBegun { task, folder: None }) => {
                let task = shell::task(task);
                write!(
                    f,
                    ": `milepost recover {task} --files DIR` undoes it where the folder was moved, \
                     and `milepost recover {task} --give-up` leaves the folder as it is"
                )
            }
            _ => Ok(()),
        }
    }
}

/// Returns a sentence about an interrupted restore that other work ended first.
pub fn recovered_text(recovered: &RecoveredFolder) -> String {
    let shown = String::from_utf8_lossy(recovered.folder.as_bytes());
    match (recovered.undone, &recovered.error) {
        (true, _) => format!("the interrupted restore of {shown} is undone"),
        (false, None) => format!("the interrupted restore of {shown} is finished"),
        (false, Some(error)) => {
            format!("what a restore left in {shown} is not cleared up yet: {error}")
        }
    }
}

impl std::error::Error for JobFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
