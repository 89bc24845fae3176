//! Results that a thread waits for, or that a coroutine awaits.
//!
//! A coroutine's future is settled on the thread of its event loop. One thread of each store hands
//! over all results that are there at once, so that they need the lock of the interpreter once.

use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use milepost::Appended;
use milepost::events::Attachment;
use milepost_api::{AppendedForm, BranchedForm};
use milepost_client::Bytes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use tokio::task::JoinHandle;

use crate::errors::{Failure, Outcome};
use crate::events;
use crate::place::Place;
use crate::runtime;
use crate::thread;

/// The result of an operation.
#[derive(Debug)]
pub enum Value {
    /// The body of an answer.
    Bytes(Bytes),
    Appended(Added),
    /// The new lineage, and the events appended to it.
    Branched(u32, Added),
    Attached(Vec<Attachment>),
    Count(u64),
    /// A line of an answer; `None` at its end.
    Line(Option<Vec<u8>>),
    Put(thread::Put),
    /// Checkpoints; lists of texts as lists if the flag is set.
    Threads(Vec<thread::Found>, bool),
    /// Something that happened in a task, and its JSON text; `None` after a timeout.
    Followed(Option<(&'static str, String)>),
}

/// The result of an append.
#[derive(Debug)]
pub struct Added {
    first: u64,
    next: u64,
    checkpoint: Option<String>,
    repeated: bool,
    hash: String,
}

impl From<Appended> for Added {
    fn from(appended: Appended) -> Self {
        Self {
            first: appended.first,
            next: appended.head.next,
            checkpoint: appended.checkpoint.map(|id| id.to_string()),
            repeated: appended.repeated,
            hash: appended.head.hash.to_string(),
        }
    }
}

impl From<AppendedForm> for Added {
    fn from(form: AppendedForm) -> Self {
        Self {
            first: form.first.0,
            next: form.next.0,
            checkpoint: form.checkpoint.map(|id| id.to_string()),
            repeated: form.repeated,
            hash: form.hash.to_string(),
        }
    }
}

impl From<BranchedForm> for Value {
    fn from(form: BranchedForm) -> Self {
        Self::Branched(form.lineage.0, form.appended.into())
    }
}

impl Value {
    /// Converts it: bytes, or a tuple of first offset, next offset, checkpoint, repetition, hash,
    /// and for a branch the lineage.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Bytes(bytes) => PyBytes::new(py, &bytes).into_any().unbind(),
            Self::Appended(Added { first, next, checkpoint, repeated, hash }) => {
                let tuple = (first, next, checkpoint, repeated, hash);
                tuple.into_pyobject(py)?.into_any().unbind()
            }
            Self::Branched(lineage, Added { first, next, checkpoint, repeated, hash }) => {
                let tuple = (first, next, checkpoint, repeated, hash, lineage);
                tuple.into_pyobject(py)?.into_any().unbind()
            }
            Self::Attached(attachments) => {
                events::attached(py, &attachments)?.into_pyobject(py)?.unbind()
            }
            Self::Count(count) => count.into_pyobject(py)?.into_any().unbind(),
            Self::Put(thread::Put::Missing(names)) => names.into_pyobject(py)?.unbind(),
            Self::Threads(found, texts) => thread::into_python(py, &found, texts)?,
            Self::Line(None) | Self::Followed(None) | Self::Put(thread::Put::Done) => py.None(),
            Self::Line(Some(line)) => PyBytes::new(py, &line).into_any().unbind(),
            Self::Followed(Some(followed)) => followed.into_pyobject(py)?.into_any().unbind(),
        })
    }
}

type Boxed = Pin<Box<dyn Future<Output = Outcome<Value>> + Send>>;

enum State {
    /// An append to the engine of this process.
    Append(milepost::Ticket),
    /// A request to another one.
    Request(JoinHandle<Outcome<Value>>),
    /// Handed over to an event loop.
    Taken,
    Done(PyResult<Py<PyAny>>),
}

/// An operation in progress. `wait()` returns its result, and so does `await`. Dropping it does not
/// take the operation back.
#[pyclass(frozen, module = "milepost._milepost")]
pub struct Ticket {
    place: Arc<Place>,
    state: Mutex<State>,
}

impl Ticket {
    pub fn append(place: &Arc<Place>, ticket: milepost::Ticket) -> Self {
        Self { place: place.clone(), state: Mutex::new(State::Append(ticket)) }
    }

    /// Starts a request.
    pub fn request(
        place: &Arc<Place>,
        request: impl Future<Output = Outcome<Value>> + Send + 'static,
    ) -> Self {
        let state = Mutex::new(State::Request(place.runtime.spawn(request)));
        Self { place: place.clone(), state }
    }

    /// Starts work that may wait, on a thread of the pool.
    pub fn work(
        place: &Arc<Place>,
        work: impl FnOnce() -> Outcome<Value> + Send + 'static,
    ) -> Self {
        let _entered = place.runtime.enter();
        let done = tokio::task::spawn_blocking(work);
        Self { place: place.clone(), state: Mutex::new(State::Request(done)) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the operation, if it was not taken before.
    fn take(&self) -> Option<Boxed> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Append(ticket) => {
                Some(Box::pin(async move { Ok(Value::Appended(ticket.await?.into())) }))
            }
            State::Request(handle) => Some(Box::pin(async move {
                let joined = handle.await;
                joined.unwrap_or_else(|error| Err(Failure::Broken(error.to_string())))
            })),
            other => {
                *state = other;
                None
            }
        }
    }

    fn done(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &*self.state() {
            State::Done(Ok(value)) => Ok(value.clone_ref(py)),
            State::Done(Err(error)) => Err(error.clone_ref(py)),
            _ => Err(Failure::Invalid(
                "the operation is awaited already: await it once, and keep its result".into(),
            )
            .into()),
        }
    }
}

#[pymethods]
impl Ticket {
    /// Tells whether the result is there.
    fn is_done(&self) -> bool {
        match &*self.state() {
            State::Append(ticket) => ticket.is_done(),
            State::Request(handle) => handle.is_finished(),
            State::Taken => false,
            State::Done(_) => true,
        }
    }

    /// Waits for the result. Raises the errors of the operation.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.place.check()?;
        let Some(future) = self.take() else {
            return self.done(py);
        };
        let value = runtime::wait(py, &self.place.runtime, future)?;
        let value = value.map_err(PyErr::from).and_then(|value| value.into_python(py));
        *self.state() = State::Done(value);
        self.done(py)
    }

    /// Awaits the result.
    fn __await__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.place.check()?;
        let running = py.import("asyncio")?.call_method0("get_running_loop")?;
        let future = running.call_method0("create_future")?;
        match self.take() {
            None => {
                future.call_method1("set_result", (self.done(py)?,))?;
            }
            Some(operation) => {
                let sender = self.place.completer.sender()?;
                let waits = (running.unbind(), future.clone().unbind());
                self.place.runtime.spawn(async move {
                    let value = operation.await;
                    // Without a receiver the interpreter is ending.
                    let _ = sender.send(Settled { waits, value });
                });
            }
        }
        Ok(future.call_method0("__await__")?.unbind())
    }
}

/// A result for a future of an event loop.
struct Settled {
    waits: (Py<PyAny>, Py<PyAny>),
    value: Outcome<Value>,
}

/// Hands results over to event loops, on a thread that starts with the first one.
#[derive(Default)]
pub struct Completer(OnceLock<Sender<Settled>>);

impl Completer {
    fn sender(&self) -> PyResult<Sender<Settled>> {
        if let Some(sender) = self.0.get() {
            return Ok(sender.clone());
        }
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name("milepost-await".into());
        let started = thread.spawn(move || hand_over(&receiver));
        started.map_err(|error| Failure::Broken(format!("no thread can be started: {error}")))?;
        Ok(self.0.get_or_init(|| sender).clone())
    }
}

fn hand_over(receiver: &Receiver<Settled>) {
    while let Ok(first) = receiver.recv() {
        let attached = Python::try_attach(|py| {
            // All that came while this thread waited for the interpreter.
            let settled = std::iter::once(first).chain(receiver.try_iter());
            if let Err(error) = settle(py, settled) {
                error.write_unraisable(py, None);
            }
        });
        if attached.is_none() {
            return;
        }
    }
}

/// Settles futures on the threads of their event loops.
fn settle(py: Python<'_>, settled: impl Iterator<Item = Settled>) -> PyResult<()> {
    let mut loops: Vec<(Py<PyAny>, Bound<'_, PyList>)> = Vec::new();
    for Settled { waits: (running, future), value } in settled {
        let value = value.map_err(PyErr::from).and_then(|value| value.into_python(py));
        let (value, error) = match value {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error.into_value(py).into_any())),
        };
        let item = (future, value, error);
        match loops.iter().find(|(known, _)| known.is(&running)) {
            Some((_, list)) => list.append(item)?,
            None => {
                let list = PyList::empty(py);
                list.append(item)?;
                loops.push((running, list));
            }
        }
    }
    let settle = py.import("milepost._awaiting")?.getattr("settle")?;
    for (running, list) in loops {
        // If the loop was closed, no coroutine waits.
        let _ = running.call_method1(py, "call_soon_threadsafe", (&settle, list));
    }
    Ok(())
}
