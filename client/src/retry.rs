//! Retries of requests.
//!
//! A missing answer leaves the outcome unknown. Requests that are safe to repeat are retried:
//! reads, and changes with an idempotency key, using the same key. Other changes are retried only
//! if they certainly did not reach the service.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::random::random;

/// The first wait; each further wait doubles.
const FIRST: Duration = Duration::from_millis(50);

/// The maximum wait, also for `Retry-After`.
const LONGEST: Duration = Duration::from_secs(5);

/// The condition for retries of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryRule {
    /// Repeating has no further effect: retry after every transient error.
    Always,
    /// Repeating may have an effect: retry only if the service was not reached.
    Unreached,
    /// The request asks for the status at this moment: do not retry.
    Never,
}

impl RetryRule {
    fn allows(self, error: &Error) -> bool {
        match self {
            Self::Always => passes(error),
            Self::Unreached => error.kind() == ErrorKind::Transport && !error.was_reached(),
            Self::Never => false,
        }
    }
}

/// Returns true for a transient error.
pub(crate) fn passes(error: &Error) -> bool {
    match error.status() {
        None => error.kind() == ErrorKind::Transport,
        Some(status) => matches!(status, 429 | 502 | 503 | 504),
    }
}

/// The number of failed tries, and its limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tries {
    failed: u32,
    most: u32,
    /// True if a failed try may have reached the service.
    may_have_reached: bool,
}

impl Tries {
    pub(crate) fn new(most: u32) -> Self {
        Self { failed: 0, most, may_have_reached: false }
    }

    /// Resets the count after a success.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.most);
    }

    /// Waits before the next try, or returns the error if no tries are left: the request may have
    /// reached the service if one of its tries may have.
    pub(crate) async fn failed(&mut self, retry: RetryRule, error: Error) -> Result<()> {
        self.failed = self.failed.saturating_add(1);
        self.may_have_reached |= error.was_reached();
        if self.failed >= self.most || !retry.allows(&error) {
            return Err(if self.may_have_reached { error.reached() } else { error });
        }
        let wait = wait(self.failed, error.retry_after(), random()?);
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// Returns the wait after `failed` failures. Half of it is random, so that clients that failed
/// together do not retry together.
fn wait(failed: u32, retry_after: Option<Duration>, random: u128) -> Duration {
    let doubled = 1_u32.checked_shl(failed.saturating_sub(1));
    let whole = FIRST.saturating_mul(doubled.unwrap_or(u32::MAX));
    let half = whole.min(LONGEST) / 2;
    let part = (random % 1024) as u32;
    let wait = half + half * part / 1024;
    wait.max(retry_after.unwrap_or_default()).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_doubles_is_partly_random_and_has_an_end() {
        let ms = Duration::from_millis;
        assert_eq!(wait(1, None, 0), ms(25));
        assert!(wait(1, None, 1023) > ms(49));
        assert_eq!(wait(4, None, 0), ms(200));
        for failed in [20, 32, 33, u32::MAX] {
            assert_eq!(wait(failed, None, 0), LONGEST / 2);
        }
        let second = Some(Duration::from_secs(1));
        assert_eq!(wait(1, second, 0), Duration::from_secs(1));
        let day = Some(Duration::from_secs(86_400));
        assert_eq!(wait(1, day, 0), LONGEST);
    }

    #[tokio::test]
    async fn a_request_has_not_reached_the_service_if_no_try_of_it_has() {
        let reached = || Error::timed_out("POST /", FIRST);
        let unreached = || Error::new(ErrorKind::Transport, "POST /", "no").unreached();
        for (before, last, was_reached) in
            [(false, unreached(), false), (false, reached(), true), (true, unreached(), true)]
        {
            let mut tries = Tries { may_have_reached: before, ..Tries::new(1) };
            let failed = tries.failed(RetryRule::Always, last).await.unwrap_err();
            assert_eq!(failed.was_reached(), was_reached);
        }
    }

    #[test]
    fn what_may_have_been_done_is_not_done_twice() {
        let reached = Error::timed_out("POST /", FIRST);
        let unreached = |status| Error::of_answer("POST /", status, b"");
        assert!(RetryRule::Always.allows(&reached));
        assert!(!RetryRule::Unreached.allows(&reached));
        for status in [429, 502, 503, 504] {
            assert!(RetryRule::Always.allows(&unreached(status)), "{status}");
            assert!(!RetryRule::Unreached.allows(&unreached(status)), "{status}");
        }
        for status in [200, 400, 401, 404, 409, 412, 500] {
            assert!(!RetryRule::Always.allows(&unreached(status)), "{status}");
        }
        assert!(!RetryRule::Always.allows(&Error::invalid("POST /", "no")));
    }
}
