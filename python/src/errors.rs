//! Errors of the engine and of the client, as exceptions of the package.

use milepost::{Detail, ErrorKind};
use milepost_client::ErrorKind as ClientKind;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The result of an operation without the lock of the interpreter.
pub type Outcome<T> = Result<T, Failure>;

/// A failed operation.
#[derive(Debug)]
pub enum Failure {
    /// An error of the engine.
    Engine(milepost::Error),
    /// An error of the client.
    Client(milepost_client::Error),
    /// An error of an argument.
    Invalid(String),
    /// The store was closed.
    Closed,
    /// The process was forked from the one that opened the store.
    Forked(u32),
    /// The runtime cannot be started, or a thread ended.
    Broken(String),
}

impl From<milepost::Error> for Failure {
    fn from(error: milepost::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<milepost_client::Error> for Failure {
    fn from(error: milepost_client::Error) -> Self {
        Self::Client(error)
    }
}

/// The parts of an exception.
#[derive(Default)]
struct Parts {
    kind: &'static str,
    text: String,
    head: Option<u64>,
    holder: Option<u32>,
    place: Option<String>,
    status: Option<u16>,
}

impl Failure {
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Engine(error) => error.kind() == ErrorKind::Conflict,
            Self::Client(error) => error.kind() == milepost_client::ErrorKind::Conflict,
            _ => false,
        }
    }

    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Engine(error) => error.kind() == ErrorKind::NotFound,
            Self::Client(error) => error.kind() == milepost_client::ErrorKind::NotFound,
            _ => false,
        }
    }

    fn parts(self) -> Parts {
        match self {
            Self::Engine(error) => of_engine(&error),
            Self::Client(error) => of_client(&error),
            Self::Invalid(text) => Parts { kind: "invalid", text, ..Parts::default() },
            Self::Closed => Parts {
                kind: "unavailable",
                text: "the store was closed: open it again".into(),
                ..Parts::default()
            },
            Self::Forked(opened) => Parts {
                kind: "forked",
                text: format!(
                    "process {opened} opened the store, and this process was forked from it: open \
                     the store again here, after the fork"
                ),
                ..Parts::default()
            },
            Self::Broken(text) => Parts { kind: "unavailable", text, ..Parts::default() },
        }
    }
}

fn of_engine(error: &milepost::Error) -> Parts {
    let kind = match error.kind() {
        ErrorKind::Invalid => "invalid",
        ErrorKind::NotFound => "not_found",
        ErrorKind::Conflict => "conflict",
        ErrorKind::Corrupt | ErrorKind::Diverged => "corrupt",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Poisoned => "poisoned",
        _ => "unavailable",
    };
    let mut parts = Parts { kind, text: error.to_string(), ..Parts::default() };
    match error.detail() {
        Some(Detail::Corruption { place, .. }) => parts.place = Some(place.clone()),
        Some(Detail::InUse { pid, .. }) => parts.holder = *pid,
        Some(Detail::Head(head)) => parts.head = Some(head.next),
        _ => {}
    }
    parts
}

fn of_client(error: &milepost_client::Error) -> Parts {
    let kind = match error.kind() {
        ClientKind::Invalid | ClientKind::TooLarge => "invalid",
        ClientKind::NotFound => "not_found",
        ClientKind::Conflict => "conflict",
        ClientKind::Corrupt => "corrupt",
        ClientKind::Poisoned => "poisoned",
        ClientKind::Unauthorized | ClientKind::Forbidden => "refused",
        _ => "unavailable",
    };
    let text = error.to_string();
    Parts { kind, text, head: error.head(), status: error.status(), ..Parts::default() }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| exception(py, failure.parts()).unwrap_or_else(|error| error))
    }
}

/// Creates the exception in the package's Python part, which defines the classes.
fn exception(py: Python<'_>, parts: Parts) -> PyResult<PyErr> {
    let fields = PyDict::new(py);
    fields.set_item("head", parts.head)?;
    fields.set_item("holder", parts.holder)?;
    fields.set_item("place", parts.place)?;
    fields.set_item("status", parts.status)?;
    let errors = py.import("milepost.errors")?;
    let made = errors.call_method("_of", (parts.kind, parts.text), Some(&fields))?;
    Ok(PyErr::from_value(made))
}
