//! Entries of the index, changes of them, and walks over them.

use milepost_codec::Result;

use crate::index::keys;

/// A change of one entry of the index: a value, or `None` to remove it.
pub type IndexPut = (Vec<u8>, Option<Vec<u8>>);

/// An entry of the index: key and value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A function that returns up to a number of entries of a range of keys, in order of keys.
pub type Scan<'a> = dyn Fn(&[u8], &[u8], usize) -> Result<Vec<Entry>> + 'a;

/// A callback that receives an entry: key and value.
pub type EntryVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Entries that a walk holds at once.
const WALK: usize = 1024;

/// Passes all entries whose keys begin with `prefix` to `visit`, in order of keys.
pub fn walk(prefix: &[u8], scan: &Scan<'_>, visit: &mut EntryVisitor<'_>) -> Result<()> {
    let mut from = prefix.to_vec();
    let end = match prefix {
        // No key is this long.
        [] => vec![0xFF; 64],
        prefix => keys::after_prefix(prefix),
    };
    loop {
        let page = scan(&from, &end, WALK)?;
        for (key, value) in &page {
            visit(key, value)?;
        }
        let Some((last, _)) = page.into_iter().next_back() else {
            return Ok(());
        };
        from = last;
        from.push(0);
    }
}
