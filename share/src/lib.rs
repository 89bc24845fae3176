//! A share: a task as one HTML file, which shows it in a browser, verifies it, and can be imported.
//! `docs/SHARE.md` defines the file.
//!
//! ```text
//! share    packs a task: its export and its index, within a limit of size
//! packing  the export in pieces, and a copy of the task as they have it
//! index    answers about the copy, for the viewer
//! pieces   compressed pieces
//! html     the file
//! check    compares the index of a file with its events
//! ```
//!
//! ```
//! use std::convert::Infallible;
//!
//! use milepost::events::Message;
//! use milepost::{Engine, Options};
//! use milepost_api::ShareRequest;
//! use milepost_share::Share;
//!
//! let engine = Engine::in_memory(Options::default())?;
//! let task = engine.start_task("essay", "ana")?;
//! task.append(Message::text("user", "the key is sk-abcdefghijklmnopqrst"))?;
//!
//! let share = Share::of(&engine, "essay", &ShareRequest::default(), &mut ())?;
//! assert_eq!(share.plan().withheld.0, 1);
//! let mut file = Vec::new();
//! share.write(&mut |bytes| {
//!     file.extend_from_slice(bytes);
//!     Ok::<_, Infallible>(())
//! })?;
//! assert!(file.starts_with(b"<!doctype html><!-- milepost share 1 -->\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod html;
mod index;
mod packing;
mod pieces;
mod share;

pub use check::{IndexCheck, check};
pub use share::Share;
