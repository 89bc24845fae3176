//! The command `milepost`, which a process calls once.

use std::ffi::OsString;
use std::io::{self, Write as _};

use milepost_cli::Program;
use pyo3::prelude::*;

/// Does what a command line asks for, and returns the exit code. `program` is the path of what
/// starts another process of the command, and `words` what precedes its arguments.
#[pyfunction]
pub(crate) fn command(
    py: Python<'_>,
    arguments: Vec<OsString>,
    program: OsString,
    words: Vec<OsString>,
) -> u8 {
    py.detach(|| {
        let code = milepost_cli::run(arguments, Some(Program::script(program, words)));
        // A program of Rust does it at its end; this process ends without.
        let _ = io::stdout().flush();
        code
    })
}
