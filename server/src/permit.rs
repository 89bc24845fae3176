//! Permits for what takes long.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pieces of answers that are read at once, long bodies that are parsed, and states that are folded
/// and compared: each may take a processor, and a long event several times its length.
const HEAVY: usize = 4;

/// Leave for what takes long: of the token, and of all.
pub(crate) type Heavy = [OwnedSemaphorePermit; 2];

/// Permits for what takes long.
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
    /// Waits for a leave. A token has one at once, so that it leaves processors and memory to
    /// others. Its holder does not wait for another.
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
