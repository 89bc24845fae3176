//! `key`: a new key for keyed stores.

// tidy: one command

use std::fs::OpenOptions;
use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::json;

use crate::error::{Failure, Result};
use crate::output::Out;

pub fn run(path: &Path, out: &mut Out) -> Result<()> {
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
