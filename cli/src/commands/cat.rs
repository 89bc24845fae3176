//! `cat`: the content of a captured file.

use std::io::Read as _;

use milepost::{Engine, ErrorKind};
use serde_json::json;

use super::captured;
use crate::args;
use crate::error::{Failure, Result};
use crate::output::{Out, big, printable};

/// Bytes that are read at a time.
const STEP: usize = 64 << 10;

pub fn run(engine: &Engine, args: &args::Cat, out: &mut Out) -> Result<()> {
    let snapshot = captured::snapshot(engine, &args.address)?;
    let path = captured::tree_path(&args.path)?;
    let Some(entry) = snapshot.entry(&path)? else {
        return Err(captured::nothing_at(&path, &args.address));
    };
    let mut content = snapshot.read(&path).map_err(|error| {
        let kind = error.kind();
        let failure = Failure::from(error);
        match kind {
            ErrorKind::Invalid => failure.hint(format!(
                "`milepost files {} {path}` says what is there",
                printable(&args.address)
            )),
            _ => failure,
        }
    })?;
    if out.json {
        let mut bytes = Vec::new();
        content
            .read_to_end(&mut bytes)
            .map_err(|error| captured::unreadable(&path, error))?;
        return Ok(out.json(&json!({
            "path": path,
            "mode": captured::mode(&entry.item),
            "size": big(bytes.len() as u64),
            "content": captured::content(&bytes),
        }))?);
    }
    let mut buffer = vec![0; STEP];
    loop {
        let read = content
            .read(&mut buffer)
            .map_err(|error| captured::unreadable(&path, error))?;
        if read == 0 {
            return Ok(());
        }
        out.bytes(buffer.get(..read).unwrap_or_default())?;
    }
}
