//! `anchor`: the heads of the store, to be kept somewhere else.

use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;

pub fn run(source: &dyn Backend, out: &mut Out) -> Result<()> {
    // The form is the same with and without --json: it is for a file.
    Ok(out.line(source.anchor()?.trim_end())?)
}
