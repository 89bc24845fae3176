//! The terminal, for the full-screen views.
//!
//! ```text
//! screen   setup and reset
//! keys     keys that were pressed
//! drawing  parts of a screen, and text in them
//! cache    a bounded cache of what was read from the store
//! scrolled_list  a list with a cursor, of which some rows are visible
//! ```

// tidy: names of the parts

mod cache;
mod drawing;
mod keys;
mod screen;
mod scrolled_list;
#[cfg(test)]
pub mod testing;

use std::io::{self, IsTerminal};

pub use cache::Cache;
pub use drawing::{
    Line, Looks, NAME, Tone, behind, choose, fitting, line_of, prompt_line, put, put_cells,
    put_lines, rule, split_below, split_right, wrapped,
};
pub use keys::Stroke;
pub use screen::{Screen, press_waiting, work};
pub use scrolled_list::{Pages, ScrolledList};

use crate::output::Out;

/// Columns and rows of the smallest screen that a full-screen view is made for.
pub const LEAST: (u16, u16) = (40, 10);

/// Returns `true` if standard input and output are terminals that can be drawn on, and the output
/// is not JSON.
pub fn is_possible(out: &Out) -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !out.json && !dumb && out.is_terminal() && io::stdin().is_terminal()
}
