//! Events, marks and attachments from Python.

use milepost::events::{Application, Attachment, Data};
use milepost::{Body, Json};
use milepost_api::MarkRequest;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::errors::Failure;

fn invalid(text: impl Into<String>) -> PyErr {
    Failure::Invalid(text.into()).into()
}

/// Returns events, each given as a pair: kind and JSON text of its fields, or the name of an
/// application event and its bytes.
pub fn bodies(events: &[Bound<'_, PyAny>]) -> PyResult<Vec<Body>> {
    events.iter().map(body).collect()
}

fn body(event: &Bound<'_, PyAny>) -> PyResult<Body> {
    let (kind, fields) = event.extract::<(String, Bound<'_, PyAny>)>()?;
    if let Ok(bytes) = fields.cast::<PyBytes>() {
        let data = Data::Bytes(bytes.as_bytes().to_vec());
        return Ok(Application { name: kind, data }.into());
    }
    let text = text_of(&fields)?;
    match Body::from_json_of(&kind, &text).map_err(Failure::from)? {
        Some(body) => Ok(body),
        None => Err(invalid(format!(
            "there is no event kind `{kind}`: what only your program knows is `application`, see \
             milepost.events.application"
        ))),
    }
}

/// Returns the mark of a JSON text.
pub fn mark(text: &str) -> PyResult<MarkRequest> {
    serde_json::from_str(text).map_err(|error| invalid(format!("the checkpoint: {error}")))
}

/// Returns attachments, each given as writer, index, name and data: bytes or a JSON text.
pub fn attachments(given: &[Bound<'_, PyAny>]) -> PyResult<Vec<Attachment>> {
    given.iter().map(attachment).collect()
}

fn attachment(given: &Bound<'_, PyAny>) -> PyResult<Attachment> {
    let (writer, index, name, data) = given.extract::<(String, i64, String, Bound<'_, PyAny>)>()?;
    let data = match data.cast::<PyBytes>() {
        Ok(bytes) => Data::Bytes(bytes.as_bytes().to_vec()),
        Err(_) => Data::Json(Json::new(text_of(&data)?).map_err(Failure::from)?),
    };
    Ok(Attachment::new(writer, index, data).name(name))
}

/// Returns attachments as tuples of writer, index, name and data.
pub fn attached<'py>(
    py: Python<'py>,
    attachments: &[Attachment],
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let tuple = |one: &Attachment| {
        let data = match &one.data {
            Data::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Data::Json(json) => PyString::new(py, json.text()).into_any(),
        };
        (one.writer.as_str(), one.index, one.name.as_str(), data).into_pyobject(py)
    };
    attachments.iter().map(tuple).collect()
}

fn text_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| PyTypeError::new_err("the data must be bytes or a JSON text"))
}
