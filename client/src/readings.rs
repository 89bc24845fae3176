//! Values of events.

// tidy: one method, whose answer is bytes

use bytes::Bytes;

use crate::client::Client;
use crate::error::Result;

impl Client {
    /// Returns a value of the body of the event at a point, by a JSON pointer (RFC 6901): a text as
    /// its bytes, other values as JSON.
    ///
    /// # Errors
    ///
    /// `NotFound`: the body has no such value, or was erased.
    pub async fn value(&self, address: &str, pointer: &str) -> Result<Bytes> {
        let request = self.get(["v1", "points", address, "value"])?.accept("text/plain");
        request.query("pointer", Some(pointer)).bytes().await.map(Bytes::from)
    }
}
