//! The class of Python for threads of LangGraph.

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost::Json;
use milepost_langgraph::{Checkpoint, Step, Typed};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::Failure;
use crate::store::Store;
use crate::thread::{Ancestors, Cache, Getting, GivenParts, Listing, Putting, given};
use crate::ticket::Ticket;

/// Threads of LangGraph in a store.
#[pyclass(frozen, module = "milepost._milepost")]
pub struct Threads {
    store: Py<Store>,
    user: String,
    raises: bool,
    /// Gives lists of texts as lists, not as bytes.
    texts: bool,
    cache: Arc<Cache>,
}

/// Encoding and bytes of a value.
type TypedParts = (String, PyBackedBytes);

/// Task, namespace, id, and the id of the parent.
type PlaceParts = (String, String, String, Option<String>);

/// Content, metadata, the metadata for filters as JSON, and number and source of the step.
type ContentParts = (TypedParts, TypedParts, Option<String>, Option<(u64, Option<String>)>);

fn typed((encoding, bytes): TypedParts) -> Typed {
    Typed::new(&encoding, &bytes)
}

impl Threads {
    fn putting(
        &self,
        (task, namespace, id, parent): PlaceParts,
        (content, metadata, filtered, step): ContentParts,
        values: Vec<GivenParts>,
    ) -> PyResult<Putting> {
        let step = step.map(|(number, source)| Step { number, source });
        let (content, metadata) = (typed(content), typed(metadata));
        Ok(Putting {
            cache: self.cache.clone(),
            task,
            user: self.user.clone(),
            namespace,
            checkpoint: Checkpoint { id, parent, content, metadata, step },
            metadata: filtered.map(Json::new).transpose().map_err(Failure::from)?,
            values: values.into_iter().map(given).collect(),
            raises: self.raises,
        })
    }

    fn listing(&self, (task, namespace, before, filter, limit): ListParts) -> Listing {
        Listing { texts: self.texts, task, namespace, before, filter, limit }
    }

    fn getting(&self, task: String, namespace: String, id: Option<String>) -> Getting {
        Getting { cache: self.cache.clone(), texts: self.texts, task, namespace, id }
    }

    fn tracing(
        &self,
        (task, namespace, id): AncestorParts,
        channels: BTreeSet<String>,
    ) -> Ancestors {
        Ancestors { getting: self.getting(task, namespace, id), channels }
    }
}

/// Task, namespace, and the id of a checkpoint.
type AncestorParts = (String, String, Option<String>);

/// Task, namespace, the id that all sort before, filter as JSON, and the largest number.
type ListParts = (String, Option<String>, Option<String>, Option<String>, usize);

#[pymethods]
impl Threads {
    #[new]
    fn new(store: Py<Store>, user: String, raises: bool, texts: bool) -> Self {
        Self { store, user, raises, texts, cache: Arc::default() }
    }

    /// Puts a checkpoint. Returns the names of channels whose values have to be given; then nothing
    /// was done.
    fn put(
        &self,
        py: Python<'_>,
        place: PlaceParts,
        content: ContentParts,
        values: Vec<GivenParts>,
    ) -> PyResult<Py<PyAny>> {
        self.store.get().done(py, self.putting(place, content, values)?)
    }

    /// Does the same, and returns a ticket.
    fn put_ticket(
        &self,
        place: PlaceParts,
        content: ContentParts,
        values: Vec<GivenParts>,
    ) -> PyResult<Ticket> {
        self.store.get().begun(self.putting(place, content, values)?)
    }

    /// Returns a checkpoint, or the newest one of a namespace, in a list; an empty one if there is
    /// none.
    #[pyo3(signature = (task, namespace, id=None))]
    fn get(
        &self,
        py: Python<'_>,
        task: String,
        namespace: String,
        id: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        self.store.get().done(py, self.getting(task, namespace, id))
    }

    /// Does the same, and returns a ticket.
    #[pyo3(signature = (task, namespace, id=None))]
    fn get_ticket(&self, task: String, namespace: String, id: Option<String>) -> PyResult<Ticket> {
        self.store.get().begun(self.getting(task, namespace, id))
    }

    /// Returns the ancestors of a checkpoint, or of the newest one of a namespace, the parent
    /// first, until each of the channels has a value. They have the values and writes of these
    /// channels.
    fn ancestors(
        &self,
        py: Python<'_>,
        place: AncestorParts,
        channels: BTreeSet<String>,
    ) -> PyResult<Py<PyAny>> {
        self.store.get().done(py, self.tracing(place, channels))
    }

    /// Does the same, and returns a ticket.
    fn ancestors_ticket(
        &self,
        place: AncestorParts,
        channels: BTreeSet<String>,
    ) -> PyResult<Ticket> {
        self.store.get().begun(self.tracing(place, channels))
    }

    /// Returns checkpoints, those with the greatest ids first.
    fn list(&self, py: Python<'_>, which: ListParts) -> PyResult<Py<PyAny>> {
        self.store.get().done(py, self.listing(which))
    }

    /// Does the same, and returns a ticket.
    fn list_ticket(&self, which: ListParts) -> PyResult<Ticket> {
        self.store.get().begun(self.listing(which))
    }
}
