//! Imports into a store that this process opens, and makes if there is none.

use std::io;

use milepost::{Engine, ErrorKind, Options};
use milepost_api::ImportForm;
use milepost_formats::Durable;
use milepost_service::jobs::import::{Importer, Names, Needed, Place};
use serde_json::json;

use super::ImportJob;
use super::failures::worded;
use crate::backend::jobs::Listening;
use crate::backend::{Remote, jobs};
use crate::defaults::current_user;
use crate::error::{Failure, Result};
use crate::output::{Out, big};
use crate::store_locator::{Attachment, Opened, attach};

/// The end of an import.
pub enum Done {
    Form(ImportForm),
    /// Nothing was imported: another program has the store open.
    HeldBy(Remote),
}

/// The store, once an input needs it.
enum Opening {
    Closed,
    Open(Engine, Option<Attachment>),
    HeldBy(Remote),
    Failed(Failure),
}

/// Imports the inputs one by one.
pub fn import(job: &ImportJob<'_>, out: &mut Out) -> Result<Done> {
    let mut store = Opening::Closed;
    let mut open = |needed: Needed| {
        store = opened(job, needed);
        match &store {
            Opening::Open(engine, _) => Ok(engine.clone()),
            _ => Err(milepost::Error::new(ErrorKind::Unavailable, "the store is not open").into()),
        }
    };
    let listening = Listening::new(ImportJob::bar(out));
    let (user, names) = (current_user(), Names::default());
    let importer = Importer::new(&job.asked, &user, &names, &listening);
    let mut tell = |event: Durable| acknowledge(event, out);
    let acknowledge = job.ack.then_some(&mut tell as _);
    let done = importer
        .and_then(|importer| importer.run(&mut Place::Engine(&mut open), acknowledge))
        .map_err(|failure| worded(jobs::failed(failure)));
    drop(listening);
    match store {
        Opening::HeldBy(there) => Ok(Done::HeldBy(there)),
        Opening::Failed(failure) => Err(failure),
        Opening::Closed => done.map(Done::Form),
        Opening::Open(engine, attached) => {
            drop(attached);
            let closed = engine.close();
            let form = done?;
            if form.is_complete() {
                closed?;
            }
            Ok(Done::Form(form))
        }
    }
}

fn opened(job: &ImportJob<'_>, needed: Needed) -> Opening {
    let options = Options::default().event_max(needed.event_max);
    match job.store.make_or_find(options, !needed.only_exports) {
        Ok(Opened::Local(engine)) => {
            let attached = job.attaches.then(|| attach(&engine)).flatten();
            Opening::Open(engine, attached)
        }
        Ok(Opened::Remote(there)) => Opening::HeldBy(there),
        Err(failure) => Opening::Failed(failure),
    }
}

/// Prints the acknowledgement of an event.
pub fn acknowledge(event: Durable, out: &mut Out) -> io::Result<()> {
    let Durable { offset, hash } = event;
    let said = out.json(&json!({"offset": big(offset), "hash": hash}));
    said.and_then(|()| out.flush()).map_err(|error| {
        let text = format!("standard output failed after event {offset}: {error}");
        io::Error::other(text)
    })
}
