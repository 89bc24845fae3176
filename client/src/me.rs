//! The caller, as the service knows it.

// tidy: one route
use milepost_api::MeForm;

use crate::client::Client;
use crate::error::Result;

impl Client {
    /// Returns the caller and the service: user, rights, the store's id, limits.
    ///
    /// ```no_run
    /// use milepost_client::Client;
    ///
    /// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::new("http://127.0.0.1:7733")?;
    /// let me = client.me().await?;
    /// match me.read_only {
    ///     true => println!("{} may read", me.user),
    ///     false => println!("{} may append", me.user),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind`](crate::ErrorKind) lists the errors of every request.
    pub async fn me(&self) -> Result<MeForm> {
        self.get(["v1", "me"])?.read().await
    }
}
