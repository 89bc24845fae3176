//! The bodies of the fuzz targets, as plain functions of bytes.
//!
//! `fuzz/fuzz_targets/NAME.rs` hands the bytes that libFuzzer makes to `NAME` here;
//! `tests/tests/corpus.rs` does the same with the stored inputs, on a stable toolchain. Each
//! function panics where a promise is broken: a panic in the code under test, an error of the wrong
//! kind, more memory than the input justifies, a value that changes on its way, a store that loses
//! or changes an event without an error.
//!
//! ```text
//! records.rs  records, sections, groups, headers, bodies and controls   target records
//! pieces.rs   what is under a check, and lists                          blocks lists acked
//! trees.rs    what captures are made of, and groups of chunks           tree chunk_group
//! files.rs    a journal segment, an archive file                        segment archive
//! texts.rs    the JSON form of events, addresses, anchors               json address anchor
//! imports.rs  what `milepost record` reads                              imports
//! sessions.rs sessions of coding agents   sessions codex_sessions copilot_sessions gemini_sessions
//!                                         opencode_exports qwen_sessions
//! langgraph.rs  checkpoints of LangGraph                                langgraph
//! agents.rs   settings of coding agents, documents of their hooks       agent_settings
//!                                                                       agent_documents
//! exports.rs  what `milepost export` wrote                              exports
//! store/      programs of operations on a store, with a model           reopen damage
//!
//! checks.rs   makes the checks of changed bytes right again
//! input.rs    takes numbers off an input                                bounds.rs  what is held
//! ```
//!
//! Where bytes are under a check, the first byte of an input says whether the checks in it are made
//! right before it is read: otherwise nothing behind a check would ever be reached.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

mod agents;
mod bounds;
mod checks;
mod exports;
mod files;
mod imports;
mod input;
mod langgraph;
mod pieces;
mod records;
mod sessions;
mod store;
mod texts;
mod trees;

pub use agents::{agent_documents, agent_settings};
pub use exports::{export_of, exports};
pub use files::{archive, segment};
pub use imports::imports;
pub use langgraph::langgraph;
pub use pieces::{acked, blocks, lists};
pub use records::records;
pub use sessions::{
    codex_sessions, copilot_sessions, gemini_sessions, opencode_exports, qwen_sessions, sessions,
};
pub use store::{damage, reopen};
pub use texts::{address, anchor, json};
pub use trees::{chunk_group, tree};

/// A target: its name, and its function of an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 24] = [
    ("acked", acked),
    ("address", address),
    ("agent_documents", agent_documents),
    ("agent_settings", agent_settings),
    ("anchor", anchor),
    ("archive", archive),
    ("blocks", blocks),
    ("chunk_group", chunk_group),
    ("codex_sessions", codex_sessions),
    ("copilot_sessions", copilot_sessions),
    ("damage", damage),
    ("exports", exports),
    ("gemini_sessions", gemini_sessions),
    ("imports", imports),
    ("json", json),
    ("langgraph", langgraph),
    ("lists", lists),
    ("opencode_exports", opencode_exports),
    ("qwen_sessions", qwen_sessions),
    ("records", records),
    ("reopen", reopen),
    ("segment", segment),
    ("sessions", sessions),
    ("tree", tree),
];

/// First bytes of the seeds of `records`, `blocks`, `lists` and `tree`, by the decoder they are
/// for.
pub mod selectors {
    pub use crate::targets::pieces::{BLOCKS, LISTS};
    pub use crate::targets::records::{PLAIN, body_selector, control_selector};
    pub use crate::targets::trees::TREES;
}
