//! Lines of an answer, as they arrive.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::error::{Error, ErrorKind, Result};
use crate::request::ApiRequest;

/// The lines of an answer, as they arrive. Holds the lines of one piece.
#[derive(Debug)]
pub struct AnswerLines {
    response: Response,
    endpoint: String,
    timeout: Duration,
    /// The maximum length of a line.
    most: usize,
    /// Lines that were not returned yet; the last one may be incomplete.
    received: Vec<u8>,
    /// The part of it that was returned, and the part that is known to have no line break.
    taken: usize,
    searched: usize,
}

impl AnswerLines {
    pub(crate) async fn open(request: &ApiRequest) -> Result<Self> {
        let (timeout, most) = request.limits();
        Ok(Self {
            response: request.open().await?,
            endpoint: request.method_and_path(),
            timeout,
            most,
            received: Vec::new(),
            taken: 0,
            searched: 0,
        })
    }

    /// Returns the next line without its end; `None` after the last one.
    ///
    /// # Errors
    ///
    /// `Transport`: the answer broke off. `Answer`: a line is longer than the answer limit.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.line().await?.map(<[u8]>::to_vec))
    }

    /// Parses the next line.
    pub(crate) async fn next_parsed<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let read = match self.line().await? {
            Some(line) => serde_json::from_slice(line),
            None => return Ok(None),
        };
        read.map(Some).map_err(|error| self.answer(format!("a line is not understood: {error}")))
    }

    async fn line(&mut self) -> Result<Option<&[u8]>> {
        loop {
            if let Some(end) = self.end() {
                let begin = std::mem::replace(&mut self.taken, end + 1);
                self.searched = end + 1;
                return Ok(self.received.get(begin..end));
            }
            self.received.drain(..self.taken);
            (self.taken, self.searched) = (0, self.received.len());
            let Some(bytes) = self.chunk().await? else {
                return match self.received.is_empty() {
                    true => Ok(None),
                    false => Err(self.answer("the last line has no end".into())),
                };
            };
            // A chunk may have the ends of several lines: only one that has none is too long.
            if self.received.len() + bytes.len() > self.most && !bytes.contains(&b'\n') {
                let most = self.most;
                return Err(self.answer(format!(
                    "a line has more than {most} bytes: ask for less (of a state, fewer \
                     `messages`), or raise `ClientBuilder::answer_limit`"
                )));
            }
            self.received.extend_from_slice(&bytes);
        }
    }

    /// Returns the end of the next line.
    fn end(&self) -> Option<usize> {
        let rest = self.received.get(self.searched..)?;
        rest.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at)
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        match timeout(self.timeout, self.response.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(Error::connection_lost(&self.endpoint, &error.without_url())),
            Err(_) => Err(Error::timed_out(&self.endpoint, self.timeout)),
        }
    }

    fn answer(&self, text: String) -> Error {
        Error::new(ErrorKind::Answer, &self.endpoint, text)
    }
}
