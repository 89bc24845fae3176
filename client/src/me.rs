//! The caller, as the service knows it, and its sessions.

use milepost_api::{MeForm, SessionForm, SessionRequest};
use reqwest::Method;

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

    /// Starts a session of the client's token, or of a code of the program that serves.
    ///
    /// # Errors
    ///
    /// `Unauthorized`: the code is wrong, was used or has expired. `Forbidden`: the client has a
    /// session instead of a token.
    pub async fn start_session(&self, code: Option<&str>) -> Result<SessionForm> {
        let asked = SessionRequest { code: code.map(str::to_owned) };
        self.post(["v1", "sessions"], &asked)?.read().await
    }

    /// Ends the client's session, which it has in place of a token.
    ///
    /// # Errors
    ///
    /// `NotFound`: the client has a token.
    pub async fn end_session(&self) -> Result<()> {
        self.request(Method::DELETE, ["v1", "sessions", "current"])?.finish().await
    }
}
