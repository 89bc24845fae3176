//! `record`: turns runs of other programs into tasks.

// tidy: one command

use std::path::PathBuf;

use milepost_formats::look::Input;

use super::import::{ImportJob, Importer};
use crate::args::Record;
use crate::error::Result;
use crate::output::Out;
use crate::store_locator::StoreArgs;

/// The default of `--event-max`.
const EVENT_MAX: usize = 64 << 20;

pub fn run(store: &StoreArgs, args: &Record, out: &mut Out) -> Result<()> {
    // A pipe may stay open for days, so other processes can attach.
    let is_pipe = |path: &PathBuf| !path.metadata().is_ok_and(|metadata| metadata.is_file());
    let attaches = args.files.iter().any(is_pipe);
    let event_max = args.runs.event_max.unwrap_or(EVENT_MAX);
    let job = ImportJob { store, args: &args.runs, ack: args.ack, attaches, event_max };
    let inputs = args.files.iter().map(|path| Ok(Input::Run(path.clone()))).collect();
    Importer::new(job).run(inputs, out)
}
