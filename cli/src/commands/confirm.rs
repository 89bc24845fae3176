//! Questions on a terminal. The output before a question, as a plan, is on the screen before it is
//! asked.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::error::{Failure, Result};
use crate::output::{Out, printable, printable_lines, with_store};

/// Asks on a terminal. Elsewhere only `--yes` confirms.
pub fn confirm(yes: bool, note: &str, question: &str, out: &mut Out) -> Result<()> {
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
    let note = match note {
        "" => String::new(),
        note => format!("{}\n", with_store(note)),
    };
    match is_yes(&asked(&format!("{note}{question} [y/N] "), out)?) {
        true => Ok(()),
        false => Err(Failure::new("not done: nothing was changed")),
    }
}

/// Asks whether something is done that is not done without a yes. Elsewhere than on a terminal it
/// is not.
pub(super) fn agrees(question: &str, out: &mut Out) -> Result<bool> {
    Ok(io::stdin().is_terminal() && is_yes(&asked(&format!("{question} [y/N] "), out)?))
}

/// Returns what the user answers on the terminal.
pub(super) fn asked(question: &str, out: &mut Out) -> Result<String> {
    out.flush()?;
    let mut stderr = io::stderr().lock();
    write!(stderr, "{}", printable_lines(question))?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Returns `true` for a clear yes.
fn is_yes(answer: &str) -> bool {
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
