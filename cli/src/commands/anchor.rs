//! `anchor`: the heads of the store, to keep elsewhere.

// tidy: one command

use milepost_api::calls::Anchor;

use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;

pub fn run(source: &dyn Backend, out: &mut Out) -> Result<()> {
    // The output is the same with and without --json: it is meant for a file.
    Ok(out.line(source.call(Anchor::new())?.text().trim_end())?)
}
