//! Shared code of the benches: events to write, other stores to write them to, and clocks for both.
//!
//! ```text
//! corpus.rs     events: real recorded runs where they are there, else generated ones
//! trees.rs      folders of generated files
//! peers/        the alternatives: SQLite as an event table, a bare file, a shadow git repository
//! measure.rs    alternating rounds, medians, ratios
//! rows/         one row of the design's targets each
//! served/       the service under load
//! compare/      the same work by us and by others, as one table
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench that fails has nothing to recover"
)]

pub mod compare;
pub mod corpus;
pub mod measure;
pub mod peers;
pub mod rows;
pub mod served;
pub mod trees;

/// Returns the path of the `milepost` command: `MILEPOST`, or what the profile `dist` built.
pub fn program() -> std::path::PathBuf {
    let built = || std::env::current_exe().unwrap().with_file_name("../dist/milepost");
    let program = std::env::var_os("MILEPOST").map_or_else(built, Into::into);
    let build = "`cargo build --profile dist -p milepost-cli` makes it, or MILEPOST names one";
    assert!(program.exists(), "there is no {}: {build}", program.display());
    program
}
