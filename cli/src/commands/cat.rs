//! `cat`: the content of a captured file.

use std::ffi::OsString;

use milepost::ErrorKind;
use serde_json::json;

use super::captured_files;
use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, big, shell_word};

/// Print the content of a captured file.
#[derive(Debug, clap::Args)]
pub struct CatArgs {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// The path of the file in the folder.
    pub path: OsString,
}

impl CliCommand for CatArgs {
    const EXAMPLES: Examples = &[("cat run@good src/main.rs", "what was in the file then")];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES, run);
}

fn run(source: &dyn Backend, args: &CatArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let path = captured_files::tree_path(&args.path)?;
    let Some(file) = source.file(&point, &path)? else {
        return Err(captured_files::nothing_at(&path, &args.address));
    };
    let mut bytes = Vec::new();
    let read = match out.json {
        true => source.content(&point, &path, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        }),
        false => source.content(&point, &path, &mut |piece| Ok(out.bytes(piece)?)),
    };
    read.map_err(|failure| match failure.kind() {
        // A folder or a link has no bytes.
        Some(ErrorKind::Invalid | ErrorKind::NotFound) => {
            let path = shell_word(&path.to_string());
            failure.hint(format!(
                "`milepost files {} {path}` says what is there",
                shell_word(&args.address)
            ))
        }
        _ => failure,
    })?;
    match out.json {
        true => Ok(out.json(&json!({
            "path": path,
            "mode": file.mode,
            "size": big(bytes.len() as u64),
            "content": captured_files::content(&bytes),
        }))?),
        false => Ok(()),
    }
}
