//! The share of a task: its plan as a question, and the file.

use std::path::{Path, PathBuf};

use milepost_api::ShareRequest;

use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{count, excerpt, printable, size, words};
use crate::share_file::{shared, withheld_lines, write_file};

/// The lines of a plan that are shown.
const LINES: usize = 6;

/// Returns the name of a file for a task, which is offered.
pub fn file_for(task: &str) -> String {
    let name: String = words::encode(task).chars().take(80).collect();
    format!("{name}.html")
}

/// Returns the question before a share. The file must not exist.
pub fn question(source: &dyn Backend, task: &str, path: &Path) -> Result<String> {
    let path = new_file(path)?;
    let plan = shared(source, task, &ShareRequest::default(), &mut (), None)?;
    let mut lines = withheld_lines(&plan);
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines.push(format!("… the rest: `milepost share {} --dry-run`", words::encode(task)));
    }
    let shown: Vec<_> = lines.iter().map(|line| printable(line)).collect();
    Ok(format!(
        "{}\nWrite {} as {}? {}, {}.",
        shown.join("\n"),
        excerpt(task, 60),
        printable(&path.display().to_string()),
        size(plan.bytes.0),
        count(plan.events.0, "event")
    ))
}

/// Writes the file, and returns what was done.
pub fn write(source: &dyn Backend, task: &str, path: &Path) -> Result<String> {
    let path = new_file(path)?;
    let plan = write_file(source, task, &ShareRequest::default(), &path, &mut ())?;
    let file = path.display().to_string();
    Ok(format!("shared as {}: {}", printable(&file), size(plan.bytes.0)))
}

/// Returns the path of a file that does not exist, with the home in place of `~`.
fn new_file(path: &Path) -> Result<PathBuf> {
    let path = match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    };
    match path.symlink_metadata() {
        Ok(_) => {
            Err(Failure::new(format!("{} is there already", path.display()))
                .hint("give another name"))
        }
        Err(_) => Ok(path),
    }
}
