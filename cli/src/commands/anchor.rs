//! `anchor`: the heads of the store, to be kept somewhere else.

use milepost::Engine;

use crate::error::Result;
use crate::output::Out;

pub fn run(engine: &Engine, out: &mut Out) -> Result<()> {
    // The form is the same with and without --json: it is for a file.
    Ok(out.line(engine.anchor()?.to_json().trim_end())?)
}
