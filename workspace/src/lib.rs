//! Workspaces: captures of a folder of files, recorded in the log of a task.
//!
//! `docs/WORKSPACE.md` describes what a capture includes, what it leaves out, and why nothing else
//! is touched. A capture is a tree of chunks in the store of an engine, and one event that names
//! it.
//!
//! ```text
//! workspace    the handle users work with: open, capture     options, status
//! capture/     one capture, from the lock to the event       root_checks, lock
//! scan/        the folder's content as a tree                cache/
//! rollback/    restores the folder with the log: restore, undo, recover
//! plan/        the actions of a restore, and its conflicts
//! apply/       the execution of a plan; a crash at any instant can be undone
//! snapshot     a stored capture: list, read                  diff, tree/
//! checkout/    writes a stored capture into an empty folder
//! fs/          descriptors, stamps, the file system's clock  error
//! chunks       traits of the content store                   path_range
//! ```
//!
//! # Example
//!
//! ```
//! use std::io::Read as _;
//!
//! use milepost::{Engine, Mark, Options};
//! use milepost_codec::TreePath;
//! use milepost_workspace::{Snapshot, Workspace, WorkspaceOptions};
//!
//! # let dir = tempfile::tempdir()?;
//! # let (store, folder) = (dir.path().join("store"), dir.path().join("work"));
//! # std::fs::create_dir(&folder)?;
//! let engine = Engine::open(store, Options::default())?;
//! let task = engine.start_task("essay", "ana")?;
//! let workspace = Workspace::open(&folder, WorkspaceOptions::default())?;
//!
//! std::fs::write(folder.join("draft.md"), "# A draft\n")?;
//! let report = workspace.capture(&engine, &task, Some(Mark::new().label("draft")))?;
//! assert_eq!((report.files, report.bytes), (1, 10));
//!
//! std::fs::remove_file(folder.join("draft.md"))?;
//! let draft = Snapshot::at(&engine, &engine.point("essay@draft")?)?;
//! let mut text = String::new();
//! draft.read(&TreePath::new(b"draft.md")?)?.read_to_string(&mut text)?;
//! assert_eq!(text, "# A draft\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod cache;
mod capture;
mod checkout;
mod chunks;
mod diff;
mod error;
mod fs;
mod lock;
mod options;
mod path_range;
mod plan;
mod rollback;
mod root_checks;
mod scan;
mod snapshot;
mod status;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod workspace;

pub use capture::CaptureReport;
pub use diff::{FileChange, FileChanges, Renamed};
pub use milepost::hooks::WorkspaceState;
pub use options::WorkspaceOptions;
pub use plan::{
    Choices, ConflictWhy, LeftOut, LeftOutChange, LeftPath, LeftWhy, NotCovered, NoteWhat,
};
pub use plan::{PathConflict, Plan, PlanNote, PlannedPath, Way};
pub use rollback::{Recovery, RestoreReport};
pub use scan::{DEFAULT_IGNORES, left_out};
pub use snapshot::{CaptureInfo, Content, Entries, Skips, Snapshot, SnapshotEntry};
pub use status::{StatusFeed, WorkspaceStatus};
pub use workspace::Workspace;

pub use milepost_codec::{EntryKind, Item, Name, PathBytes, Skip, SkipReason, TreePath};
