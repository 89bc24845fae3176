//! `show`: the event at a point, with its hash.

use milepost::{Engine, ErrorKind};
use serde_json::{Value, json};

use super::forms;
use crate::error::{Failure, Result};
use crate::output::{Look, Out, printable, time};

pub fn run(engine: &Engine, address: &str, out: &mut Out) -> Result<()> {
    let point = engine.point(address)?;
    let (event, hash) = engine.event(&point).map_err(|error| {
        let no_event = error.kind() == ErrorKind::NotFound;
        let failure = Failure::from(error);
        match point.offset.checked_sub(1) {
            Some(last) if no_event => {
                let last = forms::address(&point.task, point.lineage, last);
                failure.hint(format!("the last event is `milepost show {last}`"))
            }
            _ => failure,
        }
    })?;
    let mut form = forms::event(&event)?;
    if out.json {
        form.insert("task".into(), json!(point.task));
        form.insert("hash".into(), json!(hash));
        form.insert("checkpoint".into(), json!(point.checkpoint));
        return Ok(out.json(&Value::Object(form))?);
    }
    let place = forms::address(&point.task, point.lineage, event.offset);
    let mut lines = vec![("event", place), ("time", time(event.header.time_us))];
    if event.lineage != point.lineage {
        lines.push(("lineage", event.lineage.to_string()));
    }
    for name in ["actor", "user", "correlation", "key"] {
        if let Some(Value::String(text)) = form.get(name) {
            lines.push((name, text.clone()));
        }
    }
    lines.push(("hash", hash.to_string()));
    if let Some(id) = point.checkpoint {
        lines.push(("checkpoint", id.to_string()));
    }
    for (name, value) in lines {
        let name = out.look(Look::Dim, &format!("{name:11}"));
        out.line(format!("{name} {}", printable(&value)))?;
    }
    match form.remove("body") {
        Some(Value::Null) | None => Ok(out.line("the body was erased")?),
        Some(body) => Ok(out.pretty(&body)?),
    }
}
