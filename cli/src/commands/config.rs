//! `config`: the configuration of the service.

// tidy: one command

use serde_json::{Map, Value, json};

use crate::args::ConfigCheck;
use crate::config::Config;
use crate::error::Result;
use crate::output::Out;

/// Prints each setting with its origin.
pub fn check(args: &ConfigCheck, out: &mut Out) -> Result<()> {
    let config = Config::gather(&args.flags, args.config.as_deref())?;
    if out.json {
        let mut all = Map::new();
        for (key, value) in config.all() {
            let form = value.map(
                |(text, origin)| json!({ "value": text.display(), "from": origin.to_string() }),
            );
            all.insert(key.name.to_owned(), form.unwrap_or(Value::Null));
        }
        out.json(&all)?;
        return Ok(());
    }
    for (key, value) in config.all() {
        let name = key.name;
        match value {
            Some((text, origin)) => out.line(format!("{name} = {} ({origin})", text.display()))?,
            None => out.line(format!("{name} is not set"))?,
        }
    }
    Ok(())
}
