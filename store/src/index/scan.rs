//! Entries of the index, changes of them, and walks through them.

use milepost_codec::Result;

use crate::index::keys;

/// A change of one entry of the index: a value, or none to remove it.
pub type IndexPut = (Vec<u8>, Option<Vec<u8>>);

/// A pair of the index.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Scans entries of an index in order of keys, at most so many.
pub type Scan<'a> = dyn Fn(&[u8], &[u8], usize) -> Result<Vec<Entry>> + 'a;

/// A function that takes an entry: its key and value.
pub type Shown<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Entries that a walk holds at once.
const WALK: usize = 1024;

/// Shows all entries whose keys begin with `prefix`, in order of keys, by whatever scans them.
pub fn walk(prefix: &[u8], scan: &Scan<'_>, show: &mut Shown<'_>) -> Result<()> {
    let mut from = prefix.to_vec();
    let end = match prefix {
        // No key is as long as this.
        [] => vec![0xFF; 64],
        prefix => keys::after_prefix(prefix),
    };
    loop {
        let page = scan(&from, &end, WALK)?;
        for (key, value) in &page {
            show(key, value)?;
        }
        let Some((last, _)) = page.into_iter().next_back() else {
            return Ok(());
        };
        from = last;
        from.push(0);
    }
}
