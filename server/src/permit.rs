//! Permits for the requests of a token, and for expensive work.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Concurrent expensive operations: reading a piece of an answer, parsing a long body, folding and
/// comparing states. Each may occupy a CPU, and a long event takes several times its length in
/// memory.
const HEAVY: usize = 4;

/// The permits of one expensive operation: the token's and the shared one.
pub(crate) type Heavy = [OwnedSemaphorePermit; 2];

/// The permits for expensive work.
#[derive(Debug)]
pub(crate) struct Permits {
    all: Arc<Semaphore>,
    of_token: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Default for Permits {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(HEAVY)), of_token: Mutex::default() }
    }
}

impl Permits {
    /// Waits for a permit. Each token has one at a time, which leaves CPUs and memory to others. A
    /// holder must not wait for another.
    pub(crate) async fn heavy(&self, token: &str) -> Option<Heavy> {
        let most = if token.is_empty() { HEAVY } else { 1 };
        let own = {
            let mut all = self.of_token.lock();
            let own = all.entry(token.to_owned());
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(most))))
        };
        let own = own.acquire_owned().await.ok()?;
        Some([own, Arc::clone(&self.all).acquire_owned().await.ok()?])
    }
}

/// Active requests by token.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<HashMap<String, Arc<Semaphore>>>);

impl UnderWay {
    /// Returns a permit for one more request of a token if it has fewer than `most`.
    pub(crate) fn one_more(&self, token: &str, most: usize) -> Option<OwnedSemaphorePermit> {
        let mut all = self.0.lock();
        let of = match all.get(token) {
            Some(of) => Arc::clone(of),
            None => {
                let of = Arc::new(Semaphore::new(most));
                all.insert(token.to_owned(), Arc::clone(&of));
                of
            }
        };
        of.try_acquire_owned().ok()
    }
}
