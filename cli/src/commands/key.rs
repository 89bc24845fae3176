//! `key`: a new key for keyed stores.

// tidy: one command

use std::fs::OpenOptions;
use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::command::{CliCommand, Examples, Run};
use crate::error::{Failure, Result};
use crate::output::Out;

/// Create a key file for keyed stores.
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// The file. It must not exist.
    pub file: PathBuf,
}

impl CliCommand for KeyArgs {
    const EXAMPLES: Examples =
        &[("key store.key", "then `--key-file store.key` with each command")];
    const RUN: Run<Self> = Run::Alone(|_, args, out| run(&args.file, out));
}

fn run(path: &Path, out: &mut Out) -> Result<()> {
    let secret = milepost::internals::new_secret()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let written = options
        .open(path)
        .and_then(|mut file| writeln!(file, "{text}").and_then(|()| file.sync_all()));
    let failed = |error| Failure::of_file(format_args!("cannot write {}", path.display()), &error);
    written.map_err(failed)?;
    let path = path.display().to_string();
    match out.json {
        true => out.json(&json!({ "file": path }))?,
        false => out.line(format!(
            "a new key is in {path}: keep a copy, a store cannot be opened without it"
        ))?,
    }
    Ok(())
}
