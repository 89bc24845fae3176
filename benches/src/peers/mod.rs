//! The alternatives that users have.

mod fjall;
mod git;
mod json_files;
mod okaywal;
mod plain_sled;
mod raw;
mod redb;
mod restic;
mod sqlite;

pub use fjall::Fjall;
pub use git::Git;
pub use json_files::JsonFiles;
pub use okaywal::OkayWal;
pub use plain_sled::PlainSled;
pub use raw::RawFile;
pub use redb::Redb;
pub use restic::Restic;
pub use sqlite::{Sqlite, SqliteGroup};
