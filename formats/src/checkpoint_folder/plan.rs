//! The checkpoints of each task, in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use milepost::calls::Cancel;

use super::Files;
use super::file::{self, SavedCheckpoint};
use super::find::project_of;

/// A checkpoint to import. The file is read again when it is written: all files together may be
/// larger than memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: PathBuf,
    pub execution: String,
    pub step: u64,
    pub time_us: u64,
    pub id: String,
    /// Hash of the file.
    pub digest: String,
}

/// The checkpoints of one execution, in order.
#[derive(Debug)]
pub struct TaskPlan {
    pub task: String,
    pub entries: Vec<PlannedFile>,
}

impl TaskPlan {
    pub fn count(&self) -> u64 {
        self.entries.len() as u64
    }
}

impl PlannedFile {
    pub fn of(path: &Path, saved: &SavedCheckpoint) -> Self {
        Self {
            path: path.to_owned(),
            execution: saved.execution.clone(),
            step: saved.step,
            time_us: saved.time_us,
            id: saved.id.clone(),
            digest: saved.digest.clone(),
        }
    }
}

/// Returns the plans of the files, the earliest execution first. Skips each file that cannot be
/// imported.
///
/// Executions of several projects may have the same id. The first project has the task of that
/// name, by the order of the files; in the others the task is `PROJECT-EXECUTION`.
pub fn plans(paths: &[PathBuf], cancel: &Cancel, files: &mut Files<'_>) -> Vec<TaskPlan> {
    let mut executions: BTreeMap<(PathBuf, String), Vec<PlannedFile>> = BTreeMap::new();
    for path in paths {
        // The import checks it before it writes anything.
        if cancel.is_cancelled() {
            break;
        }
        match file::read(path) {
            Ok(saved) => {
                let folder = path.parent().map(Path::to_owned).unwrap_or_default();
                let entries = executions.entry((folder, saved.execution.clone())).or_default();
                entries.push(PlannedFile::of(path, &saved));
            }
            Err(reason) => files.skip(path, &reason),
        }
        files.done();
    }
    let (mut plans, mut taken) = (Vec::new(), HashSet::new());
    for ((_, execution), entries) in executions {
        match task_name(&execution, &entries, &taken) {
            Ok(task) => {
                taken.insert(task.clone());
                plans.push(TaskPlan { task, entries: ordered(entries, files) });
            }
            Err(reason) => entries.iter().for_each(|entry| files.skip(&entry.path, &reason)),
        }
    }
    let began = |plan: &TaskPlan| plan.entries.iter().map(|entry| entry.time_us).min();
    plans.sort_by_key(began);
    plans
}

/// Returns the task of an execution of one project, or the reason why none has a free name.
fn task_name(
    execution: &str,
    entries: &[PlannedFile],
    taken: &HashSet<String>,
) -> Result<String, String> {
    if !taken.contains(execution) {
        return Ok(execution.to_owned());
    }
    let project = entries.first().and_then(|entry| project_of(&entry.path));
    let name = project.map(|project| format!("{project}-{execution}"));
    name.filter(|name| !taken.contains(name) && file::check_id("execution_id", name).is_ok())
        .ok_or_else(|| {
            format!(
                "the execution `{execution}` is in another project, too, and the name of this one \
                 is taken or invalid for a task: import it into another store"
            )
        })
}

/// Returns the entries by step, time and id. Names have no order: step 10 sorts before step 9.
fn ordered(mut entries: Vec<PlannedFile>, files: &mut Files<'_>) -> Vec<PlannedFile> {
    // A file named by its checkpoint's id is preferred; others are copies of it.
    entries.sort_by_key(|entry| (Reverse(is_named_by_id(entry)), entry.path.clone()));
    let mut first_paths: HashMap<String, PathBuf> = HashMap::new();
    entries.retain(|entry| match first_paths.get(&entry.id) {
        Some(first) => {
            let reason = format!("the id `{}` is that of {}, too", entry.id, first.display());
            files.skip(&entry.path, &reason);
            false
        }
        None => {
            first_paths.insert(entry.id.clone(), entry.path.clone());
            true
        }
    });
    entries.sort_by(|a, b| (a.step, a.time_us, &a.id).cmp(&(b.step, b.time_us, &b.id)));
    entries
}

fn is_named_by_id(entry: &PlannedFile) -> bool {
    entry.path.file_stem().is_some_and(|stem| stem == entry.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Progress;

    fn entry(path: &str, id: &str, step: u64, time_us: u64) -> PlannedFile {
        PlannedFile {
            path: path.into(),
            execution: "x".into(),
            step,
            time_us,
            id: id.into(),
            digest: String::new(),
        }
    }

    #[test]
    fn steps_go_before_times_and_copies_are_left_out() {
        let entries = vec![
            entry("ckpt-a copy.json", "ckpt-a", 10, 1),
            entry("ckpt-a.json", "ckpt-a", 10, 1),
            entry("ckpt-b.json", "ckpt-b", 9, 3),
            entry("ckpt-c.json", "ckpt-c", 9, 2),
        ];
        let progress: &mut dyn Progress = &mut ();
        let mut files = Files::new(progress);
        let ordered = ordered(entries, &mut files);
        let ids: Vec<&str> = ordered.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["ckpt-c", "ckpt-b", "ckpt-a"]);
        let skipped: Vec<&str> = files.skipped.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(skipped, ["ckpt-a copy.json"]);
    }
}
