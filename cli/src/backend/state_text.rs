//! A whole state as text. It may be of any length, so it is printed while it is read.

use milepost::state::{Chunks, Entry};
use milepost::{Body, Offset, RunState};
use serde_json::json;

use crate::error::Result;
use crate::output::Out;

/// Prints the whole state as one document. Its long lists are printed as they are read.
pub fn print(state: &RunState, chunks: &dyn Chunks, out: &mut Out) -> Result<()> {
    let fields = state.text(chunks, None)?;
    out.raw(fields.strip_suffix('}').unwrap_or(&fields))?;
    out.raw(",")?;
    let guidance = state.guidance.iter(chunks).map(|guidance| {
        let guidance = guidance?;
        body(guidance.offset, &guidance.given.into())
    });
    list("guidance", guidance, out)?;
    out.raw(",")?;
    list("messages", state.messages.iter(chunks).map(|found| entry(found?)), out)?;
    Ok(out.line("}")?)
}

fn list(name: &str, items: impl Iterator<Item = Result<String>>, out: &mut Out) -> Result<()> {
    out.raw(&format!("\"{name}\":["))?;
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.raw(",")?;
        }
        out.raw(&item?)?;
    }
    Ok(out.raw("]")?)
}

/// Formats an entry of the conversation: its body as JSON, with the event's offset.
fn entry(entry: Entry) -> Result<String> {
    let offset = entry.offset();
    match entry {
        Entry::Message { message, .. } => body(offset, &message.into()),
        Entry::ToolCall { call, .. } => body(offset, &call.into()),
        Entry::ToolReturn { returned, .. } => body(offset, &returned.into()),
        Entry::Erased { kind, .. } => {
            let kind = Body::name_of(kind);
            Ok(json!({"kind": kind, "erased": true, "offset": offset}).to_string())
        }
        // A kind of a newer engine.
        _ => Ok(json!({"kind": "unknown", "offset": offset}).to_string()),
    }
}

fn body(offset: Offset, body: &Body) -> Result<String> {
    let text = body.to_json()?;
    let fields = text.strip_prefix('{').unwrap_or(&text);
    Ok(format!("{{\"offset\":{offset},{fields}"))
}
