//! `blame`: which event set a part of the state.

use milepost::{Blame, Blamed, Engine, Point};
use serde_json::{Map, Value, json};

use super::{point, words};
use crate::args;
use crate::error::{Failure, Result};
use crate::output::{Look, Out, big, excerpt, printable, time, time_short};

/// How many characters of a value people are shown.
const EXCERPT: usize = 80;

pub fn run(engine: &Engine, args: &args::Blame, out: &mut Out) -> Result<()> {
    let point = point(engine, &args.address)?;
    let blamed = engine
        .blame(&point, &args.pointer, args.history)
        .map_err(|error| {
            let address = words::encode(&point.task);
            let hint = format!("`milepost state {address}` prints what there is to point at");
            Failure::from(error).hint(hint)
        })?;
    if out.json {
        return Ok(out.json(&form(&point, &args.pointer, &blamed))?);
    }
    for blame in &blamed.changes {
        lines(blame, out)?;
    }
    match blamed.before_oldest {
        Some(begin) => {
            let note = format!(
                "{} was set before @{begin}, the oldest event there is",
                args.pointer
            );
            out.line(printable(&note))?;
        }
        None if blamed.changes.is_empty() => {
            let value = blamed.value.as_ref();
            let note = match value {
                Some(value) => format!("{value}, as a run begins"),
                None => "it was never there".to_owned(),
            };
            let note = format!("no event set {}: {}", args.pointer, excerpt(&note, EXCERPT));
            out.line(printable(&note))?;
        }
        None => {}
    }
    Ok(())
}

fn lines(blame: &Blame, out: &mut Out) -> Result<()> {
    let value = |value: &Option<Value>| match value {
        Some(value) => excerpt(&value.to_string(), EXCERPT),
        None => "(nothing)".to_owned(),
    };
    let place = words::address(&blame.point.task, blame.lineage, blame.point.offset);
    let place = out.look(Look::Name, &printable(&place));
    let when = out.look(Look::Dim, &time_short(blame.time_us));
    let mut line = format!("{place}  {when}  {}", blame.kind);
    if let Some(user) = &blame.user {
        line.push_str(&format!("  by {}", printable(user)));
    }
    out.line(line)?;
    let change = format!("    {} -> {}", value(&blame.before), value(&blame.after));
    Ok(out.line(change)?)
}

fn form(point: &Point, pointer: &str, blamed: &Blamed) -> Value {
    let mut form = Map::from_iter([
        ("task".to_owned(), json!(point.task)),
        ("pointer".to_owned(), json!(pointer)),
        (
            "changes".to_owned(),
            blamed.changes.iter().map(change).collect(),
        ),
        (
            "before_oldest".to_owned(),
            blamed.before_oldest.map_or(Value::Null, big),
        ),
    ]);
    put(&mut form, "value", &blamed.value);
    Value::Object(form)
}

fn change(blame: &Blame) -> Value {
    let place = words::address(&blame.point.task, blame.lineage, blame.point.offset);
    let mut form = Map::from_iter([
        ("point".to_owned(), json!(place)),
        ("offset".to_owned(), big(blame.point.offset)),
        ("lineage".to_owned(), json!(blame.lineage)),
        ("kind".to_owned(), json!(blame.kind)),
        ("time".to_owned(), json!(time(blame.time_us))),
        ("time_us".to_owned(), big(blame.time_us)),
        ("user".to_owned(), json!(blame.user)),
        ("actor".to_owned(), json!(blame.actor)),
    ]);
    put(&mut form, "before", &blame.before);
    put(&mut form, "after", &blame.after);
    Value::Object(form)
}

/// A value that may be null is absent where there is none.
fn put(form: &mut Map<String, Value>, name: &str, value: &Option<Value>) {
    if let Some(value) = value {
        form.insert(name.to_owned(), value.clone());
    }
}
