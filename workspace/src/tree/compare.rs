//! Comparison of several trees, name by name. Subtrees that are equal in all of them are not read.

use std::iter::Peekable;

use milepost::Result;
use milepost_codec::{ChunkId, EntryKind, Item, Name, TreePath};

use super::read::TreeFolder;
use crate::chunks::Contents;

/// Callback with a path and its item in each tree. A folder that differs comes before its contents.
pub(crate) type ItemVisitor<'t, const N: usize> =
    &'t mut dyn FnMut(&TreePath, &[Option<Item>; N]) -> Result<()>;

/// Calls `visit` with each path whose items differ, in order of paths.
pub(crate) fn side_by_side<const N: usize>(
    contents: &dyn Contents,
    trees: [Option<ChunkId>; N],
    visit: ItemVisitor<'_, N>,
) -> Result<()> {
    let mut stack: Vec<Level<'_>> = Vec::new();
    if !all_same(&trees) {
        stack.push(Level::open(contents, None, trees)?);
    }
    while let Some(level) = stack.last_mut() {
        let Some((path, items)) = level.next()? else {
            stack.pop();
            continue;
        };
        if all_same(&items) {
            continue;
        }
        visit(&path, &items)?;
        let below = items.map(|item| match item?.kind {
            EntryKind::Directory { id } => Some(id),
            _ => None,
        });
        if !all_same(&below) {
            stack.push(Level::open(contents, Some(path), below)?);
        }
    }
    Ok(())
}

/// One folder in each tree.
struct Level<'a> {
    path: Option<TreePath>,
    folders: Vec<Peekable<TreeFolder<'a>>>,
}

impl<'a> Level<'a> {
    fn open<const N: usize>(
        contents: &'a dyn Contents,
        path: Option<TreePath>,
        trees: [Option<ChunkId>; N],
    ) -> Result<Self> {
        let mut folders = Vec::with_capacity(N);
        for tree in trees {
            let folder = match tree {
                Some(id) => TreeFolder::open(contents, &id).map_err(|e| at(e, path.as_ref()))?,
                None => TreeFolder::none(contents),
            };
            folders.push(folder.peekable());
        }
        Ok(Self { path, folders })
    }

    /// Returns the next path and its item in each tree.
    fn next<const N: usize>(&mut self) -> Result<Option<(TreePath, [Option<Item>; N])>> {
        let Some(name) = first(&mut self.folders).map_err(|e| at(e, self.path.as_ref()))? else {
            return Ok(None);
        };
        let mut items: [Option<Item>; N] = std::array::from_fn(|_| None);
        for (item, folder) in items.iter_mut().zip(&mut self.folders) {
            let matching = folder.next_if(|next| matches!(next, Ok(entry) if entry.name == name));
            *item = matching.and_then(Result::ok).map(|entry| entry.item);
        }
        let path = match &self.path {
            Some(path) => path.join(&name)?,
            None => TreePath::from(name),
        };
        Ok(Some((path, items)))
    }
}

fn at(error: milepost::Error, path: Option<&TreePath>) -> milepost::Error {
    match path {
        Some(path) => error.at(path),
        None => error,
    }
}

/// Returns the lowest next name of all folders.
fn first(folders: &mut [Peekable<TreeFolder<'_>>]) -> Result<Option<Name>> {
    let mut lowest: Option<Name> = None;
    for folder in folders {
        if folder.peek().is_some_and(Result::is_err)
            && let Some(Err(e)) = folder.next()
        {
            return Err(e);
        }
        if let Some(Ok(entry)) = folder.peek()
            && lowest.as_ref().is_none_or(|lowest| entry.name < *lowest)
        {
            lowest = Some(entry.name.clone());
        }
    }
    Ok(lowest)
}

fn all_same<T: PartialEq>(all: &[T]) -> bool {
    let first = all.first();
    all.iter().all(|one| Some(one) == first)
}
