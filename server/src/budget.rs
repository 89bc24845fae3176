//! Limits of the bytes that requests hold, for the process and for each token.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::ApiError;

/// Bytes per semaphore permit: a semaphore counts only to 2^29 on 32-bit machines.
const UNIT: usize = 1 << 10;

/// A limited number of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    left: Arc<Semaphore>,
    /// The size of the budget, in units.
    all: u32,
    /// The name in errors.
    of: &'static str,
}

/// A share of a budget until it is dropped.
pub(crate) type Share = OwnedSemaphorePermit;

/// Divisor of each budget: a token may use half of it.
const OF_TOKEN: usize = 2;

/// The budgets of a service.
#[derive(Debug)]
pub(crate) struct Budgets {
    /// Bodies of requests, from receipt to the answer.
    pub(crate) bodies: Budget,
    /// Values parsed from bodies.
    pub(crate) parsing: Budget,
    /// Folded states in use.
    pub(crate) states: Budget,
    /// Long events on their way to readers.
    pub(crate) answers: Budget,
}

impl Budgets {
    /// Splits `bytes` into four equal budgets.
    pub(crate) fn new(bytes: usize) -> Self {
        let part = |of| Budget::new(bytes / 4, of);
        Self {
            bodies: part("bodies of requests"),
            parsing: part("requests that are read"),
            states: part("states that are looked at"),
            answers: part("long events under way"),
        }
    }

    pub(crate) fn all(&self) -> [(&'static str, &Budget); 4] {
        [
            ("bodies", &self.bodies),
            ("parsing", &self.parsing),
            ("states", &self.states),
            ("answers", &self.answers),
        ]
    }
}

/// The shares that a request holds until all of its work has ended.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    token: String,
    held: Arc<Mutex<Vec<TokenShare>>>,
}

impl Shares {
    /// Creates the empty set of shares of a request with a token.
    pub(crate) fn of(token: &str) -> Self {
        Self { token: token.to_owned(), held: Arc::default() }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn hold(&self, share: TokenShare) {
        self.held.lock().push(share);
    }
}

impl Budget {
    pub(crate) fn new(bytes: usize, of: &'static str) -> Self {
        let all = u32::try_from((bytes / UNIT).max(1)).unwrap_or(u32::MAX / 2);
        Self { left: Arc::new(Semaphore::new(all as usize)), all, of }
    }

    /// Returns the units of a number of bytes, at most the whole budget: a larger request runs
    /// alone.
    fn units(&self, bytes: usize) -> u32 {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        units.clamp(1, self.all)
    }

    /// Waits for a number of bytes without a time limit.
    pub(crate) async fn wait(&self, bytes: usize) -> Option<Share> {
        let left = Arc::clone(&self.left);
        left.acquire_many_owned(self.units(bytes)).await.ok()
    }

    /// Takes a number of bytes if they are free.
    pub(crate) fn try_take(&self, bytes: usize) -> Option<Share> {
        let left = Arc::clone(&self.left);
        left.try_acquire_many_owned(self.units(bytes)).ok()
    }

    /// Returns the number of bytes in use.
    pub(crate) fn held(&self) -> usize {
        (self.all as usize).saturating_sub(self.left.available_permits()) * UNIT
    }

    /// Returns the size of the budget in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.all as usize * UNIT
    }

    fn busy(&self) -> ApiError {
        let (of, all) = (self.of, self.bytes());
        let text = format!("{of} hold {all} bytes in all, and no more are free: ask again later");
        ApiError::unavailable(text)
    }
}

/// Each token's parts of the budgets.
#[derive(Debug, Default)]
pub(crate) struct TokenBudgets(Mutex<HashMap<(String, &'static str), Budget>>);

impl TokenBudgets {
    /// Returns a budget limited to a token's part.
    pub(crate) fn part(&self, token: &str, of_all: &Budget) -> TokenBudget {
        let mut all = self.0.lock();
        let of_token = all.entry((token.to_owned(), of_all.of));
        let part = || Budget::new(of_all.bytes() / OF_TOKEN, of_all.of);
        TokenBudget { of_token: of_token.or_insert_with(part).clone(), of_all: of_all.clone() }
    }
}

/// A budget, and the part of it that a token may use.
#[derive(Debug, Clone)]
pub(crate) struct TokenBudget {
    of_token: Budget,
    of_all: Budget,
}

/// A token's share of a budget until it is dropped.
#[derive(Debug)]
pub(crate) struct TokenShare {
    _of_token: Share,
    _of_all: Share,
}

impl TokenBudget {
    pub(crate) fn try_take(&self, bytes: usize) -> Option<TokenShare> {
        // A larger request counts as the token's whole part, and leaves the rest to other tokens.
        let bytes = bytes.min(self.of_token.bytes());
        Some(TokenShare {
            _of_token: self.of_token.try_take(bytes)?,
            _of_all: self.of_all.try_take(bytes)?,
        })
    }

    /// Takes a number of bytes if they are free.
    ///
    /// # Errors
    ///
    /// `Unavailable`: they are not free.
    pub(crate) fn now(&self, bytes: usize) -> Result<TokenShare, ApiError> {
        self.try_take(bytes).ok_or_else(|| self.of_all.busy())
    }

    /// Waits for a number of bytes, in the order of the calls. A waiting caller must hold none.
    ///
    /// # Errors
    ///
    /// `Unavailable`: they did not become free in time.
    pub(crate) async fn take(
        &self,
        bytes: usize,
        at_most: Duration,
    ) -> Result<TokenShare, ApiError> {
        let share = timeout(at_most, self.wait(bytes)).await;
        share.ok().flatten().ok_or_else(|| self.of_all.busy())
    }

    /// Waits without a time limit. A waiting caller must hold no piece.
    pub(crate) async fn wait(&self, bytes: usize) -> Option<TokenShare> {
        let bytes = bytes.min(self.of_token.bytes());
        // The token's part first: while waiting for it, nothing of the shared budget is held.
        let of_token = self.of_token.wait(bytes).await?;
        Some(TokenShare { _of_token: of_token, _of_all: self.of_all.wait(bytes).await? })
    }
}

/// A permit for a long piece of a stream. A stream has one at a time.
pub(crate) type LongPermit = (TokenShare, OwnedSemaphorePermit);

/// A long piece of an answer, which releases its permit when its last byte is dropped.
pub(crate) struct LongPiece<L> {
    bytes: Vec<u8>,
    _leave: L,
}

impl<L: Send + 'static> LongPiece<L> {
    pub(crate) fn bytes(mut bytes: Vec<u8>, permit: L) -> Bytes {
        bytes.shrink_to_fit();
        Bytes::from_owner(Self { bytes, _leave: permit })
    }
}

impl<L> AsRef<[u8]> for LongPiece<L> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_budget_is_never_exceeded_and_what_is_larger_runs_alone() {
        let (budget, tokens) = (Budget::new(20 << 10, "tests"), TokenBudgets::default());
        let (of, other) = (tokens.part("a", &budget), tokens.part("b", &budget));
        let some = of.now(1).unwrap();
        assert_eq!(budget.held(), 1 << 10);
        let late = of.take(1 << 30, Duration::from_secs(1)).await;
        assert_eq!(late.unwrap_err().status(), 503);
        drop(some);
        let all = of.take(1 << 30, Duration::from_secs(1)).await.unwrap();
        assert!(of.now(1).is_err(), "it has half of all");
        let others = other.now(1 << 30).unwrap();
        assert_eq!(budget.held(), 20 << 10);
        drop((all, others));
        assert_eq!(budget.held(), 0);
    }
}
