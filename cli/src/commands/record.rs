//! `record`: turns runs of other programs into tasks.

// tidy: one command

use std::path::PathBuf;

use super::import::{ImportJob, asked};
use crate::args::Record;
use crate::error::Result;
use crate::output::Out;
use crate::store_locator::StoreArgs;

pub fn run(store: &StoreArgs, args: &Record, out: &mut Out) -> Result<()> {
    // A pipe may stay open for days, so other processes can attach.
    let is_pipe = |path: &PathBuf| !path.metadata().is_ok_and(|metadata| metadata.is_file());
    let attaches = args.files.iter().any(is_pipe);
    let asked = asked(&args.files, &args.runs, true);
    ImportJob { store, asked, ack: args.ack, attaches }.run(out)
}
