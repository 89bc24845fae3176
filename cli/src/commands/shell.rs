//! `completions` and `man`: files for a shell and for `man`.

// tidy: two commands

use std::io;
use std::path::{Path, PathBuf};

use clap_complete::env::Shells;
use serde_json::json;

use super::command::{CliCommand, Examples, Run};
use crate::error::{Failure, Result, UNMET, USAGE};
use crate::output::Out;

/// Addition to the script of bash, which splits words at the `@` of an address.
const BASH: &str = include_str!("completions.bash");

/// Print a script with which a shell completes commands, tasks and checkpoints. Bash reads it
/// with `source <(milepost completions bash)`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh.
    pub shell: String,
}

impl CliCommand for CompletionsArgs {
    const EXAMPLES: Examples = &[("completions bash", "for `source <(milepost completions bash)`")];
    const RUN: Run<Self> = Run::Alone(|_, args, out| completions(args, out));
}

/// Write pages for `man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The folder. It is created if it does not exist.
    pub dir: PathBuf,
}

impl CliCommand for ManArgs {
    const EXAMPLES: Examples = &[("man ~/.local/share/man/man1", "then `man milepost-log`")];
    const RUN: Run<Self> = Run::Alone(|_, args, out| man(args, out));
}

/// Prints a script with which a shell asks this command for completions.
fn completions(args: &CompletionsArgs, out: &mut Out) -> Result<()> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&args.shell) else {
        let known: Vec<&str> = shells.names().collect();
        return Err(Failure::new(format!("completions for `{}` are not known", args.shell))
            .code_of(USAGE)
            .hint(format!("known are {}", known.join(", "))));
    };
    let mut text = Vec::new();
    shell.write_registration("COMPLETE", "milepost", "milepost", "milepost", &mut text)?;
    if shell.is("bash") {
        text.extend_from_slice(BASH.as_bytes());
    }
    match out.json {
        true => {
            let script = String::from_utf8_lossy(&text);
            Ok(out.json(&json!({"shell": args.shell, "script": script}))?)
        }
        false => Ok(out.bytes(&text)?),
    }
}

/// Writes a page for `man` for each command.
fn man(args: &ManArgs, out: &mut Out) -> Result<()> {
    let written = std::fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to(super::command(), &args.dir))
        .and_then(|()| pages(&args.dir));
    let shown = args.dir.display();
    let pages = written.map_err(|error| {
        Failure::of_file(format_args!("cannot write pages to {shown}"), &error)
            .code_of(UNMET)
            .hint("give a folder in which you may write")
    })?;
    match out.json {
        true => Ok(out.json(&json!({"pages": pages, "folder": shown.to_string()}))?),
        false => Ok(out.line(format!("{pages} pages in {shown}"))?),
    }
}

fn pages(dir: &Path) -> io::Result<usize> {
    Ok(std::fs::read_dir(dir)?.count())
}
