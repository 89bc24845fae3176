//! The `milepost` command, as a function: a program has it as its `main`, and the package for
//! Python as its entry point.
//!
//! A module imports only modules below it in this list.
//!
//! ```text
//! completions      completions of a shell
//! unknown_command  words of other programs for what Milepost does
//! commands/        one file per command
//! command_line     words of a command line before they are parsed
//! config/          configuration of the service
//! defaults         defaults of the user, and aliases
//! args/            arguments that several commands share
//! picker/          full-screen list of checkpoints to restore
//! tui/             full-screen view of a store: tasks, steps, comparisons, metrics
//! terminal/        terminal of the full-screen views: setup, reset, drawing
//! store_locator    the store that a command works on, and whether it may be opened
//! outside          stores outside of their projects
//! share_file       a share as a file
//! backend/         reads and changes a store: opened here, or behind a socket or an address
//! error            errors, hints and exit codes
//! output/          tables, JSON, colour, bars, and addresses
//! atomic_file      a file that appears when it is complete
//! secrets          secrets in the environment
//! program          program of this process, and how another process of it is started
//! platform/        calls that differ by system
//! ```

mod args;
mod atomic_file;
mod backend;
mod command_line;
mod commands;
mod completions;
mod config;
mod defaults;
mod error;
mod output;
mod outside;
mod picker;
mod platform;
mod program;
mod secrets;
mod share_file;
mod store_locator;
mod terminal;
mod tui;
mod unknown_command;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::panic;
use std::sync::{Mutex, PoisonError};

use clap::FromArgMatches as _;
use clap_complete::env::CompleteEnv;

use crate::command_line::{CommandLine, asks_for_json};
use crate::commands::Args;
use crate::error::Failure;
use crate::output::{Out, When};

pub use crate::program::Program;

/// Message of the last panic. It is printed only if the panic ends the command: the engine opens
/// damaged files under `catch_unwind`, and such a panic is no bug.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Prints why the arguments of a command cannot be parsed, or what `--help` and `--version` ask
/// for.
fn refuse(error: &clap::Error, line: (&str, &[OsString]), is_json: bool) -> u8 {
    let (command, words) = line;
    let out = Out::new(is_json, When::Auto);
    let failure = match unknown_command::failure(error, command, words) {
        None if out.json && error.use_stderr() => Some(Failure::usage(error, command)),
        failure => failure,
    };
    if let Some(failure) = failure {
        failure.print(out.error_style());
        return failure.code();
    }
    let code = u8::try_from(error.exit_code()).unwrap_or(error::USAGE);
    if !error.use_stderr() {
        drop(error.print());
        return code;
    }
    let text = error.render();
    let plain = text.to_string();
    let text = match output::printable_lines(&plain) {
        Cow::Borrowed(_) if out.error_style().has_color => text.ansi().to_string(),
        Cow::Borrowed(_) => plain,
        // The quoted arguments may come from a file.
        Cow::Owned(clean) => clean,
    };
    // The last line names the help of the program, and the next step is the help of the command.
    let text = match text.rsplit_once("try '--help'") {
        Some((before, after)) => format!("{before}try '{command} --help'{after}"),
        None => text,
    };
    drop(io::stderr().write_all(text.as_bytes()));
    code
}

/// Does what a command line asks for, and returns the exit code. The first argument is the name of
/// the program; `program` starts another process of it, by default the executable of this process.
///
/// Writes to the standard streams and sets the hook of panics, so a process calls it once.
///
/// # Examples
///
/// ```
/// let code = milepost_cli::run(vec!["milepost".into(), "--version".into()], None);
/// assert_eq!(code, 0);
/// ```
pub fn run(arguments: Vec<OsString>, program: Option<Program>) -> u8 {
    if let Some(program) = program {
        program::set(program);
    }
    // Before all that may fail: an agent waits for it, and may refuse a tool where it fails.
    if commands::is_call_of_agent(&arguments) {
        commands::answer_agent(&arguments);
        return 0;
    }
    // Answers a shell that asks for completions.
    let folder = std::env::current_dir().ok();
    let complete = CompleteEnv::with_factory(completions::command);
    match complete.try_complete(arguments.iter().cloned(), folder.as_deref()) {
        Ok(false) => {}
        Ok(true) => return 0,
        Err(error) => error.exit(),
    }
    let command = commands::command();
    let arguments = match defaults::Defaults::read(&command) {
        Ok(defaults) => defaults.applied(&command, arguments),
        // Programs call these, and help is needed most where something is wrong.
        Err(_) if defaults::is_without(&arguments) => arguments,
        Err(failure) => {
            failure.print(Out::new(asks_for_json(&arguments), When::Auto).error_style());
            return failure.code();
        }
    };
    let is_json = asks_for_json(&arguments);
    let line = CommandLine::read(&command, arguments);
    let asked = command.try_get_matches_from(&line.words);
    let args = match asked.and_then(|asked| Args::from_arg_matches(&asked)) {
        Ok(args) => args,
        Err(error) => return refuse(&error, (&line.command, &line.words), is_json),
    };
    panic::set_hook(Box::new(|info| {
        let mut last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(info.to_string().replace('\n', " "));
    }));
    let mut out = Out::new(args.json, args.color);
    if let Err(reason) = args.local.then(output::show_local_times).unwrap_or(Ok(())) {
        output::note(&format!("{}: times are in UTC", output::printable(&reason)));
    }
    let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        commands::run(args, &mut out).and_then(|()| Ok(out.end()?))
    }));
    let failure = match result {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure,
        Err(_) => {
            let last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            Failure::bug(last.unwrap_or_else(|| "a panic without a message".into()))
        }
    };
    let code = failure.code();
    // The output before the failure is still valid.
    let _ = out.end();
    failure.of_command(&line.command).print(out.error_style());
    code
}
