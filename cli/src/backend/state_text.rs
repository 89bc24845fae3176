//! A whole state as text. It may be of any length, so it is printed while it is read.

use std::io;

use milepost::RunState;
use milepost::state::Chunks;

use crate::error::Result;
use crate::output::Out;

/// Prints the whole state as one document. Its long lists are printed as they are read.
pub fn print(state: &RunState, chunks: &dyn Chunks, out: &mut Out) -> Result<()> {
    let fields = state.text(chunks, None)?;
    out.raw(fields.strip_suffix('}').unwrap_or(&fields))?;
    out.raw(",")?;
    list("guidance", state.guidance.iter(chunks), |guidance, to| guidance.write_json(to), out)?;
    out.raw(",")?;
    list("messages", state.messages.iter(chunks), |entry, to| entry.write_json(to), out)?;
    Ok(out.line("}")?)
}

fn list<T>(
    name: &str,
    items: impl Iterator<Item = milepost::Result<T>>,
    write: fn(T, &mut Vec<u8>) -> io::Result<()>,
    out: &mut Out,
) -> Result<()> {
    out.raw(&format!("\"{name}\":["))?;
    let mut text = Vec::new();
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.raw(",")?;
        }
        text.clear();
        write(item?, &mut text)?;
        out.raw(&String::from_utf8_lossy(&text))?;
    }
    Ok(out.raw("]")?)
}
