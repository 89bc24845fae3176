//! Work that is not done twice: its result is an event under a key.

use std::collections::HashSet;

use milepost_codec::{Application, Body, Data, Error, Json, Result};
use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Run;
use crate::commit::append::Append;

/// The application event that holds a result.
const NAME: &str = "milepost.once";

/// What keys begin with, so that they meet no key of the embedder's own.
const PREFIX: &str = "once/";

/// Keys whose work is being done.
#[derive(Debug, Default)]
pub(super) struct Keys {
    busy: Mutex<HashSet<String>>,
    done: Condvar,
}

/// One that is being done, until it is dropped.
struct Busy<'a> {
    keys: &'a Keys,
    key: &'a str,
}

impl Keys {
    fn take<'a>(&'a self, key: &'a str) -> Busy<'a> {
        let mut busy = self.busy.lock();
        while !busy.insert(key.to_owned()) {
            self.done.wait(&mut busy);
        }
        Busy { keys: self, key }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.keys.busy.lock().remove(self.key);
        self.keys.done.notify_all();
    }
}

impl Run {
    /// Does work once: where its result is in the lineage, or its ancestors before the fork, it
    /// comes back and the work is not done. After a restore to before it, it is done again. Threads
    /// that ask for the same key wait for each other. Work that fails is not recorded.
    ///
    /// A kill between the work and its record leaves work without a record: it will be done again.
    ///
    /// ```
    /// use milepost::{Engine, Error, Options, Run, RunOptions};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let run = Run::of(engine.start_task("mailing", "ana")?, RunOptions::default())?;
    /// let send = || Ok::<_, Error>("message-42".to_owned());
    /// let id: String = run.once("mail to bob", send)?;
    /// let again: String = run.once("mail to bob", || Err(Error::invalid("not called")))?;
    /// assert_eq!(id, again);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the work gives. `Invalid`: the result does not go through JSON and back (such as a
    /// number that is not finite: use [`Run::once_bytes`]), or the key is too long. Else as
    /// [`crate::Task::append`].
    pub fn once<T, E>(&self, key: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let encode = |result: &T| Ok(Data::Json(Json::from_value(result)?));
        let decode = |data: Data| match data {
            Data::Json(json) => read(key, &json),
            Data::Bytes(_) => Err(other(key, "bytes")),
        };
        self.once_as(key, work, encode, decode)
    }

    /// The same for a result that is bytes.
    ///
    /// # Errors
    ///
    /// As [`Run::once`].
    pub fn once_bytes<E>(
        &self,
        key: &str,
        work: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E>
    where
        E: From<Error>,
    {
        let encode = |result: &Vec<u8>| Ok(Data::Bytes(result.clone()));
        let decode = |data: Data| match data {
            Data::Bytes(bytes) => Ok(bytes),
            Data::Json(_) => Err(other(key, "JSON")),
        };
        self.once_as(key, work, encode, decode)
    }

    fn once_as<T, E: From<Error>>(
        &self,
        key: &str,
        work: impl FnOnce() -> Result<T, E>,
        encode: impl FnOnce(&T) -> Result<Data>,
        decode: impl FnOnce(Data) -> Result<T>,
    ) -> Result<T, E> {
        let _busy = self.shared.keys.take(key);
        let stored = format!("{PREFIX}{key}");
        if let Some(data) = self.recorded(&stored)? {
            return decode(data).map_err(E::from);
        }
        let data = encode(&work()?)?;
        // What was recorded comes back the first time too: a process after this one gets no other.
        let result = decode(data.clone())?;
        let name = NAME.to_owned();
        let event = Body::from(Application { name, data });
        self.append(Append::from(event).key(stored))?;
        Ok(result)
    }

    /// The result that is recorded under a key.
    fn recorded(&self, key: &str) -> Result<Option<Data>> {
        let task = self.task();
        let (lineage, catalog) = (task.lineage(), &task.lineage().inner().catalog);
        let Some(used) = catalog.keyed(task.no(), lineage.id(), key)? else {
            return Ok(None);
        };
        let event = lineage.read(used.first..=used.first)?.next().transpose()?;
        match event.and_then(|event| event.body) {
            Some(Body::Application(event)) if event.name == NAME => Ok(Some(event.data)),
            Some(_) => Err(other(key, "another event")),
            None => Err(Error::not_found(format!(
                "the result of `{key}` at offset {} was erased",
                used.first
            ))),
        }
    }
}

fn read<T: DeserializeOwned>(key: &str, json: &Json) -> Result<T> {
    serde_json::from_str(json.text()).map_err(|e| {
        Error::invalid(format!("the result of `{key}` does not come back from JSON: {e}"))
    })
}

fn other(key: &str, what: &str) -> Error {
    Error::invalid(format!("under `{key}` there is {what}, not such a result"))
}
