//! Reading a page at a time.

use std::ffi::OsString;
use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;

use crate::secrets;

/// The pager that runs where no other is named.
const LESS: &str = "less";

/// A program that shows what it reads a page at a time.
pub struct Pager(Child);

impl Pager {
    /// Starts the pager of MILEPOST_PAGER or PAGER, or `less`; gives it with its input. Nothing
    /// where it is `cat` or empty, or cannot be started: then all is printed at once.
    pub fn start() -> Option<(Self, ChildStdin)> {
        let named = ["MILEPOST_PAGER", "PAGER"].into_iter();
        let wanted = named.filter_map(std::env::var_os).next();
        let wanted = wanted.or_else(less)?;
        if wanted.is_empty() || wanted == "cat" {
            return None;
        }
        let mut command = Command::new("sh");
        // As a shell would read it: it may have arguments.
        command.arg("-c").arg(&wanted).stdin(Stdio::piped());
        command.env_remove(secrets::TOKEN).env_remove(secrets::KEY);
        if std::env::var_os("LESS").is_none() {
            // It ends at once where all fits on the screen, shows colours, and leaves what was read
            // there.
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        let input = child.stdin.take()?;
        // Ctrl-C is for the pager, which goes back to its prompt.
        let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
        Some((Self(child), input))
    }

    /// Waits until it is left.
    pub fn wait(mut self) -> io::Result<()> {
        self.0.wait().map(|_| ())
    }
}

/// `less`, where it is installed.
fn less() -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path);
    folders.any(|folder| folder.join(LESS).is_file()).then(|| OsString::from(LESS))
}
