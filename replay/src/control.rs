//! Legal transitions of a run's control.

use milepost_codec::{Error, Result, RunControl};

/// Checks a transition and returns `to`.
///
/// ```text
/// Idle -> Running -> Paused -> Running      start, pause, resume
///         Running -> Idle                   end without a stop
///         Running, Paused -> Stopped        stop
///         Stopped -> Running, Idle          start again, or clear
/// ```
///
/// # Errors
///
/// `Invalid`: any other pair; the message has both.
pub fn transition(from: RunControl, to: RunControl) -> Result<RunControl> {
    use RunControl::{Idle, Paused, Running, Stopped};
    match (from, to) {
        (Idle, Running)
        | (Running, Paused | Stopped | Idle)
        | (Paused, Running | Stopped)
        | (Stopped, Running | Idle) => Ok(to),
        _ => Err(Error::invalid(format!("a run cannot go from {} to {}", from.name(), to.name()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RunControl::{Idle, Paused, Running, Stopped};

    #[test]
    fn every_pair_is_legal_or_an_error_that_names_both() {
        let all = [Idle, Running, Paused, Stopped];
        let legal = [
            (Idle, Running),
            (Running, Paused),
            (Running, Stopped),
            (Running, Idle),
            (Paused, Running),
            (Paused, Stopped),
            (Stopped, Running),
            (Stopped, Idle),
        ];
        for from in all {
            for to in all {
                match transition(from, to) {
                    Ok(reached) => {
                        assert_eq!(reached, to);
                        assert!(legal.contains(&(from, to)), "{from:?} to {to:?}");
                    }
                    Err(error) => {
                        assert!(!legal.contains(&(from, to)), "{from:?} to {to:?}");
                        let message = error.to_string();
                        assert!(message.contains(from.name()), "{message}");
                        assert!(message.contains(to.name()), "{message}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_those_of_the_json_form() {
        for control in [Idle, Running, Paused, Stopped] {
            let json = serde_json::to_string(&control).unwrap();
            assert_eq!(json, format!("\"{}\"", control.name()));
        }
    }
}
