//! Health of the service.

// tidy: two routes

use crate::client::Client;
use crate::error::Result;
use crate::retry::RetryRule;

impl Client {
    /// Checks that the service answers, without retries.
    ///
    /// # Errors
    ///
    /// Any error: the service does not answer.
    pub async fn health(&self) -> Result<()> {
        self.get(["healthz"])?.retry(RetryRule::Never).finish().await
    }

    /// Checks that the store accepts appends, without retries.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store does not accept appends; [`detail`](crate::Error::detail) has the
    /// reason.
    pub async fn ready(&self) -> Result<()> {
        self.get(["readyz"])?.retry(RetryRule::Never).finish().await
    }
}
