//! Failed inputs and notes of an import, worded with the options of the command.

use std::io::{self, Write as _};

use milepost::ErrorKind;
use milepost_api::{FailedInput, JobNote, Remedy};
use milepost_service::jobs::import::of_input;

use crate::backend::jobs::{JobFailed, Wording};
use crate::error::{Failure, LINES_OR_FILE, LOOK_AT_HOOKS, PERMISSION, next_step};
use crate::output::{ErrorStyle, count, note, printable};

/// Prints a note on standard error.
pub fn tell(fact: &JobNote, style: ErrorStyle) {
    match fact {
        JobNote::Skipped { place, reason } if style.is_json => note(&format!("{place}: {reason}")),
        JobNote::Skipped { place, reason } => {
            let text = format!("{place}: {reason}");
            // If standard error is closed, the report is lost.
            let _ = writeln!(io::stderr().lock(), "{}", printable(&text));
        }
        JobNote::MoreSkipped { number } => note(&format!("{number} more of these are not printed")),
        JobNote::Failed(failed) => of(failed).print(style),
        JobNote::SessionsIgnored { folder, sessions } => {
            let sessions = count(sessions.0, "session");
            note(&format!(
                "{folder}: {sessions} of coding agents in it too: `--format NAME` with the name of \
                 the agent takes them"
            ));
        }
        JobNote::FilesIgnored { folder, files } => {
            let files = count(files.0, "other file");
            note(&format!("{folder}: {files} in it without a run or an export"));
        }
        JobNote::RepeatedIds { input, lines } => {
            let lines = count(lines.0, "line");
            note(&format!("{input}: {lines} with an id that came before: kept, and not continued"));
        }
        JobNote::MissingParents { input, lines } => {
            let lines = count(lines.0, "line");
            note(&format!(
                "{input}: {lines} behind one that is not there: they go on from the line before in \
                 the file"
            ));
        }
        _ => note("there is a note that this version does not know"),
    }
}

/// Returns the failure of an input.
pub fn of(failed: &FailedInput) -> Failure {
    let message = message(failed);
    let of_store = |kind| Failure::from(milepost::Error::new(kind, message.clone()));
    let failure = match failed.kind.as_str() {
        "bug" => Failure::bug(message.clone()),
        "invalid" => of_store(ErrorKind::Invalid),
        "not_found" => of_store(ErrorKind::NotFound),
        "conflict" => of_store(ErrorKind::Conflict),
        "unavailable" => of_store(ErrorKind::Unavailable),
        "corrupt" => of_store(ErrorKind::Corrupt),
        "unsupported" => of_store(ErrorKind::Unsupported),
        "poisoned" => of_store(ErrorKind::Poisoned),
        "diverged" => of_store(ErrorKind::Diverged),
        _ => Failure::new(message.clone()),
    };
    let Some(remedy) = &failed.remedy else {
        return failure;
    };
    if let Some(remedy) = of_input(remedy) {
        return failure.hint(next_step(remedy));
    }
    match hint(remedy) {
        Some(hint) => failure.hint(hint),
        None => JobFailed::from(failure).remedied(remedy.clone()).worded(&Wording::default()),
    }
}

/// Returns the message of a failed input, with the names of options.
pub fn message(failed: &FailedInput) -> String {
    of_options(&failed.message, failed.remedy.as_ref())
}

/// Words the failure of all inputs.
pub fn worded(failed: JobFailed) -> Failure {
    match failed.remedy.as_ref().and_then(hint) {
        Some(hint) => {
            let text = of_options(&failed.failure.to_string(), failed.remedy.as_ref());
            Failure::new(text).hint(hint)
        }
        None => failed.worded(&Wording::default()),
    }
}

/// Replaces the fields of a request by the options of the command.
fn of_options(message: &str, remedy: Option<&Remedy>) -> String {
    match remedy {
        Some(Remedy::OneInput | Remedy::OneTask | Remedy::NoNameForFolder) => {
            message.replacen("`task`", "--as", 1)
        }
        Some(Remedy::NoUserForExport) => message.replacen("`user`", "--user", 1),
        _ => message.to_owned(),
    }
}

/// Returns the hint of a remedy that only imports have.
fn hint(remedy: &Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::OneInput => "leave it out, or give one input",
        Remedy::NoNameForFolder => "of a folder each execution becomes a task of its name",
        Remedy::NoUserForExport => "import it without --user",
        Remedy::OneTask => "import it without --as, or export the task alone",
        Remedy::CheckPermission => PERMISSION,
        Remedy::LookAtHooks => LOOK_AT_HOOKS,
        Remedy::NameNoPipe => LINES_OR_FILE,
        Remedy::EndLimit => {
            "the program that has the store open accepts no larger events: ask again when it has \
             ended"
        }
        _ => return None,
    })
}
