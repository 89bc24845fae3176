//! `config`: the defaults of the user, and the configuration of the service.

// tidy: one command

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::command::{CliCommand, Examples, Run};
use crate::args::ServeFlags;
use crate::config::Config;
use crate::defaults::{Defaults, VARIABLE};
use crate::error::Result;
use crate::output::{Out, hint, printable};

/// List your defaults and aliases, and check the configuration of `serve`.
#[derive(Debug, clap::Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub what: ConfigCommand,
}

impl CliCommand for ConfigArgs {
    const EXAMPLES: Examples = &[
        ("config list", "your defaults and aliases"),
        ("config check", "what `serve` would do, and where each setting is from"),
    ];
    const RUN: Run<Self> = Run::Alone(|_, args, out| match &args.what {
        ConfigCommand::Check(args) => check(args, out),
        ConfigCommand::List => list(out),
    });
}

#[derive(Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// Check all settings of `serve`, and print each with its source.
    Check(ConfigCheck),
    /// List your defaults and aliases, which `milepost/config.toml` in your configuration folder
    /// adds to commands.
    List,
}

#[derive(Debug, clap::Args)]
pub struct ConfigCheck {
    /// A settings file in TOML. Default: MILEPOST_CONFIG.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// Prints each setting with its origin.
fn check(args: &ConfigCheck, out: &mut Out) -> Result<()> {
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
fn list(out: &mut Out) -> Result<()> {
    let Defaults { file, added, aliases } = Defaults::read(&super::command())?;
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
