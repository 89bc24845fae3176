//! Ranges of maps and sets that are sorted by path as bytes. A folder and its contents are not
//! always adjacent: `a-b` sorts between `a` and `a/b`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Returns `true` if `path` is the folder or below it. All paths are below the root, the empty
/// path.
pub(crate) fn is_below(folder: &[u8], path: &[u8]) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => folder.is_empty() || rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

/// Returns the entries of a folder and of all paths below it, in order.
pub(crate) fn below<'a, V>(
    entries: &'a BTreeMap<Box<[u8]>, V>,
    folder: &[u8],
) -> impl Iterator<Item = (&'a [u8], &'a V)> {
    let itself = entries.get_key_value(folder);
    let from = match folder.is_empty() {
        // `itself` holds the root already.
        true => Bound::Excluded(Box::from(folder)),
        false => Bound::Included([folder, b"/"].concat().into_boxed_slice()),
    };
    let folder: Box<[u8]> = folder.into();
    let inside = entries
        .range((from, Bound::Unbounded))
        .take_while(move |(path, _)| is_below(&folder, path));
    itself.into_iter().chain(inside).map(|(path, v)| (&**path, v))
}

/// Returns `true` if `paths` contains a folder or a path below it.
pub(crate) fn any_below(paths: &BTreeSet<Box<[u8]>>, folder: &[u8]) -> bool {
    let from = [folder, b"/"].concat().into_boxed_slice();
    match folder.is_empty() {
        true => !paths.is_empty(),
        false => {
            let mut inside = paths.range(from..).map(|path| is_below(folder, path));
            paths.contains(folder) || inside.next() == Some(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_folder_is_found_and_nothing_beside_it() {
        let paths = ["", "a", "a-b", "a-b/c", "a/b", "a/b/c", "a0", "aa", "b"];
        let entries = paths.map(|path| (Box::from(path.as_bytes()), ()));
        let entries = BTreeMap::from(entries);
        for folder in ["", "a", "a-b", "a/b", "c", "a/"] {
            let found: Vec<&[u8]> =
                below(&entries, folder.as_bytes()).map(|(path, ())| path).collect();
            let expected: Vec<&[u8]> = paths
                .iter()
                .map(|path| path.as_bytes())
                .filter(|path| is_below(folder.as_bytes(), path))
                .collect();
            assert_eq!(found, expected, "{folder}");
            let any = |path: &[u8]| any_below(&BTreeSet::from([path.into()]), folder.as_bytes());
            for path in paths {
                let expected = is_below(folder.as_bytes(), path.as_bytes());
                assert_eq!(any(path.as_bytes()), expected, "{path} below {folder}");
            }
        }
        assert!(is_below(b"", b"a/b") && is_below(b"a", b"a") && is_below(b"a", b"a/b"));
        assert!(!is_below(b"a", b"ab") && !is_below(b"a/b", b"a") && !is_below(b"a", b"b/a"));
    }
}
