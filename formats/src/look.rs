//! The inputs at a path: files, and the recognized files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::calls::Cancel;

use crate::checkpoint_folder;
use crate::detect::{begins_as_run, foreign, from_content, is_results};
use crate::error::{Error, Remedy, Result};
use crate::export_file::BEGINNING;
use crate::format::Format;
use crate::input::start;
use crate::progress::{Note, Progress};
use crate::record;
use crate::share_file;

/// Maximum depth of the search for runs. A deeper folder is an input that fails, so that the report
/// names it.
const DEPTH_MAX: usize = 16;

/// Maximum number of files in a folder that is searched.
const FILES_MAX: u64 = 100_000;

/// An input of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// An export, or a file that fails as one.
    Export(PathBuf),
    /// A folder of JSON checkpoint files, or of projects with them.
    Checkpoints(PathBuf),
    /// A run of another program.
    Run(PathBuf),
    /// A file in a folder that looks like a run by its name, and cannot be read as one; with the
    /// reason.
    Unread(PathBuf, String),
}

impl Input {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Export(path)
            | Self::Checkpoints(path)
            | Self::Run(path)
            | Self::Unread(path, _) => path,
        }
    }
}

/// Returns the inputs at a path: one for a file, and all that are found in a folder. The given
/// format of a file is not checked.
///
/// # Errors
///
/// `Io`: the path cannot be read. `Invalid`: a folder has no run in the format, or too many files.
pub fn look(
    path: &Path,
    format: Option<Format>,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Vec<Input>> {
    if path.as_os_str() == "-" {
        return Ok(vec![match format {
            None => Input::Export(path.to_owned()),
            Some(_) => Input::Run(path.to_owned()),
        }]);
    }
    let metadata = fs::metadata(path)
        .map_err(|error| Error::from(error).at(path.display()).remedied_by(Remedy::CheckPath))?;
    if metadata.is_dir() {
        return in_folder(path, format, cancel, progress);
    }
    if format.is_some() {
        return Ok(vec![Input::Run(path.to_owned())]);
    }
    // Bytes read from a pipe would be lost.
    let start = match metadata.is_file() {
        true => start(path)?,
        false => Vec::new(),
    };
    let detected = from_content(&start).is_some() || is_trajectory(path);
    if !detected && !is_export(&start) && foreign(&start).is_some() {
        return Ok(vec![Input::Unread(path.to_owned(), why_unread(&start))]);
    }
    Ok(vec![match detected && !is_export(&start) {
        true => Input::Run(path.to_owned()),
        false => Input::Export(path.to_owned()),
    }])
}

/// Returns `true` for the beginning of an export, and for that of a share, which has one.
fn is_export(start: &[u8]) -> bool {
    start.starts_with(BEGINNING.as_bytes()) || share_file::version(start).is_some()
}

fn is_trajectory(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "traj")
}

fn in_folder(
    path: &Path,
    format: Option<Format>,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Vec<Input>> {
    let is_own = format.is_none() && checkpoint_folder::has_files(path);
    let mut found = Found { format, only_lines: is_own, ..Found::default() };
    found.search(path, DEPTH_MAX, cancel)?;
    let Found { mut inputs, sessions, others, .. } = found;
    if is_own {
        if sessions > 0 {
            progress.note(Note::SessionsIgnored { folder: path, sessions });
        }
        return Ok(vec![Input::Checkpoints(path.to_owned())]);
    }
    let is_run = |input: &Input| !matches!(input, Input::Unread(..));
    if others > 0 && inputs.iter().any(is_run) {
        progress.note(Note::FilesIgnored { folder: path, files: others });
    }
    if format.is_none() && checkpoint_folder::files(path).is_ok() {
        inputs.insert(0, Input::Checkpoints(path.to_owned()));
    }
    if !inputs.is_empty() {
        return Ok(inputs);
    }
    let place = path.display();
    match format {
        None => Err(Error::invalid(format!(
            "{place}: no run, no export and no ckpt-*.json file in it: there is nothing to import"
        ))
        .remedied_by(Remedy::GiveRunFolder)),
        Some(format) if format.is_session() => {
            Err(Error::invalid(format!("{place}: no session in it: there is nothing to import"))
                .remedied_by(Remedy::GiveSessionFolder))
        }
        Some(other) => {
            let name = other.name();
            Err(Error::invalid(format!("{place}: no run of {name} in it, by its content"))
                .remedied_by(Remedy::NameFile))
        }
    }
}

/// Contents of a folder.
#[derive(Default)]
struct Found {
    /// The format to look for.
    format: Option<Format>,
    /// Considers `*.jsonl` files only.
    only_lines: bool,
    /// The recognized inputs, in the order of names.
    inputs: Vec<Input>,
    /// The number of sessions of coding agents among the inputs.
    sessions: u64,
    /// The number of files that are not recognized.
    others: u64,
    /// The number of all files.
    files: u64,
}

impl Found {
    /// Searches a folder and its subfolders, without hidden entries, checkpoint files and links. A
    /// folder that cannot be read is an input, so that its error is reported when it is imported.
    fn search(&mut self, folder: &Path, depth: usize, cancel: &Cancel) -> Result<()> {
        let Ok(entries) = fs::read_dir(folder) else {
            self.inputs.push(Input::Run(folder.to_owned()));
            return Ok(());
        };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            cancel.check()?;
            let (path, name) = (entry.path(), entry.file_name());
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            let Ok(kind) = entry.file_type() else {
                self.inputs.push(Input::Run(path));
                continue;
            };
            if is_hidden || checkpoint_folder::is_checkpoint(&name) {
                continue;
            }
            if kind.is_dir() {
                match depth > 1 {
                    true => self.search(&path, depth - 1, cancel)?,
                    false => self.inputs.push(Input::Run(path.clone())),
                }
            }
            if kind.is_file() {
                self.file(path);
            }
            if self.files > FILES_MAX {
                let place = folder.display();
                return Err(Error::invalid(format!(
                    "more than {FILES_MAX} files, up to those in {place}"
                ))
                .remedied_by(Remedy::GiveRunFolder));
            }
        }
        Ok(())
    }

    /// Adds a file. One of lines that cannot be read is an input, which fails.
    fn file(&mut self, path: PathBuf) {
        let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
        if self.only_lines && !is_lines {
            return;
        }
        self.files += 1;
        let Ok(start) = start(&path) else {
            match is_run_by_name(&path) {
                true => self.inputs.push(Input::Run(path)),
                false => self.others += 1,
            }
            return;
        };
        if is_export(&start) && self.format.is_none() {
            return self.inputs.push(Input::Export(path));
        }
        match recognized(&path, &start) {
            Some(format) if self.format.is_none_or(|wanted| wanted == format) => {
                self.sessions += u64::from(format.is_session());
                self.inputs.push(Input::Run(path));
            }
            None if !cfg!(feature = "sqlite")
                && from_content(&start) == Some(Format::LangGraph) =>
            {
                let why =
                    "a SQLite database, and this program is built without the feature `sqlite`";
                self.inputs.push(Input::Unread(path, why.to_owned()));
            }
            None if self.format.is_none() && is_run_by_name(&path) && !start.is_empty() => {
                self.inputs.push(Input::Unread(path, why_unread(&start)));
            }
            _ => self.others += 1,
        }
    }
}

/// Returns `true` for the name of a file of records, or of a session.
fn is_run_by_name(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let bare = name.trim_end_matches(".zst").trim_end_matches(".gz");
    let of_run = [".jsonl", ".ndjson", ".traj"].iter().any(|ending| bare.ends_with(ending));
    let of_session = ["rollout-", "session-", "api_conversation_history"];
    of_run || (bare.ends_with(".json") && of_session.iter().any(|begin| bare.starts_with(begin)))
}

/// Returns the reason why a file with the name of a run cannot be read as one.
fn why_unread(start: &[u8]) -> String {
    match foreign(start) {
        Some(program) => format!("{program}, which is not read yet: it is not imported"),
        None => "no run that is known, by its content: it is not imported".to_owned(),
    }
}

/// Returns the format of a run in a folder. Lists and databases of unknown programs have none.
fn recognized(path: &Path, start: &[u8]) -> Option<Format> {
    if !begins_as_run(start) && !is_run_by_name(path) {
        return None;
    }
    match from_content(start).or(is_trajectory(path).then_some(Format::SweAgent))? {
        Format::TauBench => is_results(start).then_some(Format::TauBench),
        Format::LangGraph => record::database::format_of(path),
        format => Some(format),
    }
}
