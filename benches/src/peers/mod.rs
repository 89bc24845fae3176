//! What users would use instead.

mod raw;
mod sqlite;

pub use raw::RawFile;
pub use sqlite::{Sqlite, SqliteGroup};
