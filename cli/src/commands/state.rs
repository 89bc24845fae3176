//! `state`: what the events before a point add up to.

use milepost::{Body, Chunks, Engine, Entry, Json, MessageRange, Offset, RunState};
use serde_json::json;

use super::point;
use crate::args;
use crate::error::Result;
use crate::output::Out;

/// How many messages people are shown.
const LAST: u64 = 3;

pub fn run(engine: &Engine, args: &args::State, out: &mut Out) -> Result<()> {
    let point = point(engine, &args.address)?;
    let state = engine.run_state(&point)?;
    let chunks = engine.chunks();
    let chunks = chunks.as_ref();
    match args.messages {
        None | Some(MessageRange::All) if out.json => stream(&state, chunks, out),
        None => Ok(out.pretty(&state.to_json(chunks, MessageRange::Last(LAST))?)?),
        Some(range) if out.json => Ok(out.json(&state.to_json(chunks, range)?)?),
        Some(range) => Ok(out.pretty(&state.to_json(chunks, range)?)?),
    }
}

/// Prints the whole state as one document. The long lists in it are printed as they are read.
fn stream(state: &RunState, chunks: &dyn Chunks, out: &mut Out) -> Result<()> {
    let mut form = state.to_json(chunks, MessageRange::None)?;
    out.raw("{")?;
    if let Some(fields) = form.as_object_mut() {
        fields.retain(|name, _| name != "guidance" && name != "messages");
        for (name, value) in fields.iter() {
            out.raw(&format!("{}:{value},", Json::string(name)))?;
        }
    }
    let guidance = state.guidance.iter(chunks).map(|guidance| {
        let guidance = guidance?;
        body(guidance.offset, &guidance.given.into())
    });
    list("guidance", guidance, out)?;
    out.raw(",")?;
    list(
        "messages",
        state.messages.iter(chunks).map(|found| entry(found?)),
        out,
    )?;
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

/// An entry of the conversation: its body's JSON form, with the event's offset.
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
