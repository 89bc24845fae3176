//! Encoding of solver and state: a form number, then postcard.
//!
//! JSON has neither infinity nor NaN: argmin's states begin with an infinite cost, and solvers mark
//! unknown values by NaN. postcard keeps each float bit for bit through serde, and its bytes are
//! specified, so that other releases of postcard can read them.
//!
//! A checksum is not needed: the log checks its content.

use milepost::events::Data;
use milepost::{Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The current form. Increase it when fields of argmin's solver or state change.
const FORM: u8 = 1;

/// Encodes a value.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_extend(value, vec![FORM]).map_err(|error| {
        Error::invalid(format!("solver and state have no form in bytes: {error}"))
            .with_source(error)
    })
}

/// Decodes a value. The bytes are untrusted: any other content is an error.
pub(crate) fn decode<T: DeserializeOwned>(data: &Data) -> Result<T> {
    let Data::Bytes(bytes) = data else {
        return Err(corrupt("it is JSON, not bytes"));
    };
    let Some((&form, bytes)) = bytes.split_first() else {
        return Err(corrupt("it is empty"));
    };
    if form != FORM {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("it has form {form} of another release, and this one reads form {FORM}"),
        ));
    }
    let (value, rest) = postcard::take_from_bytes(bytes)
        .map_err(|error| corrupt(&format!("damaged bytes: {error}")).with_source(error))?;
    if !rest.is_empty() {
        return Err(corrupt(&format!(
            "damaged bytes: {} more than solver and state take",
            rest.len()
        )));
    }
    Ok(value)
}

fn corrupt(message: &str) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}
