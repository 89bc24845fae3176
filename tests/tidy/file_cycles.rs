//! Files of a crate that name each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::references::Reference;
use crate::{Source, Violation};

/// The most files that may name each other, directly or through others.
const MOST: usize = 4;

/// Components that stay: a hook takes a task, a task names the open engine, and that holds the
/// hooks. Seven files name each other for this alone.
const TIED: [&str; 1] = ["engine: handles/audit.rs"];

/// Returns the files that name each other, if there are too many, with their references.
pub fn check(name: &str, sources: &[Source], references: &[Reference]) -> Vec<Violation> {
    let short = |file: usize| {
        let path = &sources[file].path;
        path.split_once("/src/").map_or(path.as_str(), |(_, below)| below).to_owned()
    };
    let components = components(references).into_iter().filter(|files| files.len() > MOST);
    let violation = |files: BTreeSet<usize>| {
        let mut text = format!("{} files name each other, more than {MOST}:", files.len());
        let is_inside = |it: &&Reference| files.contains(&it.from) && files.contains(&it.to);
        for Reference { from, to, line, name } in references.iter().filter(is_inside) {
            write!(text, "\n    {}:{line} -> {} ({name})", short(*from), short(*to)).unwrap();
        }
        let first = short(*files.first().unwrap());
        Violation { rule: "file-cycle", place: format!("{name}: {first}"), line: 1, text }
    };
    let is_tied = |one: &Violation| TIED.contains(&one.place.as_str());
    components.map(violation).filter(|one| !is_tied(one)).collect()
}

/// Returns the sets of files of which each leads to each other one.
pub fn components(references: &[Reference]) -> BTreeSet<BTreeSet<usize>> {
    let mut edges: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for Reference { from, to, .. } in references {
        edges.entry(*from).or_default().push(*to);
    }
    let reached = |from: usize| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(at) = left.pop() {
            let next = edges.get(&at).into_iter().flatten();
            left.extend(next.copied().filter(|to| seen.insert(*to)));
        }
        seen
    };
    let all: BTreeMap<usize, BTreeSet<usize>> =
        edges.keys().map(|from| (*from, reached(*from))).collect();
    let leads = |from: &usize, to: &usize| all.get(from).is_some_and(|seen| seen.contains(to));
    let in_cycle = all.keys().filter(|file| leads(file, file));
    let component = |file: &usize| {
        all[file].iter().copied().filter(|other| leads(other, file)).collect::<BTreeSet<_>>()
    };
    in_cycle.map(component).collect()
}
