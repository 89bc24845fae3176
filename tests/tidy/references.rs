//! References between the files of a crate: each path leads to the file that defines its item,
//! through re-exports. Declarations of modules and re-exports are no references.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Source;
use crate::files::{is_of_tests, is_test};

/// The longest way through re-exports that is followed.
const HOPS: usize = 16;

/// The name of a file's item in another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The positions of the files.
    pub from: usize,
    pub to: usize,
    pub line: usize,
    pub name: String,
}

/// Returns the first reference from each file to each other one, tests left out.
pub fn between(sources: &[Source]) -> Vec<Reference> {
    let mut scopes = Scopes::default();
    let product = || sources.iter().enumerate().filter(|(_, source)| !is_of_tests(&source.path));
    for (file, source) in product() {
        scopes.module(file, source.modules());
        Declared { scopes: &mut scopes, at: source.modules() }.visit_file(&source.syntax);
    }
    let mut found: BTreeMap<(usize, usize), Reference> = BTreeMap::new();
    for (from, source) in product() {
        let mut paths = Paths { at: source.modules(), found: Vec::new() };
        paths.visit_file(&source.syntax);
        let mut known = BTreeSet::new();
        for Path { at, names, line } in paths.found {
            if !known.insert((at.clone(), names.clone())) {
                continue;
            }
            let to = scopes.resolve(&at, &names, HOPS);
            if let Some(to) = to.filter(|to| *to != from) {
                let name = names.last().cloned().unwrap_or_default();
                found.entry((from, to)).or_insert(Reference { from, to, line, name });
            }
        }
    }
    found.into_values().collect()
}

/// The names of a module.
#[derive(Default)]
struct Scope {
    file: usize,
    /// Items, of which `true` has names below it: functions and values have none.
    items: BTreeMap<String, bool>,
    /// Names that a `use` brings, with their paths.
    uses: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

#[derive(Default)]
struct Scopes {
    modules: BTreeMap<Vec<String>, Scope>,
    /// The files of `macro_rules!`, which have names without a path.
    macros: BTreeMap<String, usize>,
}

impl Scopes {
    fn module(&mut self, file: usize, at: Vec<String>) -> &mut Scope {
        self.modules.entry(at).or_insert_with(|| Scope { file, ..Scope::default() })
    }

    /// Returns the file of a path's item, as a module sees the path.
    fn resolve(&self, at: &[String], path: &[String], hops: usize) -> Option<usize> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (0, 1),
            "self" => (at.len(), 1),
            "super" => (at.len().checked_sub(supers)?, supers),
            _ => return self.inside(at, path, false, hops),
        };
        self.inside(&at[..base], &path[rest..], true, hops)
    }

    /// Returns the file of an item in a module. The `whole` path leads there: a name that is not
    /// found comes out of a macro.
    fn inside(&self, at: &[String], path: &[String], whole: bool, hops: usize) -> Option<usize> {
        let (name, rest) = path.split_first()?;
        let (scope, hops) = (self.modules.get(at)?, hops.checked_sub(1)?);
        let child = [at, std::slice::from_ref(name)].concat();
        let is_module = self.modules.contains_key(&child);
        if is_module && !rest.is_empty() {
            return self.inside(&child, rest, true, hops);
        }
        if scope.items.get(name).is_some_and(|is_type| *is_type || rest.is_empty()) {
            return Some(scope.file);
        }
        let through = |target: &[String]| self.resolve(at, &[target, rest].concat(), hops);
        if let Some(target) = scope.uses.get(name) {
            return through(target);
        }
        let mut globs = scope.globs.iter();
        let globbed =
            globs.find_map(|glob| self.resolve(at, &[glob.as_slice(), path].concat(), hops));
        // The name of a module alone is no reference: what is used of it, is.
        let is_made = whole && scope.globs.is_empty() && !is_module;
        globbed
            .or_else(|| (!whole && rest.is_empty()).then(|| self.macros.get(name).copied())?)
            .or_else(|| is_made.then_some(scope.file))
    }
}

/// Takes in the names that a file declares.
struct Declared<'a> {
    scopes: &'a mut Scopes,
    at: Vec<String>,
}

impl Declared<'_> {
    fn scope(&mut self) -> &mut Scope {
        self.scopes.modules.get_mut(&self.at).unwrap()
    }
}

impl<'a> Visit<'a> for Declared<'_> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let name = match item {
            syn::Item::Const(item) => &item.ident,
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Fn(item) => &item.sig.ident,
            syn::Item::Static(item) => &item.ident,
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::TraitAlias(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Union(item) => &item.ident,
            syn::Item::Macro(syn::ItemMacro { ident: Some(ident), .. }) => {
                let file = self.scope().file;
                self.scopes.macros.insert(ident.to_string(), file);
                return;
            }
            _ => return visit::visit_item(self, item),
        };
        use syn::Item::{Const, Fn, Static};
        let is_type = !matches!(item, Const(_) | Fn(_) | Static(_));
        *self.scope().items.entry(name.to_string()).or_default() |= is_type;
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if module.content.is_none() || is_test(&module.attrs) {
            return;
        }
        let file = self.scope().file;
        self.at.push(module.ident.to_string());
        self.scopes.module(file, self.at.clone());
        visit::visit_item_mod(self, module);
        self.at.pop();
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if is_test(&item.attrs) {
            return;
        }
        let scope = self.scope();
        leaves(&[], &item.tree, &mut |name, path| match name {
            Some(name) => drop(scope.uses.insert(name, path)),
            None => scope.globs.push(path),
        });
    }
}

/// Calls `take` with each path of a `use`, and the name that it gets; a glob has none.
fn leaves(
    before: &[String],
    tree: &syn::UseTree,
    take: &mut dyn FnMut(Option<String>, Vec<String>),
) {
    let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
    match tree {
        syn::UseTree::Path(path) => leaves(&with(&path.ident), &path.tree, take),
        syn::UseTree::Name(name) if name.ident == "self" => {
            take(before.last().cloned(), before.to_vec());
        }
        syn::UseTree::Name(name) => take(Some(name.ident.to_string()), with(&name.ident)),
        syn::UseTree::Rename(name) => take(Some(name.rename.to_string()), with(&name.ident)),
        syn::UseTree::Glob(_) => take(None, before.to_vec()),
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| leaves(before, tree, take));
        }
    }
}

/// A path, and the module that names it.
struct Path {
    at: Vec<String>,
    names: Vec<String>,
    line: usize,
}

/// The paths of a file.
struct Paths {
    at: Vec<String>,
    found: Vec<Path>,
}

impl Paths {
    fn take(&mut self, names: Vec<String>, line: usize) {
        self.found.push(Path { at: self.at.clone(), names, line });
    }

    /// Takes the paths of tokens, which may be any code.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut names, mut colons, mut begin) = (Vec::new(), 2, 1);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 || names.is_empty() {
                        self.flush(&mut names, begin);
                        begin = ident.span().start().line;
                    }
                    // A name after a dot is a field or a method.
                    if colons <= 2 {
                        names.push(ident.to_string());
                    }
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && colons < 2 => colons += 1,
                TokenTree::Group(group) => {
                    self.flush(&mut names, begin);
                    self.tokens(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(punct) => {
                    self.flush(&mut names, begin);
                    colons = if punct.as_char() == '.' { 3 } else { 0 };
                }
                TokenTree::Literal(_) => {
                    self.flush(&mut names, begin);
                    colons = 0;
                }
            }
        }
        self.flush(&mut names, begin);
    }

    fn flush(&mut self, names: &mut Vec<String>, line: usize) {
        if !names.is_empty() {
            self.take(std::mem::take(names), line);
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

    fn visit_item(&mut self, item: &'a syn::Item) {
        let attrs = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attrs) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if is_test(&item.attrs) || !matches!(item.vis, syn::Visibility::Inherited) {
            return;
        }
        let line = item.span().start().line;
        leaves(&[], &item.tree, &mut |_, path| self.take(path, line));
    }

    fn visit_vis_restricted(&mut self, _: &'a syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.take(names, path.span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        let syn::Meta::List(list) = &attribute.meta else { return };
        self.tokens(list.tokens.clone());
        // serde names functions in texts.
        for token in list.tokens.clone() {
            if let TokenTree::Literal(text) = token
                && list.path.is_ident("serde")
                && let Ok(text) = syn::parse_str::<syn::LitStr>(&text.to_string())
                && let Ok(path) = text.parse::<syn::Path>()
            {
                self.visit_path(&path);
            }
        }
    }
}
