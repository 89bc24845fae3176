//! The native part of the Python package `milepost`: a store, opened in this process or reached
//! through a socket or over HTTP, with bytes in and bytes out. The package's classes are written in
//! Python on top of it.
//!
//! ```text
//! store     a store: opening, appends, attachments, requests
//! place     the place of a store: an engine in this process, or a client
//! operations  what an engine here does, or another program
//! events    events and marks from Python
//! ticket    results that are waited for, or awaited
//! stream    lines and followed events, one at a time
//! threads   threads of LangGraph, in thread/
//! runtime   waiting without the lock of the interpreter
//! errors    errors as exceptions of the package
//! command   the command `milepost`
//! ```
//!
//! Every call that may wait releases the lock of the interpreter.

mod command;
mod errors;
mod events;
mod operations;
mod place;
mod runtime;
mod store;
mod stream;
mod thread;
mod threads;
mod ticket;

use pyo3::prelude::*;

/// Returns the alias of a checkpoint of LangGraph.
#[pyfunction]
fn alias(namespace: &str, id: &str) -> String {
    milepost_langgraph::alias(namespace, id)
}

/// The native part of milepost.
#[pymodule(gil_used = false)]
fn _milepost(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<store::Store>()?;
    module.add_class::<ticket::Ticket>()?;
    module.add_class::<stream::Lines>()?;
    module.add_class::<stream::Following>()?;
    module.add_class::<threads::Threads>()?;
    module.add_function(wrap_pyfunction!(alias, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    Ok(())
}
