//! Lines of an answer, and events as they are committed, one at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use milepost_client::{AnswerLines, Followed};
use pyo3::prelude::*;
use tokio::time::timeout;

use crate::errors::{Failure, Outcome};
use crate::place::Place;
use crate::runtime;
use crate::ticket::{Ticket, Value};

/// A source; empty while it is read from.
type Slot<T> = Arc<Mutex<Option<T>>>;

/// The lines of an answer, an iterator of bytes.
#[pyclass(frozen, module = "milepost._milepost")]
pub struct Lines {
    place: Arc<Place>,
    lines: Slot<AnswerLines>,
}

/// The events of a task as they are committed.
#[pyclass(frozen, module = "milepost._milepost")]
pub struct Following {
    place: Arc<Place>,
    following: Slot<milepost_client::Following>,
}

fn slot<T>(source: T) -> Slot<T> {
    Arc::new(Mutex::new(Some(source)))
}

fn take<T>(slot: &Slot<T>) -> Outcome<T> {
    let taken = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    taken.ok_or_else(|| Failure::Invalid("another reader uses this iterator".into()))
}

fn put_back<T>(slot: &Slot<T>, source: T) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
}

impl Lines {
    pub fn new(place: &Arc<Place>, lines: AnswerLines) -> Self {
        Self { place: place.clone(), lines: slot(lines) }
    }
}

async fn next_line(slot: Slot<AnswerLines>) -> Outcome<Value> {
    let mut lines = take(&slot)?;
    let line = lines.next().await;
    put_back(&slot, lines);
    Ok(Value::Line(line?))
}

#[pymethods]
impl Lines {
    /// Returns the next line; `None` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.place.check()?;
        let line = runtime::wait(py, &self.place.runtime, next_line(self.lines.clone()))?;
        line?.into_python(py)
    }

    /// Returns a ticket of the next line.
    fn next_ticket(&self) -> PyResult<Ticket> {
        self.place.check()?;
        Ok(Ticket::request(&self.place, next_line(self.lines.clone())))
    }
}

impl Following {
    pub fn new(place: &Arc<Place>, following: milepost_client::Following) -> Self {
        Self { place: place.clone(), following: slot(following) }
    }
}

async fn next_followed(
    slot: Slot<milepost_client::Following>,
    at_most: Option<Duration>,
) -> Outcome<Value> {
    let mut following = take(&slot)?;
    let next = match at_most {
        None => Some(following.next().await),
        Some(at_most) => timeout(at_most, following.next()).await.ok(),
    };
    put_back(&slot, following);
    match next {
        None => Ok(Value::Followed(None)),
        Some(Some(followed)) => Ok(Value::Followed(Some(text(&followed?)?))),
        Some(None) => Err(Failure::Broken("the stream has ended".into())),
    }
}

fn at_most(seconds: Option<f64>) -> Outcome<Option<Duration>> {
    let span = seconds.map(Duration::try_from_secs_f64).transpose();
    span.map_err(|error| Failure::Invalid(format!("the timeout: {error}")))
}

#[pymethods]
impl Following {
    /// Returns the next event as `(kind, JSON text)`; kind is `event` or `lineage`. Returns `None`
    /// if nothing was committed for `seconds`.
    #[pyo3(signature = (seconds=None))]
    fn next(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Py<PyAny>> {
        self.place.check()?;
        let next = next_followed(self.following.clone(), at_most(seconds)?);
        runtime::wait(py, &self.place.runtime, next)??.into_python(py)
    }

    /// Returns a ticket of the next event.
    #[pyo3(signature = (seconds=None))]
    fn next_ticket(&self, seconds: Option<f64>) -> PyResult<Ticket> {
        self.place.check()?;
        let next = next_followed(self.following.clone(), at_most(seconds)?);
        Ok(Ticket::request(&self.place, next))
    }
}

fn text(followed: &Followed) -> Outcome<(&'static str, String)> {
    let (kind, text) = match followed {
        Followed::Event(event) => ("event", serde_json::to_string(event)),
        Followed::LineageChanged(change) => ("lineage", serde_json::to_string(change)),
    };
    let text = text.map_err(|error| Failure::Broken(format!("no JSON: {error}")))?;
    Ok((kind, text))
}
