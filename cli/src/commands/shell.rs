//! `completions` and `man`: files for a shell and for `man`.

// tidy: two commands

use std::path::Path;

use clap_complete::env::Shells;

use crate::args::{self, Completions, Man};
use crate::error::{Failure, Result, USAGE};
use crate::output::Out;

/// Addition to the script of bash, which splits words at the `@` of an address.
const BASH: &str = include_str!("completions.bash");

/// Prints a script with which a shell asks this command for completions.
pub fn completions(args: &Completions, out: &mut Out) -> Result<()> {
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
    Ok(out.bytes(&text)?)
}

/// Writes a page for `man` for each command.
pub fn man(args: &Man, out: &mut Out) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    clap_mangen::generate_to(args::command(), &args.dir)?;
    let pages = pages(&args.dir)?;
    Ok(out.line(format!("{pages} pages in {}", args.dir.display()))?)
}

fn pages(dir: &Path) -> Result<usize> {
    Ok(std::fs::read_dir(dir)?.count())
}
