//! Names that stand for one thing, and calls that have one place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};

use crate::files::{is_of_tests, is_test};
use crate::{Source, Violation};

/// Calls that one file of the product makes: the beginning of the path, and the file's name.
const WALLS: [(&str, &str); 6] = [
    ("sled::", "kv.rs"),
    ("bincode::encode", "wire.rs"),
    ("bincode::decode", "wire.rs"),
    ("bincode::config", "wire.rs"),
    ("thread::Builder", "threads.rs"),
    ("thread::spawn", "threads.rs"),
];

/// Calls outside of their place, and defaults for values that always exist. Tests may make them.
pub fn walls(source: &Source) -> Vec<Violation> {
    if is_of_tests(&source.path) {
        return Vec::new();
    }
    let mut calls = Calls(Vec::new());
    calls.visit_file(&source.syntax);
    let name = source.path.rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    for (line, call) in calls.0 {
        let mut violation = |rule, text| {
            found.push(Violation { rule, place: source.path.clone(), line, text });
        };
        let own = ["engine/", "store/"].iter().any(|it| source.path.starts_with(it));
        if call == "unwrap_or_default" && own {
            violation("default", "`expect` says why it is there".to_owned());
        }
        for (path, place) in WALLS {
            let call = call.strip_prefix("std::").unwrap_or(&call);
            if call.starts_with(path) && name != place {
                violation("wall", format!("{call} belongs to {place}"));
            }
        }
    }
    found
}

/// Paths and methods that are called, with their lines, tests left out.
struct Calls(Vec<(usize, String)>);

impl<'a> Visit<'a> for Calls {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        let line = path.segments.first().map_or(1, |part| part.ident.span().start().line);
        self.0.push((line, parts.join("::")));
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        self.0.push((call.method.span().start().line, call.method.to_string()));
        visit::visit_expr_method_call(self, call);
    }
}

/// The handles of the engine, and the most public methods that they have together.
const HANDLES: ([&str; 4], usize) = (["Engine", "View", "Task", "Lineage"], 80);

/// Public methods of the handles of the engine, where there are more than there may be.
pub fn methods(sources: &[Source]) -> Vec<Violation> {
    let (handles, most) = HANDLES;
    let items = sources.iter().flat_map(|source| &source.syntax.items);
    let impls = items.filter_map(|item| match item {
        syn::Item::Impl(item) if item.trait_.is_none() => Some(item),
        _ => None,
    });
    let of_handles = impls.filter(|item| match &*item.self_ty {
        syn::Type::Path(ty) => handles.iter().any(|handle| ty.path.is_ident(handle)),
        _ => false,
    });
    let methods = of_handles.flat_map(|item| &item.items);
    let is_method =
        |item: &&syn::ImplItem| matches!(item, syn::ImplItem::Fn(it) if is_public(&it.vis));
    let count = methods.filter(is_method).count();
    let violation = || Violation {
        rule: "methods",
        place: handles.join(", "),
        line: 1,
        text: format!("{count} public methods, at most {most}"),
    };
    (count > most).then(violation).into_iter().collect()
}

/// Types for the whole crate that share their name with another type of it.
pub fn twice(name: &str, sources: &[Source]) -> Vec<Violation> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        for item in source.syntax.items.iter() {
            if let Some(ident) = type_of_crate(item) {
                places.entry(ident).or_default().push(source.path.clone());
            }
        }
    }
    let places = places.into_iter().filter(|(_, files)| files.len() > 1);
    let violation = |(ident, files): (String, Vec<String>)| Violation {
        rule: "type-name",
        place: format!("{name}: {ident}"),
        line: 1,
        text: format!("defined in {}", files.join(", ")),
    };
    places.map(violation).collect()
}

/// The name of a type that is public or of the crate.
fn type_of_crate(item: &syn::Item) -> Option<String> {
    let (vis, ident, attrs) = match item {
        syn::Item::Struct(item) => (&item.vis, &item.ident, &item.attrs),
        syn::Item::Enum(item) => (&item.vis, &item.ident, &item.attrs),
        syn::Item::Type(item) => (&item.vis, &item.ident, &item.attrs),
        syn::Item::Trait(item) => (&item.vis, &item.ident, &item.attrs),
        _ => return None,
    };
    let is_of_crate = match vis {
        syn::Visibility::Public(_) => true,
        syn::Visibility::Restricted(to) => to.path.is_ident("crate"),
        syn::Visibility::Inherited => false,
    };
    (is_of_crate && !is_test(attrs)).then(|| ident.to_string())
}

/// The public names of `milepost`, with their modules, are those of `engine/public-names.txt`.
pub fn public(sources: &[Source], root: &Path) -> Vec<Violation> {
    let Some(lib) = sources.iter().find(|source| source.path.ends_with("/lib.rs")) else {
        return Vec::new();
    };
    let names = public_names(&lib.syntax, sources);
    let list = root.join("engine/public-names.txt");
    if std::env::var("MILEPOST_TIDY").as_deref() == Ok("update") {
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(&list, lines).unwrap();
    }
    let text = std::fs::read_to_string(&list).unwrap_or_default();
    let listed: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    let violation = |name: &String| Violation {
        rule: "public-name",
        place: name.clone(),
        line: 1,
        text: "is in one of engine/src/lib.rs and engine/public-names.txt only".to_owned(),
    };
    names.symmetric_difference(&listed).map(violation).collect()
}

/// The public names of a root and of its public modules, which are inline or in `sources`.
pub fn public_names(root: &syn::File, sources: &[Source]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    add_names(&root.items, "", sources, &mut names);
    names
}

fn add_names(items: &[syn::Item], module: &str, sources: &[Source], names: &mut BTreeSet<String>) {
    for item in items {
        let (vis, ident) = match item {
            syn::Item::Use(item) if is_public(&item.vis) => {
                let mut found = BTreeSet::new();
                leaves(&item.tree, &mut found);
                names.extend(found.iter().map(|name| format!("{module}{name}")));
                continue;
            }
            syn::Item::Mod(item) => (&item.vis, &item.ident),
            syn::Item::Struct(item) => (&item.vis, &item.ident),
            syn::Item::Enum(item) => (&item.vis, &item.ident),
            syn::Item::Trait(item) => (&item.vis, &item.ident),
            syn::Item::Type(item) => (&item.vis, &item.ident),
            syn::Item::Const(item) => (&item.vis, &item.ident),
            syn::Item::Fn(item) => (&item.vis, &item.sig.ident),
            _ => continue,
        };
        if !is_public(vis) {
            continue;
        }
        names.insert(format!("{module}{ident}"));
        let syn::Item::Mod(inner) = item else { continue };
        let ends = [format!("/src/{ident}.rs"), format!("/src/{ident}/mod.rs")];
        let file = sources.iter().find(|source| ends.iter().any(|end| source.path.ends_with(end)));
        let items = match (&inner.content, file) {
            (Some((_, items)), _) => items,
            (None, Some(file)) => &file.syntax.items,
            (None, None) => continue,
        };
        add_names(items, &format!("{module}{ident}::"), sources, names);
    }
}

fn is_public(vis: &syn::Visibility) -> bool {
    matches!(vis, syn::Visibility::Public(_))
}

fn leaves(tree: &syn::UseTree, names: &mut BTreeSet<String>) {
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, names),
        syn::UseTree::Name(name) => drop(names.insert(name.ident.to_string())),
        syn::UseTree::Rename(name) => drop(names.insert(name.rename.to_string())),
        syn::UseTree::Glob(_) => {}
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
    }
}
