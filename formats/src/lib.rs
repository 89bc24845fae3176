//! Files that become tasks of a Milepost store, and files that tasks become.
//!
//! [`look::look`] detects the inputs at a path. Each area has a function that takes an engine, an
//! input, options and a [`Progress`], and returns a report:
//!
//! | area | function | report |
//! |---|---|---|
//! | runs of other programs | [`record::record`] | [`record::RecordReport`] |
//! | session file: write | [`session_file::SessionFile`] | its bytes |
//! | checkpoint files | [`checkpoint_folder::import`] | [`checkpoint_folder::FolderReport`] |
//! | export file: write | [`export_file::export`] | [`export_file::Exported`] |
//! | export file: backup | [`backup()`] | the path of the file |
//! | export file: read | [`export_file::ExportImport::run`] | [`export_file::ImportedExport`] |
//!
//! A [`Progress`] receives the work that is done, notes, and acknowledgements of durable events. An
//! [`Error`] has a kind for programs, and a [`Remedy`]: the next step, which the caller words with
//! the names of its own options.
//!
//! # Modules of the source
//!
//! ```text
//! look               detects the inputs at a path
//! record/            records runs of other programs: converts and writes each format
//! session_file/      writes session files from the log
//! input              opens runs
//! checkpoint_folder/ imports folders of JSON checkpoint files
//! export_file/       writes and imports the export file of Milepost, and redacts secrets
//! share_file/        reads the export in a share, which is an HTML file
//! json_object        JSON objects with their fields in order, and values as compact text
//! backup             exports before a cleanup
//! bounded_lines      lines of bounded length
//! progress           progress, notes and acknowledgements
//! error              errors and their remedies
//! detect             formats of inputs, detected by their beginning
//! objects            whole JSON objects in a damaged line
//! format             formats of runs
//! ```
//!
//! A module imports only modules below it.
//!
//! # Example
//!
//! ```
//! use milepost::{Engine, Options};
//! use milepost_formats::input::RunInput;
//! use milepost_formats::record::{RecordOptions, record};
//!
//! let dir = tempfile::tempdir().unwrap();
//! let path = dir.path().join("tuning.jsonl");
//! std::fs::write(&path, r#"{"kind":"message","role":"user","content":"make it faster"}"#)?;
//! let options = RecordOptions {
//!     user: "ana".to_owned(),
//!     task: None,
//!     stem: None,
//!     format: None,
//!     strict: false,
//!     acknowledge: false,
//!     allow_unknown: false,
//!     event_max: 1 << 20,
//! };
//! let engine = Engine::in_memory(Options::default())?;
//! let report = record(&engine, RunInput::open(&path)?, &options, &mut ())?;
//! assert!(report.is_complete());
//! assert_eq!(report.tasks[0].task, "tuning");
//! assert_eq!(report.tasks[0].events, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backup;
mod bounded_lines;
pub mod checkpoint_folder;
mod detect;
mod error;
pub mod export_file;
mod format;
pub mod input;
mod json_object;
pub mod look;
mod objects;
mod progress;
pub mod record;
pub mod session_file;
pub mod share_file;

pub use backup::backup;
pub use error::{Error, ErrorKind, Remedy, Result};
pub use format::Format;
pub use progress::{Durable, Note, Progress, Unit, Work};
pub use record::{
    DOCUMENTS_KEY, HOOK_KEY, SessionTail, TailRead, TailStop, continued, session_description,
    session_line,
};

/// Entry points of the fuzz targets. Not part of the interface.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::detect::detect;
    pub use crate::export_file::line::parse;
    pub use crate::export_file::write::event_text;
    pub use crate::json_object::{Object, compact};
    pub use crate::objects::{Piece, pieces};
    pub use crate::record::claude_code::line::read;
    pub use crate::record::codex::line::Rollout;
    pub use crate::record::copilot::read as read_copilot;
    pub use crate::record::database::langgraph::checkpoint::parts;
    pub use crate::record::database::langgraph::metadata::metadata;
    pub use crate::record::document::plans;
    pub use crate::record::gemini_cli::line::Chat;
    pub use crate::record::jsonl::{EventLine, Lines, Text};
    pub use crate::record::list_patch::patch;
    pub use crate::record::opencode::parts::read as read_opencode;
    pub use crate::record::plan::{Item, Plan, common_prefix};
    pub use crate::record::qwen_code::read as read_qwen;
    pub use crate::record::session::line::{Part, SessionLine};
    pub use crate::record::session::tree::{Spot, Tree};
    pub use crate::record::session::{EachAlone, LineParser};
    pub use milepost_langgraph::{Typed, joined_map, split_map, to_json};
}
