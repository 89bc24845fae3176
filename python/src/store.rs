//! A store: opening, appends, attachments, requests.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use milepost::{Engine, LineageId, Task};
use milepost_client::{ClientBuilder, RawRequest};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Failure, Outcome};
use crate::events;
use crate::operations::{Appending, Attached, Attaching, Branching, Conditions, Operation};
use crate::place::{Guard, Opening, Place};
use crate::runtime;
use crate::stream::{Following, Lines};
use crate::ticket::{Added, Ticket, Value};

/// A store that this process has open, or that another process or a service answers for.
#[pyclass(frozen, weakref, module = "milepost._milepost")]
pub struct Store {
    name: String,
    /// The folder and the settings to open the store again; `None` for a service.
    opening: Option<(PathBuf, Opening)>,
    place: RwLock<Option<Arc<Place>>>,
}

fn task(engine: &Engine, id: &str, lineage: Option<u32>) -> milepost::Result<Task> {
    let task = engine.task(id)?;
    match lineage {
        Some(lineage) => task.lineage_named(LineageId(lineage))?.as_task(),
        None => Ok(task),
    }
}

impl Store {
    fn new(place: Place, opening: Option<(PathBuf, Opening)>) -> Self {
        Self { name: place.name.clone(), opening, place: RwLock::new(Some(Arc::new(place))) }
    }

    fn place(&self) -> Outcome<Arc<Place>> {
        let place = self.place.read().unwrap_or_else(PoisonError::into_inner).clone();
        let place = place.ok_or(Failure::Closed)?;
        place.check()?;
        Ok(place)
    }

    /// Does an operation without the lock of the interpreter.
    pub fn done(&self, py: Python<'_>, operation: impl Operation) -> PyResult<Py<PyAny>> {
        let place = self.place()?;
        let value = match place.engine() {
            Some(engine) => py.detach(|| operation.here(engine)),
            None => runtime::wait(py, &place.runtime, operation.there(place.client.clone()))?,
        };
        value?.into_python(py)
    }

    /// Begins an operation, and returns a ticket of its result.
    pub fn begun(&self, operation: impl Operation) -> PyResult<Ticket> {
        let place = self.place()?;
        Ok(match place.engine().cloned() {
            Some(engine) => Ticket::work(&place, move || operation.here(&engine)),
            None => Ticket::request(&place, operation.there(place.client.clone())),
        })
    }

    fn submitted(&self, id: &str, appending: Appending) -> PyResult<Ticket> {
        let place = self.place()?;
        let Some(engine) = place.engine() else {
            let (client, id) = (place.client.clone(), id.to_owned());
            return Ok(Ticket::request(&place, async move {
                Ok(Value::Appended(client.append(&id, appending.for_client()).await?.into()))
            }));
        };
        let lineage = appending.lineage;
        let submitted = || -> Outcome<milepost::Ticket> {
            let task = task(engine, id, lineage)?;
            Ok(task.submit(appending.for_engine())?)
        };
        Ok(Ticket::append(&place, submitted()?))
    }
}

/// A request in the parts that Python gives.
type Parts = (String, Vec<String>, Vec<(String, String)>, Vec<(String, String)>, Option<Vec<u8>>);

fn call((method, path, query, headers, body): Parts) -> RawRequest {
    let mut call = RawRequest::new(method, path);
    for (name, value) in query {
        call = call.query(name, value);
    }
    for (name, value) in headers {
        call = call.header(name, value);
    }
    match body {
        Some(body) => call.body(body),
        None => call,
    }
}

fn guard(given: Option<String>) -> Guard {
    match given.as_deref() {
        None => Guard::Off,
        Some("auto") => Guard::Auto,
        Some(_) => Guard::Given(given.unwrap_or_default()),
    }
}

#[pymethods]
impl Store {
    /// Opens a store, or connects to the process that has it open.
    #[staticmethod]
    #[pyo3(signature = (path, key=None, anchor=None, create=true, wait=5.0, cache_bytes=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        key: Option<String>,
        anchor: Option<String>,
        create: bool,
        wait: f64,
        cache_bytes: Option<usize>,
    ) -> PyResult<Self> {
        let wait = Duration::try_from_secs_f64(wait)
            .map_err(|error| Failure::Invalid(format!("a wait of {wait} seconds: {error}")))?;
        let (key, anchor) = (guard(key), guard(anchor));
        let opening = Opening { key, anchor, create, wait, cache_bytes };
        let place = py.detach(|| Place::open(&path, &opening))?;
        // It exists now: a folder that goes is not made anew.
        Ok(Self::new(place, Some((path, Opening { create: false, ..opening }))))
    }

    /// Connects to a service.
    #[staticmethod]
    #[pyo3(signature = (url, token=None))]
    fn connect(py: Python<'_>, url: &str, token: Option<String>) -> PyResult<Self> {
        let mut client = ClientBuilder::new(url);
        if let Some(token) = token {
            client = client.token(token);
        }
        Ok(Self::new(py.detach(|| Place::connect(client, url.to_owned()))?, None))
    }

    /// The folder, or the address.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// `True` if this process has the store open.
    #[getter]
    fn is_local(&self) -> bool {
        let place = self.place.read().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().is_some_and(|place| place.engine().is_some())
    }

    /// `True` at an address, `False` at a store's folder.
    #[getter]
    fn is_service(&self) -> bool {
        self.opening.is_none()
    }

    /// `True` after `close()`.
    #[getter]
    fn is_closed(&self) -> bool {
        self.place.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Opens the store of a folder again, after a failed write or when the process that had it open
    /// has ended. Requests under way fail. Does nothing for a service.
    fn reopen(&self, py: Python<'_>) -> PyResult<()> {
        let Some((path, opening)) = &self.opening else {
            return Ok(());
        };
        let old = self.place()?;
        let opened = py.detach(|| {
            // A failed store may fail to close, too.
            let _ = old.close();
            Place::open(path, opening)
        });
        let opened = Arc::new(opened?);
        let replaced = {
            let mut place = self.place.write().unwrap_or_else(PoisonError::into_inner);
            match place.is_some() {
                true => place.replace(opened),
                // It was closed since.
                false => Some(opened),
            }
        };
        // Its threads end without the lock of the interpreter.
        py.detach(move || {
            if let Some(place) = &replaced {
                let _ = place.close();
            }
            drop(replaced);
        });
        Ok(())
    }

    /// Closes the store. Closing it again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let place = self.place.write().unwrap_or_else(PoisonError::into_inner).take();
        match place {
            // A forked child has nothing to close.
            Some(place) if place.check().is_ok() => Ok(py.detach(|| place.close())?),
            _ => Ok(()),
        }
    }

    /// Appends events, and waits until they are durable. The conditions are lineage, key and
    /// expected head.
    #[pyo3(signature = (task, events, mark=None, conditions=(None, None, None)))]
    #[allow(clippy::needless_pass_by_value)]
    fn append(
        &self,
        py: Python<'_>,
        task: &str,
        events: Vec<Bound<'_, PyAny>>,
        mark: Option<&str>,
        conditions: Conditions,
    ) -> PyResult<Py<PyAny>> {
        let appending = Appending::parsed(&events, mark, conditions)?;
        let place = self.place()?;
        let Some(engine) = place.engine() else {
            let append = place.client.append(task, appending.for_client());
            let form = runtime::wait(py, &place.runtime, append)?.map_err(Failure::from)?;
            return Value::Appended(form.into()).into_python(py);
        };
        let added = py.detach(|| -> Outcome<Added> {
            let task = self::task(engine, task, appending.lineage)?;
            Ok(task.append(appending.for_engine())?.into())
        })?;
        Value::Appended(added).into_python(py)
    }

    /// Queues events, and returns a ticket.
    #[pyo3(signature = (task, events, mark=None, conditions=(None, None, None)))]
    #[allow(clippy::needless_pass_by_value)]
    fn submit(
        &self,
        task: &str,
        events: Vec<Bound<'_, PyAny>>,
        mark: Option<&str>,
        conditions: Conditions,
    ) -> PyResult<Ticket> {
        self.submitted(task, Appending::parsed(&events, mark, conditions)?)
    }

    /// Opens a lineage at an address and appends events to it, in one commit.
    #[pyo3(signature = (address, events, mark=None, description=None, key=None))]
    #[allow(clippy::needless_pass_by_value)]
    fn branch(
        &self,
        py: Python<'_>,
        address: &str,
        events: Vec<Bound<'_, PyAny>>,
        mark: Option<&str>,
        description: Option<String>,
        key: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        let appending = Appending::parsed(&events, mark, (None, key, None))?;
        let branching = Branching { address: address.into(), description, appending };
        self.done(py, branching)
    }

    /// Does the same, and returns a ticket.
    #[pyo3(signature = (address, events, mark=None, description=None, key=None))]
    #[allow(clippy::needless_pass_by_value)]
    fn branch_ticket(
        &self,
        address: &str,
        events: Vec<Bound<'_, PyAny>>,
        mark: Option<&str>,
        description: Option<String>,
        key: Option<String>,
    ) -> PyResult<Ticket> {
        let appending = Appending::parsed(&events, mark, (None, key, None))?;
        self.begun(Branching { address: address.into(), description, appending })
    }

    /// Attaches data by an alias. Returns the number of new attachments.
    #[allow(clippy::needless_pass_by_value)]
    fn attach(
        &self,
        py: Python<'_>,
        task: &str,
        alias: &str,
        attachments: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let attachments = events::attachments(&attachments)?;
        self.done(py, Attaching { task: task.into(), alias: alias.into(), attachments })
    }

    /// Does the same, and returns a ticket.
    #[allow(clippy::needless_pass_by_value)]
    fn attach_ticket(
        &self,
        task: &str,
        alias: &str,
        attachments: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Ticket> {
        let attachments = events::attachments(&attachments)?;
        self.begun(Attaching { task: task.into(), alias: alias.into(), attachments })
    }

    /// Returns the data attached by an alias.
    fn attached(&self, py: Python<'_>, task: &str, alias: &str) -> PyResult<Py<PyAny>> {
        self.done(py, Attached { task: task.into(), alias: alias.into() })
    }

    /// Does the same, and returns a ticket.
    fn attached_ticket(&self, task: &str, alias: &str) -> PyResult<Ticket> {
        self.begun(Attached { task: task.into(), alias: alias.into() })
    }

    /// Sends a request to the store, and returns the body of the answer.
    fn call<'py>(&self, py: Python<'py>, request: Parts) -> PyResult<Bound<'py, PyBytes>> {
        let place = self.place()?;
        let answer = runtime::wait(py, &place.runtime, place.client.send(call(request)))?;
        Ok(PyBytes::new(py, &answer.map_err(Failure::from)?))
    }

    /// Sends a request to the store, and returns a ticket of its answer.
    fn start(&self, request: Parts) -> PyResult<Ticket> {
        let place = self.place()?;
        let client = place.client.clone();
        let call = call(request);
        let answer = async move { Ok(Value::Bytes(client.send(call).await?)) };
        Ok(Ticket::request(&place, answer))
    }

    /// Sends a request to the store, and returns the lines of its answer.
    fn lines(&self, py: Python<'_>, request: Parts) -> PyResult<Lines> {
        let place = self.place()?;
        let answer = place.client.send_for_lines(call(request));
        let lines = runtime::wait(py, &place.runtime, answer)?.map_err(Failure::from)?;
        Ok(Lines::new(&place, lines))
    }

    /// Follows a task from an offset.
    #[pyo3(signature = (task, start=None))]
    fn follow(&self, task: &str, start: Option<u64>) -> PyResult<Following> {
        let place = self.place()?;
        let start = start.map_or(milepost_client::Start::Beginning, milepost_client::Start::Offset);
        Ok(Following::new(&place, place.client.follow(task, start)))
    }
}
