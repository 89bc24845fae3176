//! Detection of the input of an import.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::exported::{self, Input};
use super::folder;
use crate::error::{Failure, Result};
use crate::export::line::BEGINNING;
use crate::output::{count, note};
use crate::record::{Format, START, told};

/// Maximum depth of the search for sessions: projects, sessions, and their agents.
const DEPTH_MAX: usize = 4;

/// The input of an import.
pub enum Given {
    /// An export, or an input that fails as one.
    Export(Input),
    /// A folder of JSON checkpoint files.
    Checkpoints,
    /// Files for `record`.
    Runs(Vec<PathBuf>),
}

/// Returns the kind of input at a path. A format other than `auto` is not checked.
pub fn look(path: &Path, format: Format) -> Result<Given> {
    if path.as_os_str() == "-" {
        return Ok(match format {
            Format::Auto => Given::Export(exported::input(path)?),
            _ => Given::Runs(vec![path.to_owned()]),
        });
    }
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(Given::Checkpoints);
    };
    if metadata.is_dir() {
        return in_folder(path, format);
    }
    if format != Format::Auto {
        return Ok(Given::Runs(vec![path.to_owned()]));
    }
    // Bytes read from a pipe would be lost.
    let start = match metadata.is_file() {
        true => start(path)?,
        false => Vec::new(),
    };
    let trajectory = path.extension().is_some_and(|ending| ending == "traj");
    let known = told(&start).is_some() || trajectory;
    Ok(match known && !start.starts_with(BEGINNING.as_bytes()) {
        true => Given::Runs(vec![path.to_owned()]),
        false => Given::Export(exported::input(path)?),
    })
}

fn in_folder(path: &Path, format: Format) -> Result<Given> {
    let checkpoints = || folder::find(path).and_then(|folder| folder::files(&folder));
    let checkpoints = format == Format::Auto && checkpoints().is_ok();
    let mut found = Found::default();
    find_sessions(path, DEPTH_MAX, &mut found);
    let mut sessions = found.sessions;
    let place = path.display();
    if checkpoints {
        if !sessions.is_empty() {
            let sessions = count(sessions.len() as u64, "session");
            note(&format!(
                "{place}: {sessions} of Claude Code in it too: `--format claude-code` takes them"
            ));
        }
        return Ok(Given::Checkpoints);
    }
    if found.others > 0 && !sessions.is_empty() {
        let others = count(found.others, "*.jsonl file");
        note(&format!("{place}: {others} in it that no session begins: left out"));
    }
    match format {
        Format::Auto if sessions.is_empty() => Ok(Given::Checkpoints),
        Format::Auto | Format::ClaudeCode if !sessions.is_empty() => {
            sessions.sort();
            Ok(Given::Runs(sessions))
        }
        Format::ClaudeCode => {
            Err(Failure::new(format!("{place}: no session in it: there is nothing to import"))
                .hint("give a folder of *.jsonl files, as in ~/.claude/projects/"))
        }
        other => Err(Failure::new(format!(
            "{place} is a folder, and {} is read from files",
            other.name()
        ))
        .hint("name the file")),
    }
}

/// Contents of a folder.
#[derive(Default)]
struct Found {
    sessions: Vec<PathBuf>,
    /// Number of `*.jsonl` files that are not sessions.
    others: u64,
}

/// Searches a folder and its subfolders for sessions, without following links. An entry that cannot
/// be read counts as a session, so that its error is reported when it is imported.
fn find_sessions(folder: &Path, depth: usize, found: &mut Found) {
    let Ok(entries) = fs::read_dir(folder) else {
        found.sessions.push(folder.to_owned());
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            found.sessions.push(path);
            continue;
        };
        if kind.is_dir() && depth > 1 {
            find_sessions(&path, depth - 1, found);
        }
        let lines = path.extension().is_some_and(|ending| ending == "jsonl");
        if kind.is_file() && lines {
            match start(&path) {
                Ok(start) if told(&start) != Some(Format::ClaudeCode) => found.others += 1,
                _ => found.sessions.push(path),
            }
        }
    }
}

/// Reads the beginning of a file.
fn start(path: &Path) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut start = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(START as u64).read_to_end(&mut start).map_err(failed)?;
    Ok(start)
}
