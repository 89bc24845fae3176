//! Progress bars on standard error.

// tidy: two constructors

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar on standard error, hidden if that is no terminal or the work is short.
pub fn bar(length: u64, what: &str, long: bool, bytes: bool) -> ProgressBar {
    if !long || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let unit = if bytes { "{bytes}/{total_bytes}" } else { "{human_pos}/{human_len}" };
    let template = format!("{{prefix}} [{{bar:30}}] {unit} {{eta}}");
    let bar = ProgressBar::new(length).with_prefix(what.to_owned());
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// Returns a spinner on standard error for work of unknown length. Its message is the progress.
pub fn counter(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_prefix(what.to_owned());
    match ProgressStyle::with_template("{prefix} {spinner} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
