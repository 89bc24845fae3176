//! `cat`: the content of a captured file.

use milepost::ErrorKind;
use serde_json::json;

use super::captured_files;
use crate::args;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, big, shell_word};

pub fn run(source: &dyn Backend, args: &args::Cat, out: &mut Out) -> Result<()> {
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
