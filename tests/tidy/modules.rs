//! Modules that name each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::references::Reference;
use crate::{Source, Violation};

/// The edges between top-level modules of a crate that are in a cycle.
pub fn cycles(name: &str, sources: &[Source], references: &[Reference]) -> Vec<Violation> {
    let edges = edges(sources, references);
    let reached = |from: &String| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(at) = left.pop() {
            for to in edges.get(&at).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    left.push(to.clone());
                }
            }
        }
        seen
    };
    let mut found = Vec::new();
    for (from, targets) in &edges {
        for to in targets.iter().filter(|to| reached(to).contains(from)) {
            found.push(Violation {
                rule: "cycle",
                place: format!("{name}: {from} -> {to}"),
                line: 1,
                text: "these modules name each other".to_owned(),
            });
        }
    }
    found
}

/// The top-level modules that each top-level module names, tests left out.
fn edges(sources: &[Source], references: &[Reference]) -> BTreeMap<String, BTreeSet<String>> {
    let top = |file: usize| sources[file].modules().into_iter().next();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Reference { from, to, .. } in references {
        if let (Some(from), Some(to)) = (top(*from), top(*to))
            && from != to
        {
            edges.entry(from).or_default().insert(to);
        }
    }
    edges
}
