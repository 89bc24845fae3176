//! The `milepost` command.
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
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::FromArgMatches as _;
use clap_complete::env::CompleteEnv;

use crate::command_line::{CommandLine, asks_for_json};
use crate::commands::Args;
use crate::error::Failure;
use crate::output::{Out, When};

/// Returns memory to the system. Otherwise the memory of a service's large answers would stay with
/// the threads that made them.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Message of the last panic. It is printed only if the panic ends the command: the engine opens
/// damaged files under `catch_unwind`, and such a panic is no bug.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Prints why the arguments of a command cannot be parsed, or what `--help` and `--version` ask
/// for.
fn refuse(error: &clap::Error, line: (&str, &[OsString]), is_json: bool) -> ExitCode {
    let (command, words) = line;
    let out = Out::new(is_json, When::Auto);
    let failure = match unknown_command::failure(error, command, words) {
        None if out.json && error.use_stderr() => Some(Failure::usage(error, command)),
        failure => failure,
    };
    if let Some(failure) = failure {
        failure.print(out.error_style());
        return ExitCode::from(failure.code());
    }
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
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

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Before all that may fail: an agent waits for it, and may refuse a tool where it fails.
    if commands::is_call_of_agent(&arguments) {
        return commands::answer_agent(&arguments);
    }
    // Answers a shell that asks for completions, and exits.
    CompleteEnv::with_factory(completions::command).complete();
    let command = commands::command();
    let arguments = match defaults::Defaults::read(&command) {
        Ok(defaults) => defaults.applied(&command, arguments),
        // Programs call these, and help is needed most where something is wrong.
        Err(_) if defaults::is_without(&arguments) => arguments,
        Err(failure) => {
            failure.print(Out::new(asks_for_json(&arguments), When::Auto).error_style());
            return ExitCode::from(failure.code());
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
    if args.local {
        output::show_local_times();
    }
    let mut out = Out::new(args.json, args.color);
    let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        commands::run(args, &mut out).and_then(|()| Ok(out.end()?))
    }));
    let failure = match result {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(failure)) => failure,
        Err(_) => {
            let last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            Failure::bug(last.unwrap_or_else(|| "a panic without a message".into()))
        }
    };
    let code = ExitCode::from(failure.code());
    // The output before the failure is still valid.
    let _ = out.end();
    failure.of_command(&line.command).print(out.error_style());
    code
}
