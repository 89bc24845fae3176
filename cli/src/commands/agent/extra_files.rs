//! `agent install --also`: paths that are captured though a rule leaves them out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use milepost_agents::settings::SettingsFile;
use milepost_workspace::{TreePath, left_out};

use super::project::{has_no_files, project};
use crate::error::{Failure, Result, USAGE};
use crate::output::note;
use crate::store_locator;

/// The file of the project that has the lines.
const FILE: &str = ".milepostignore";

/// Lines that the file of a project gets.
pub(super) struct ExtraFiles {
    project: PathBuf,
    file: SettingsFile,
    paths: Vec<TreePath>,
    pub lines: Vec<String>,
}

impl ExtraFiles {
    /// Plans the lines for some paths. `None` without paths.
    pub(super) fn plan(paths: &[PathBuf]) -> Result<Option<Self>> {
        if paths.is_empty() {
            return Ok(None);
        }
        let project = project()?;
        if has_no_files(&project) {
            let text = format!("no files are captured in {}: it is no project", project.display());
            return Err(Failure::new(text).hint("run this in the folder of a project"));
        }
        let mut extra = Self {
            file: SettingsFile::read_in(&project, &project.join(FILE))?,
            project,
            paths: Vec::new(),
            lines: Vec::new(),
        };
        let named = paths.iter().map(|path| within(&extra.project, path));
        let mut named = named.collect::<Result<Vec<_>>>()?;
        // A folder has all that is named below it.
        named.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        named.dedup();
        let all = named.clone();
        named.retain(|path| !all.iter().any(|folder| folder != path && path.is_in(folder)));
        for path in named {
            extra.add(path)?;
        }
        Ok(Some(extra))
    }

    fn add(&mut self, path: TreePath) -> Result<()> {
        let own = pattern(&path)?;
        let is_folder = self.project.join(OsStr::from_bytes(path.as_bytes())).is_dir();
        // A path below it was named before: the other entries are left out.
        let some = format!("{own}/*");
        let is_partial = self.file.text().is_some_and(|text| text.lines().any(|line| line == some));
        let out = left_out(&self.project, &path);
        if out.is_none() && !is_partial {
            note(&format!("{path} is captured already: no rule leaves it out"));
            return Ok(());
        }
        // A folder that is left out as a whole comes in first, without its other entries.
        let mut folders = Vec::new();
        let mut above = path.parent();
        while let Some(folder) =
            above.filter(|folder| out.as_ref().is_some_and(|out| folder.is_in(out)))
        {
            above = folder.parent();
            folders.push(folder);
        }
        let mut lines = Vec::new();
        for folder in folders.iter().rev() {
            let folder = pattern(folder)?;
            lines.extend([format!("!{folder}/"), format!("{folder}/*")]);
        }
        lines.push(format!("!{own}"));
        lines.extend(is_folder.then(|| format!("!{own}/**")));
        // A second `/*` would leave out what the lines before it let in.
        lines.retain(|line| !self.lines.contains(line));
        self.lines.extend(lines);
        self.paths.push(path);
        Ok(())
    }

    /// Adds the lines to the file. Its copy is in `state`.
    pub(super) fn write(&self, state: &Path) -> Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let mut text = self.file.text().unwrap_or_default().to_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&self.lines.join("\n"));
        text.push('\n');
        self.file.replace(&text, false, state)?;
        for path in &self.paths {
            if let Some(out) = left_out(&self.project, path) {
                note(&format!("{path} is still left out: a rule of a folder below names {out}"));
            }
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }
}

/// Returns the path within the project. Links of the folders above are followed, the path itself
/// is not: a link is captured as a link.
fn within(project: &Path, named: &Path) -> Result<TreePath> {
    let wrong = |why: &str| {
        Failure::new(format!("{} cannot be captured: {why}", named.display()))
            .code_of(USAGE)
            .hint("`--also PATH` takes files and folders within the project")
    };
    let path = store_locator::here()?.join(named);
    let Some(Component::Normal(name)) = path.components().next_back() else {
        return Err(wrong("its last part is no name"));
    };
    let folder = path.parent().unwrap_or(&path);
    // A folder that is not there yet is taken as it is written.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let path = folder.join(name);
    let place = format!("it is not in the project {}", project.display());
    let path = path.strip_prefix(project).map_err(|_| wrong(&place))?;
    TreePath::new(path.as_os_str().as_bytes()).map_err(|error| wrong(&error.to_string()))
}

/// Returns the pattern of a `.gitignore` that names one path.
fn pattern(path: &TreePath) -> Result<String> {
    let text = OsStr::from_bytes(path.as_bytes()).to_str().filter(|text| !text.contains('\n'));
    let Some(text) = text else {
        return Err(Failure::new(format!("{path} has no line in a file of rules"))
            .code_of(USAGE)
            .hint("name its folder instead"));
    };
    let mut pattern = "/".to_owned();
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | ' ') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    Ok(pattern)
}
