//! `anchor`: the heads of the store, to be kept somewhere else.

use crate::error::Result;
use crate::output::Out;
use crate::source::Source;

pub fn run(source: &dyn Source, out: &mut Out) -> Result<()> {
    // The form is the same with and without --json: it is for a file.
    Ok(out.line(source.anchor()?.trim_end())?)
}
