//! The `milepost` command.
//!
//! ```text
//! args       what can be asked on the command line
//! store      which store is meant, and whether it may be opened
//! source/    what a command looks at and steers, wherever it is opened
//! commands/  one file a command
//! config/    how the service is configured
//! record/    recorded runs of other programs, mapped to events
//! export/    tasks as files that another store takes in
//! import/    those files; checkpoint files of other programs, mapped to events and marks
//! demo/      an iteration engine that records itself, is killed and goes on
//! complete   what a shell completes
//! picker/    checkpoints on the whole screen, to go back to one
//! expression what `bisect --when` asks
//! output     tables, JSON, colour and bars
//! error      what went wrong, what to do next, and the exit code
//! ```

mod args;
mod bounded_lines;
mod commands;
mod complete;
mod config;
mod demo;
mod error;
mod export;
mod expression;
mod import;
mod output;
mod picker;
mod record;
mod secrets;
mod source;
mod store;
mod whole_file;

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::panic;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::FromArgMatches as _;
use clap_complete::env::CompleteEnv;

use crate::args::Args;
use crate::error::Failure;
use crate::output::Out;

/// Gives memory back to the system: that of a service's large answers would stay with the threads
/// that made them.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What the last panic said. Printed only where the panic ends the command: the engine opens
/// damaged files under `catch_unwind`, and that is no bug.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

fn main() -> ExitCode {
    // Where a shell asks what can be typed, it is told, and that is all.
    CompleteEnv::with_factory(complete::command).complete();
    let asked = args::command().try_get_matches();
    let args = match asked.and_then(|asked| Args::from_arg_matches(&asked)) {
        Ok(args) => args,
        Err(error) => {
            // `--help` and `--version` come this way too, with exit code 0.
            let text = error.render().to_string();
            match output::printable_lines(&text) {
                Cow::Borrowed(_) => drop(error.print()),
                // What was typed may have come from a file.
                Cow::Owned(clean) => drop(io::stderr().write_all(clean.as_bytes())),
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
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
    // The records printed before a failure are still good.
    let _ = out.end();
    failure.print(out.colors_stderr());
    ExitCode::from(failure.code())
}
