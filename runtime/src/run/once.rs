//! Work that is done once: its result is an event under a key.

use milepost::events::{Application, Data};
use milepost::{Append, Body, Error, Json, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Run;

/// The name of the application event that holds a result.
const NAME: &str = "milepost.once";

/// The prefix of keys, which keeps them apart from the embedder's own.
const PREFIX: &str = "once/";

impl Run {
    /// Does work once: if its result is recorded in the lineage, or in its ancestors before the
    /// fork, the result is returned without doing the work. After a restore to an earlier point the
    /// work is done again. Threads with the same key wait for each other. Failed work is not
    /// recorded.
    ///
    /// If the process is killed after the work and before the record, the work is done again. With
    /// [`RunOptions::failover`](crate::run::RunOptions::failover), it waits while the store is not
    /// open: whether the work was done is not known then.
    ///
    /// ```
    /// use milepost_runtime::run::{Run, RunOptions};
    /// use milepost::{Engine, Error, Options};
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
    /// - `Invalid`: the result cannot be converted to JSON and back (such as a number that is not
    ///   finite: use [`Run::once_bytes`]), or the key is too long.
    /// - Errors of the work.
    /// - Otherwise as [`milepost::Lineage::append`].
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

    /// Does work with bytes as its result once, as [`Run::once`].
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
        let _busy = self.shared.keys.acquire(key);
        let stored = format!("{PREFIX}{key}");
        if let Some(data) = self.recorded(&stored)? {
            return decode(data).map_err(E::from);
        }
        let data = encode(&work()?)?;
        // The recorded form is returned the first time too, as every later process gets it.
        let result = decode(data.clone())?;
        let name = NAME.to_owned();
        let event = Body::from(Application { name, data });
        self.append(Append::from(event).key(stored))?;
        Ok(result)
    }

    /// Returns the result recorded under a key.
    fn recorded(&self, key: &str) -> Result<Option<Data>> {
        let of_event = |event: Option<Body>| match event {
            Some(Body::Application(event)) if event.name == NAME => Ok(Some(event.data)),
            Some(_) => Err(other(key, "another event")),
            None => Ok(None),
        };
        let held = of_event(self.shared.held_under(key))?;
        if held.is_some() {
            return Ok(held);
        }
        let found = self.shared.read_again(|task| {
            let Some(used) = task.lineage().appended_under(key)? else {
                return Ok(None);
            };
            Ok(Some((used.start, task.read(used.start..=used.start)?.next().transpose()?)))
        })?;
        let Some((at, event)) = found else {
            return Ok(None);
        };
        let data = of_event(event.and_then(|event| event.body))?;
        data.map(Some).ok_or_else(|| {
            Error::not_found(format!("the result of `{key}` at offset {at} was erased"))
        })
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
