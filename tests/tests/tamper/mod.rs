//! Edits of the files by an attacker with full access: detection by the checks, by `verify`, by an
//! anchor, and by a key. Undetected edits are stated too.
//!
//! ```text
//! forge.rs     the forger: commits taken apart and written again with right checks, sled's entries
//! groups.rs    entries that share a value in sled
//! stores.rs    the store that is edited, and what is found
//! careless.rs  bytes changed in files
//! history.rs   histories written anew with care: only an anchor shows it, or a key keeps it out
//! entries.rs   sled's entries and blocks changed with care, and a snapshot
//! keys.rs      keyed stores, and what of the key can be found
//! anchors.rs   anchors themselves
//! ```

mod anchors;
mod careless;
mod entries;
mod forge;
mod groups;
mod history;
mod keys;
mod stores;
