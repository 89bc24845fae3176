//! `config`: the defaults of the user, and the configuration of the service.

// tidy: one command

use serde_json::{Map, Value, json};

use crate::args::ConfigCheck;
use crate::config::Config;
use crate::defaults::{Defaults, VARIABLE};
use crate::error::Result;
use crate::output::{Out, hint, printable};

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

/// Prints the defaults and aliases of the user.
pub fn list(out: &mut Out) -> Result<()> {
    let Defaults { file, added, aliases } = Defaults::read()?;
    if out.json {
        return Ok(out.json(&json!({ "file": file, "defaults": added, "aliases": aliases }))?);
    }
    let Some(file) = file else {
        out.line("no defaults and no aliases")?;
        hint(&format!(
            "write them into `~/.config/milepost/config.toml`, or the file of {VARIABLE}: a table \
             for a command, as `[log]` with `utc = true`, and `[alias]` with `l = \"log\"`"
        ));
        return Ok(());
    };
    out.line(printable(&file.display().to_string()))?;
    for (name, arguments) in &added {
        out.line(format!("{name}: {}", printable(&arguments.join(" "))))?;
    }
    for (alias, words) in &aliases {
        out.line(format!("alias {} = {}", printable(alias), printable(&words.join(" "))))?;
    }
    Ok(())
}
