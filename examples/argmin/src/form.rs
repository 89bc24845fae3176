//! Solver and state as bytes: a number of the form, then postcard.
//!
//! Not JSON: argmin's states begin with an infinite cost and solvers mark what they do not know yet
//! by NaN, neither of which JSON has. Why postcard: it keeps each float bit for bit, through serde,
//! and its bytes are specified, so that another release of it reads what this one wrote.
//!
//! There is no checksum here. The log has one: what it gives back is what went in.

use milepost::{Data, Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The form that is written. It goes up when argmin's solver or state gets other fields.
const FORM: u8 = 1;

/// The bytes of a value.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_extend(value, vec![FORM]).map_err(|error| {
        Error::invalid(format!("solver and state have no form in bytes: {error}"))
            .with_source(error)
    })
}

/// The value of the bytes. They may be anything: what is not a value in this form is an error.
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
