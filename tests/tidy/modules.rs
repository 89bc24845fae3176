//! Modules that name each other.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use crate::files::is_test;
use crate::{Source, Violation};

/// The edges between top-level modules of a crate that are in a cycle.
pub fn cycles(name: &str, sources: &[Source]) -> Vec<Violation> {
    let edges = edges(sources);
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
fn edges(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let tops: BTreeSet<String> =
        (sources.iter()).filter_map(|source| source.modules().into_iter().next()).collect();
    let mut exported = BTreeMap::new();
    for source in sources.iter().filter(|source| source.modules().is_empty()) {
        let mut paths = Paths::new(Vec::new());
        paths.visit_file(&source.syntax);
        for path in paths.found {
            if let [top, .., last] = path.as_slice()
                && tops.contains(top)
            {
                exported.insert(last.clone(), top.clone());
            }
        }
    }
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let modules = source.modules();
        let is_of_tests = |part: &String| part == "tests" || part == "testing";
        let Some(from) = modules.first().cloned() else {
            continue;
        };
        if modules.iter().any(is_of_tests) {
            continue;
        }
        let mut paths = Paths::new(modules);
        paths.visit_file(&source.syntax);
        for path in paths.found {
            let Some(first) = path.first() else { continue };
            let to = match tops.contains(first) {
                true => Some(first),
                false => exported.get(first),
            };
            if let Some(to) = to.filter(|to| **to != from) {
                edges.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    edges
}

/// The paths of a file that are below the root of its crate, from there.
struct Paths {
    at: Vec<String>,
    found: Vec<Vec<String>>,
}

impl Paths {
    fn new(at: Vec<String>) -> Self {
        let found = Vec::new();
        Self { at, found }
    }

    fn take(&mut self, path: &[String]) {
        let Some(first) = path.first() else { return };
        let supers = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match first.as_str() {
            "crate" => (0, 1),
            "self" => (self.at.len(), 1),
            "super" => (self.at.len().saturating_sub(supers), supers),
            // In the root, modules are named without `crate`.
            _ if self.at.is_empty() => (0, 0),
            _ => return,
        };
        let whole = self.at[..base].iter().chain(&path[rest..]);
        self.found.push(whole.cloned().collect());
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.take(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.take(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.take(before),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(before, tree));
            }
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if module.content.is_none() || is_test(&module.attrs) {
            return;
        }
        self.at.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.at.pop();
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        // A path without a prefix names what a `use` has named already.
        if matches!(parts.first().map(String::as_str), Some("crate" | "self" | "super")) {
            self.take(&parts);
        }
        visit::visit_path(self, path);
    }
}
