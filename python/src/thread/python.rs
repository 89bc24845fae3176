//! Checkpoints of threads for Python.

use std::collections::HashMap;
use std::sync::Arc;

use milepost::events::Attachment;
use milepost_langgraph::{Content, Given, GivenValue, Lost, Thread, Typed};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::errors::Failure;
use crate::events;

/// A found checkpoint, and the data attached to it.
#[derive(Debug)]
pub struct Found {
    pub namespace: String,
    pub thread: Arc<Thread>,
    pub attached: Vec<Attachment>,
}

/// A channel as Python gives it: name, version as JSON, and encoding and bytes of its value.
pub type GivenParts = (String, String, Option<(String, PyBackedBytes)>);

pub fn given((name, version, value): GivenParts) -> Given {
    let value = value.map(|(encoding, bytes)| {
        let (encoding, bytes) = (encoding.into(), Arc::new(bytes));
        GivenValue { encoding, bytes }
    });
    Given { name, version, value }
}

/// Converts checkpoints to tuples of namespace, id, parent, content, metadata, channels and
/// attachments. A channel is its name with encoding and bytes, or `with_texts` with a list if all
/// its items are texts, which the checkpoints share.
pub fn into_python(py: Python<'_>, found: &[Found], with_texts: bool) -> PyResult<Py<PyAny>> {
    let mut texts = Texts(HashMap::new());
    let list = PyList::empty(py);
    for Found { namespace, thread, attached } in found {
        let channels = PyList::empty(py);
        for (name, channel) in &thread.channels {
            if with_texts
                && let Content::Items(items) = &channel.content
                && let Some(list) = texts.list(py, items)
            {
                channels.append((&**name, list?))?;
                continue;
            }
            let value = channel.content.typed().map_err(|Lost| lost(thread, name))?;
            channels.append((&**name, typed(py, &value)?))?;
        }
        list.append((
            namespace,
            &*thread.id,
            thread.parent.as_deref(),
            typed(py, &thread.content)?,
            typed(py, &thread.metadata)?,
            channels,
            events::attached(py, attached)?,
        ))?;
    }
    Ok(list.into_any().unbind())
}

fn lost(thread: &Thread, name: &str) -> Failure {
    let text = format!(
        "channel `{name}` of checkpoint {} cannot be read: an event that it depends on was erased",
        thread.id
    );
    Failure::Engine(milepost::Error::new(milepost::ErrorKind::Corrupt, text))
}

fn typed<'py>(py: Python<'py>, value: &Typed) -> PyResult<Bound<'py, PyTuple>> {
    (&*value.encoding, PyBytes::new(py, &value.bytes)).into_pyobject(py)
}

/// Texts of items, by the address of their bytes, which the checkpoints of one answer share.
struct Texts(HashMap<*const u8, Py<PyString>>);

impl Texts {
    /// Returns the list of the items if all are texts.
    fn list<'py>(
        &mut self,
        py: Python<'py>,
        items: &[Arc<[u8]>],
    ) -> Option<PyResult<Bound<'py, PyList>>> {
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            let text = match self.0.get(&item.as_ptr()) {
                Some(text) => text.clone_ref(py),
                None => {
                    let made = PyString::new(py, text_of(item)?).unbind();
                    self.0.insert(item.as_ptr(), made.clone_ref(py));
                    made
                }
            };
            list.push(text);
        }
        Some(PyList::new(py, list))
    }
}

/// Returns the text of a value in MessagePack; `None` if it is another value.
fn text_of(item: &[u8]) -> Option<&str> {
    let (marker, rest) = item.split_first()?;
    let skipped = match marker {
        0xa0..=0xbf => 0,
        0xd9 => 1,
        0xda => 2,
        0xdb => 4,
        _ => return None,
    };
    std::str::from_utf8(rest.get(skipped..)?).ok()
}
