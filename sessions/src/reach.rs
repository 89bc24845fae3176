//! Paths that a call of a tool may change, as far as its arguments show.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde_json::Value;

/// Tools that change the file that an argument names, and nothing else.
const WRITES: [&str; 11] = [
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "write_file",
    "replace",
    "write",
    "edit",
    "multiedit",
    "StrReplace",
    "Delete",
];

/// Arguments that name the file.
const NAMES: [&str; 4] = ["file_path", "filePath", "notebook_path", "path"];

/// Tools that change nothing.
const READS: [&str; 12] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "search_file_content",
    "grep_search",
];

/// The first line of a patch, and the beginnings of lines that name a file of it.
const PATCH: &str = "*** Begin Patch";
const PATCHED: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Most bytes of the paths that a mark has: calls with more may change any path.
const SIZE_MAX: usize = 8192;

/// Paths of a project that calls may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// These, relative to the project.
    Named(BTreeSet<String>),
    Any,
}

impl Default for Reach {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

impl Reach {
    /// Returns the reach of a call with these arguments in a folder of a project.
    pub(crate) fn of(
        (tool, input): (&str, Option<&str>),
        folder: Option<&Path>,
        project: &Path,
    ) -> Self {
        if READS.contains(&tool) {
            return Self::default();
        }
        let input = input.and_then(|input| serde_json::from_str::<Value>(input).ok());
        let named = input.and_then(|input| match tool {
            "apply_patch" | "ApplyPatch" => patched(&input),
            _ if WRITES.contains(&tool) => {
                let name = NAMES.iter().find_map(|name| input.get(name)?.as_str());
                name.map(|name| vec![name.to_owned()])
            }
            _ => None,
        });
        let Some(named) = named else { return Self::Any };
        let mut paths = BTreeSet::new();
        for name in named.into_iter().map(|name| below(&name, folder, project)) {
            match name {
                Ok(inside) => paths.extend(inside),
                Err(Unclear) => return Self::Any,
            }
        }
        Self::Named(paths)
    }

    /// Returns the reach that a fact of a mark has.
    pub(crate) fn of_fact(fact: Option<&Value>) -> Self {
        let path = |path: &Value| path.as_str().map(str::to_owned);
        let paths = fact.and_then(Value::as_array).map(|all| all.iter().map(path).collect());
        paths.flatten().map_or(Self::Any, Self::Named)
    }

    /// Returns the fact for a mark. `None` for any path, and for more than a mark takes.
    pub(crate) fn fact(&self) -> Option<Value> {
        let Self::Named(paths) = self else { return None };
        let size: usize = paths.iter().map(String::len).sum();
        (size <= SIZE_MAX).then(|| paths.iter().cloned().collect())
    }

    pub(crate) fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Named(paths), Self::Named(more)) => paths.extend(more.iter().cloned()),
            _ => *self = Self::Any,
        }
    }
}

/// A path whose place is unknown.
struct Unclear;

/// Returns the path of a file in the project, without links. `None` for one outside of it.
fn below(name: &str, folder: Option<&Path>, project: &Path) -> Result<Option<String>, Unclear> {
    let path = folder.unwrap_or(project).join(name);
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    let there = path.ancestors().find(|above| above.exists());
    let (Some(there), true) = (there, is_plain) else { return Err(Unclear) };
    let rest = path.strip_prefix(there).map_err(|_| Unclear)?;
    let real = milepost_agents::real(there);
    let real = if rest == Path::new("") { real } else { real.join(rest) };
    match real.strip_prefix(project) {
        Ok(inside) => Ok(Some(inside.to_str().ok_or(Unclear)?.to_owned())),
        Err(_) => Ok(None),
    }
}

/// Returns the files of a patch, which is a text or a text in the arguments.
fn patched(input: &Value) -> Option<Vec<String>> {
    let mut texts = match input {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(texts) => texts.iter().collect(),
        text => vec![text],
    };
    texts.retain(|text| text.as_str().is_some_and(|text| text.contains(PATCH)));
    let [text] = texts.as_slice() else { return None };
    let lines = text.as_str()?.lines().map(str::trim);
    let names = lines.filter_map(|line| PATCHED.iter().find_map(|begin| line.strip_prefix(begin)));
    Some(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(tool: &str, input: &str, project: &Path) -> Option<Vec<String>> {
        match Reach::of((tool, Some(input)), Some(project), project) {
            Reach::Named(paths) => Some(paths.into_iter().collect()),
            Reach::Any => None,
        }
    }

    #[test]
    fn a_call_changes_the_files_that_its_tool_names_or_any() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("real", project.join("link")).unwrap();
        std::fs::create_dir(project.join("real")).unwrap();
        let of = |tool: &str, input: &str| reach(tool, input, &project);
        let some = |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect());
        let whole = format!(r#"{{"file_path": "{}/a/b.txt"}}"#, project.display());
        assert_eq!(of("Write", &whole), some(&["a/b.txt"]));
        assert_eq!(of("Edit", r#"{"file_path": "link/x"}"#), some(&["real/x"]));
        assert_eq!(of("Write", r#"{"file_path": "/elsewhere"}"#), some(&[]));
        let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n+*** Add File: c\n";
        let input = serde_json::json!({ "command": patch }).to_string();
        assert_eq!(of("apply_patch", &input), some(&["a", "b"]));
        assert_eq!(of("Read", "{}"), some(&[]));
        for (tool, input) in [
            ("Bash", r#"{"file_path": "a"}"#),
            ("Write", "{}"),
            ("Write", r#"{"file_path": "x/../../y"}"#),
            ("apply_patch", "{}"),
            ("mcp__files__write", r#"{"path": "a"}"#),
        ] {
            assert_eq!(of(tool, input), None, "{tool} {input}");
        }
    }
}
