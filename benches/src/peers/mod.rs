//! What users would use instead.

mod git;
mod raw;
mod sqlite;

pub use git::Git;
pub use raw::RawFile;
pub use sqlite::{Sqlite, SqliteGroup};
