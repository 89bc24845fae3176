//! Ids of checkpoints, and limits.
// tidy: shared by the two kinds of databases

/// Maximum size of an id that is part of a key or an alias, in bytes.
const ID_MAX: usize = 200;
/// Maximum size of a mark's metadata, in bytes.
pub(super) const METADATA_MAX: usize = 64 << 10;

/// Callback with the id of a checkpoint that is not written, and the reason.
pub(super) type Skip<'a> = &'a mut dyn FnMut(&str, &str);

/// Returns `true` if an id is valid as part of a key and as an alias.
pub(super) fn is_name(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && !id.chars().any(char::is_control)
}

/// Returns the reason why an id is invalid as part of a key.
pub(super) fn not_a_name() -> String {
    format!("an id has 1 to {ID_MAX} bytes, and no control character")
}
