//! Stored format of Milepost: encodes events to bytes and decodes them.
//!
//! This crate does no I/O and uses neither clock nor randomness. `docs/FORMAT.md` describes every
//! byte; the golden files in `tests/golden` pin them.
//!
//! ```text
//! event     header + body                       header.rs  body/  control.rs
//! record    one event as bytes                  record.rs
//! section   records of one append, one seed     section.rs
//! log batch a section placed in a log           log_batch.rs
//! frame     log batches committed by one sync   frame.rs    segment.rs (a file of frames)
//! watermark the newest acknowledged commit      watermark.rs
//! file      blocks with their commits           block_file/
//! chunk     a content-addressed piece           chunk.rs    snapshot.rs  base.rs
//!           several, compressed together        chunk_group.rs
//! tree      a captured folder, in chunks        tree/
//! chain     hashes that prove the history       chain.rs    checkpoint.rs  key.rs
//! ```
//!
//! # Example
//!
//! ```
//! use milepost_codec::{Body, Message};
//!
//! let body = Body::from_json(r#"{"kind":"message","role":"user","content":"hello"}"#)?;
//! assert_eq!(body, Body::Message(Message::text("user", "hello")));
//! let (kind, payload) = body.encode();
//! assert_eq!(Body::decode(kind, &payload)?, body);
//! # Ok::<(), milepost_codec::Error>(())
//! ```

mod base;
mod block_file;
mod body;
mod chain;
mod checkpoint;
mod chunk;
mod chunk_group;
mod compress;
mod control;
mod error;
mod float;
mod frame;
mod header;
mod id;
mod json;
mod key;
mod limits;
mod log_batch;
mod record;
mod section;
mod segment;
mod snapshot;
mod tree;
mod watermark;
pub mod wire;

pub use crate::log_batch::{LogBatchRef, LogBatches, begin_log_batch};
pub use crate::watermark::AckWatermark;
pub use base::{Base, BaseKey, ReducerState};
pub use block_file::{
    BLOCK_RAW_TARGET, BlockFileHeader, BlockHeader, CommitTable, CommitTableHeader, Packing,
    ROUND_RAW_MAX, Run, RunBlock, SECTION_RAW_TARGET, Sealing,
};
pub use body::{
    Application, ArtifactsEdited, Body, CheckpointAttached, ContextChanged, ControlChanged,
    CopiedFrom, Data, DataAttached, Extra, GuidanceGiven, LineageOpened, LineageType, Message,
    Parent, PatchForm, PhaseChanged, PromptChanged, Restored, RulesChanged, RunControl, Scope,
    StepFailed, StepFinished, StepStarted, ToolCalled, ToolReturned, VariablesPatched,
    WorkspaceCaptured,
};
pub use chain::{BodyForm, Chain, body_hash, salt};
pub use checkpoint::{
    CheckpointMarked, CheckpointUnmarked, MarkCause, MarkStatus, check_alias, check_name,
    checkpoint_id,
};
pub use chunk::{CHUNK_RAW_MAX, ChunkEntry, ChunkList, ChunkedBody};
pub use chunk_group::{ChunkGroup, GroupContents};
pub use compress::check_of;
pub use control::{
    Activated, ActivationCause, Control, Deleted, Dropped, Erased, FilesKept, LineageBegin,
    LineageRegistered, Lost, OwnerSet, Pinned, RemovedMark, RestoreBegun, RestoreEnded,
    RestoreOutcome, RestorePart, Retained, StoreCreated, TaskOpened, TaskPrepared, Trimmed,
    Unpinned,
};
pub use error::{Detail, Error, ErrorKind, Result};
pub use float::Float;
pub use frame::{FRAME_HEADER_LEN, FRAME_PAYLOAD_MAX, FrameHeader, seal_frame};
pub use header::Header;
pub use id::{
    CheckpointId, ChunkId, Epoch, Hash, Head, LineageId, LogId, LogKind, Offset, Origin, RestoreId,
    Seed, Seq, StoreId, TaskNo,
};
pub use json::{JSON_DEPTH_MAX, Json, json_reason};
pub use key::StoreKey;
pub use limits::{
    ALIASES_BYTES_MAX, ID_MAX, METADATA_MAX, NAME_MAX, TEXT_MAX, bounded, check_size,
};
pub use record::{RecordRef, Records, encode_record};
pub use section::{Salts, SectionRef, Sections};
pub use segment::{SEGMENT_HEADER_LEN, SEGMENT_HEADER_USED, SegmentHeader};
pub use snapshot::{Piece, PieceSource, Snapshot};
pub use tree::{
    Action, ActionKind, Capture, DIRECTORY_WHOLE_MAX, Entry, EntryKind, FileList, FilePart, Item,
    Leaf, Name, Node, NodeKind, PathBytes, RestoreIntent, Skip, SkipReason, TreePath,
    cut_directory, encode_directory, encode_file, printable,
};
pub use wire::{FORMAT_VERSION, Reader, put_varint};
