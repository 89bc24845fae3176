//! The pager: a program that shows output a page at a time.

use std::ffi::OsString;
use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;

use crate::secrets;

/// The default pager.
const LESS: &str = "less";

/// A running pager.
pub struct Pager(Child);

impl Pager {
    /// Starts the pager of `MILEPOST_PAGER` or `PAGER`, or `less`, and returns it with its input.
    /// Returns `None` if it is `cat` or empty, or cannot be started.
    pub fn start() -> Option<(Self, ChildStdin)> {
        let named = ["MILEPOST_PAGER", "PAGER"].into_iter();
        let wanted = named.filter_map(std::env::var_os).next();
        let wanted = wanted.or_else(less)?;
        if wanted.is_empty() || wanted == "cat" {
            return None;
        }
        let mut command = Command::new("sh");
        // The shell splits off its arguments.
        command.arg("-c").arg(&wanted).stdin(Stdio::piped());
        command.env_remove(secrets::TOKEN).env_remove(secrets::KEY);
        if std::env::var_os("LESS").is_none() {
            // F: quits at once if the text fits on one screen. R: shows colours. X: leaves the text
            // on the screen at the end.
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        let input = child.stdin.take()?;
        // Ctrl-C is for the pager, which then returns to its prompt.
        let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
        Some((Self(child), input))
    }

    /// Waits until the user leaves the pager.
    pub fn wait(mut self) -> io::Result<()> {
        self.0.wait().map(|_| ())
    }
}

/// Returns `less` if it is installed.
fn less() -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path);
    folders.any(|folder| folder.join(LESS).is_file()).then(|| OsString::from(LESS))
}
