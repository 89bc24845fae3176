//! The `milepost` command, as a program of its own.

// tidy: the main of the library

use std::process::ExitCode;

/// Returns memory to the system. Otherwise the memory of a service's large answers would stay with
/// the threads that made them.
#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    milepost_cli::run(std::env::args_os().collect(), None).into()
}
