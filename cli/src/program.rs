//! Program of this process: its path, and the words that start another process of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, io};

static PROGRAM: OnceLock<Program> = OnceLock::new();

/// A program that is this command.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    /// Words between the path and the arguments of the command: `-m milepost` of an interpreter.
    words: Vec<OsString>,
    has_allocator: bool,
}

impl Program {
    /// Returns the executable of this process.
    ///
    /// # Errors
    ///
    /// The system does not tell the path of the executable.
    pub fn executable() -> io::Result<Self> {
        Ok(Self {
            path: env::current_exe()?,
            words: Vec::new(),
            has_allocator: cfg!(feature = "allocator"),
        })
    }

    /// Returns a script, or an interpreter with its own first words.
    pub fn script(path: impl Into<PathBuf>, words: Vec<OsString>) -> Self {
        Self { path: path.into(), words, has_allocator: false }
    }

    /// Returns the file that is this command when it is executed; `None` for an interpreter with
    /// words of its own.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.words.is_empty().then_some(self.path.as_path())
    }

    /// Returns `true` if the process reads the settings of jemalloc.
    pub(crate) fn has_allocator(&self) -> bool {
        self.has_allocator
    }

    /// Returns a process of this command, without arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.words);
        command
    }
}

/// Fixes the program of this process. Later calls have no effect.
pub(crate) fn set(program: Program) {
    let _ = PROGRAM.set(program);
}

/// Returns the program of this process.
///
/// # Errors
///
/// The system does not tell the path of the executable.
pub(crate) fn current() -> io::Result<Program> {
    PROGRAM.get().cloned().map_or_else(Program::executable, Ok)
}
