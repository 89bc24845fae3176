//! Socket paths that fit into the limit of an address.

// tidy: one error

use std::path::Path;

use milepost_sockets::Near;

use crate::error::{Error, Result};

/// Returns a short name of a socket.
pub(crate) fn near(socket: &Path) -> Result<Near> {
    Near::of(socket)
        .map_err(|error| Error::invalid(&format!("socket {}", socket.display()), error.to_string()))
}
