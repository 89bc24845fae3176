//! Names of inputs in texts, as the caller gave them, and names of runs whose files have the same
//! name.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use milepost_api::{ImportForm, ImportPath, JobNote};
use milepost_formats::input::stem;
use milepost_formats::look::Input;

/// The names that a caller gave to paths.
#[derive(Debug, Default)]
pub struct Names {
    /// Paths and names without a slash at their ends, longer paths first.
    names: Vec<(String, String)>,
}

impl Names {
    pub(crate) fn new(paths: &[ImportPath]) -> Self {
        let bare = |text: &str| text.trim_end_matches('/').to_owned();
        let of = |path: &ImportPath| {
            let name = path.name.as_ref()?;
            Some((bare(&path.path.display().to_string()), bare(name)))
        };
        let mut names: Vec<(String, String)> = paths.iter().filter_map(of).collect();
        names.retain(|(path, name)| !path.is_empty() && path != name);
        names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { names }
    }

    /// Returns a text in which the paths have the names that the caller gave to them.
    pub(crate) fn shown(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        let mut is_start = true;
        while let Some(next) = rest.chars().next() {
            let found = self.names.iter().find(|(path, _)| {
                let behind = rest.strip_prefix(path.as_str()).filter(|_| is_start);
                behind.is_some_and(|behind| {
                    behind.is_empty() || behind.starts_with(['/', ':', ',', ' ', '`'])
                })
            });
            let (put, taken) = match found {
                Some((path, name)) => (name.as_str(), path.len()),
                None => (rest.get(..next.len_utf8()).unwrap_or_default(), next.len_utf8()),
            };
            shown.push_str(put);
            is_start = found.is_none() && matches!(next, ' ' | '`');
            rest = rest.get(taken..).unwrap_or_default();
        }
        shown
    }

    /// Renames the inputs of a result.
    pub(crate) fn rename(&self, mut form: ImportForm) -> ImportForm {
        for task in &mut form.tasks {
            task.input = self.shown(&task.input);
        }
        for file in &mut form.skipped {
            file.path = self.shown(&file.path);
            file.reason = self.shown(&file.reason);
        }
        for failed in &mut form.failed {
            failed.input = self.shown(&failed.input);
            failed.message = self.shown(&failed.message);
        }
        form
    }

    /// Renames the inputs of a note.
    pub(crate) fn in_note(&self, mut note: JobNote) -> JobNote {
        match &mut note {
            JobNote::Skipped { place, reason } => {
                *place = self.shown(place);
                *reason = self.shown(reason);
            }
            JobNote::Failed(failed) => {
                failed.input = self.shown(&failed.input);
                failed.message = self.shown(&failed.message);
            }
            JobNote::SessionsIgnored { folder, .. } | JobNote::FilesIgnored { folder, .. } => {
                *folder = self.shown(folder);
            }
            JobNote::RepeatedIds { input, .. } | JobNote::MissingParents { input, .. } => {
                *input = self.shown(input);
            }
            _ => {}
        }
        note
    }

    /// Returns names for the runs whose files have the same name: with the part of the path in
    /// front that distinguishes them, so that two runs never become one task.
    pub(crate) fn stems<'a>(
        &self,
        inputs: impl Iterator<Item = &'a Input>,
    ) -> HashMap<PathBuf, String> {
        let runs: Vec<(PathBuf, &Path)> = inputs
            .filter_map(|input| match input {
                Input::Run(path) => Some((self.path(path), path.as_path())),
                _ => None,
            })
            .collect();
        let named = distinct_stems(runs.iter().map(|(shown, _)| shown.as_path()));
        let of = |(shown, path): &(PathBuf, &Path)| {
            Some((path.to_path_buf(), named.get(shown)?.clone()))
        };
        runs.iter().filter_map(of).collect()
    }

    fn path(&self, path: &Path) -> PathBuf {
        match path.to_str() {
            Some(text) if !self.names.is_empty() => self.shown(text).into(),
            _ => path.to_owned(),
        }
    }
}

fn distinct_stems<'a>(runs: impl Iterator<Item = &'a Path>) -> HashMap<PathBuf, String> {
    let runs: Vec<&Path> = runs.collect();
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
    let stem = stem(path);
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
        let names = distinct_stems(paths.iter().map(Path::new));
        let name = |path: &str| names.get(Path::new(path)).map(String::as_str);
        assert_eq!(name("r/x/events.jsonl"), Some("x-events"));
        assert_eq!(name("r/y/events.jsonl"), Some("r-y-events"));
        assert_eq!(name("s/y/events.jsonl"), Some("s-y-events"));
        assert_eq!(name("r/one.jsonl"), None);
        // The same file twice is one name: it is recorded twice, as it was asked for.
        assert!(distinct_stems([Path::new("a.jsonl"); 2].into_iter()).is_empty());
    }

    #[test]
    fn a_path_has_the_name_that_its_caller_gave_to_it() {
        let path =
            |path: &str, name: &str| ImportPath { path: path.into(), name: Some(name.into()) };
        let names = Names::new(&[
            path("/w", "."),
            path("/w/runs/", "runs/"),
            path("/x/a.jsonl", "../x/a.jsonl"),
        ]);
        for (text, shown) in [
            ("/w/b.jsonl:3: no event: `{`", "./b.jsonl:3: no event: `{`"),
            ("/w/runs: nothing in it", "runs: nothing in it"),
            ("/w/runs/a b.jsonl", "runs/a b.jsonl"),
            ("up to those in /w/runs", "up to those in runs"),
            ("is that of /x/a.jsonl, too", "is that of ../x/a.jsonl, too"),
            ("/wide/b.jsonl and a/w/b", "/wide/b.jsonl and a/w/b"),
            ("", ""),
        ] {
            assert_eq!(names.shown(text), shown);
        }
        let inputs = ["/w/runs/a.jsonl", "/x/a.jsonl"].map(|path| Input::Run(path.into()));
        let stems = names.stems(inputs.iter());
        assert_eq!(stems[Path::new("/x/a.jsonl")], "x-a");
    }
}
