//! Confirmation of operations that cannot be undone.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::error::{Failure, Result};
use crate::output::printable;

/// Asks on a terminal. Elsewhere only `--yes` confirms.
pub fn confirm(yes: bool, note: &str, question: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    let question = printable(question);
    if !io::stdin().is_terminal() {
        return Err(Failure::new(format!(
            "{question} Standard input is no terminal to answer this on"
        ))
        .hint("with --yes it is done without a question"));
    }
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "{}", printable(note))?;
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match is_yes(&answer) {
        true => Ok(()),
        false => Err(Failure::new("not done: nothing was changed")),
    }
}

/// Returns `true` for a clear yes.
pub(super) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert!(is_yes("y\n") && is_yes(" Yes \n"));
        assert!(!is_yes("") && !is_yes("\n") && !is_yes("yep\n") && !is_yes("n\n"));
    }
}
