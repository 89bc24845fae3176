//! Files of captured folders.

use std::time::Duration;

use bytes::Bytes;
use milepost_api::{FileForm, Listed, WorkspaceStateForm};
use milepost_codec::TreePath;
use reqwest::Response;
use tokio::time::timeout;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::request::ApiRequest;
use crate::unfold::{Step, Unfolded, stream};

/// A stream of a file's bytes, piece by piece.
#[derive(Debug)]
pub struct FileBytes {
    len: Option<u64>,
    most: usize,
    endpoint: String,
    stream: Unfolded<Piece, Result<Bytes>>,
}

stream!(FileBytes, Bytes);

/// The open answer that holds a file.
struct Piece {
    response: Response,
    endpoint: String,
    timeout: Duration,
}

impl Client {
    /// Returns all entries of the folder captured at a point, each folder before its contents.
    ///
    /// # Errors
    ///
    /// `NotFound`: nothing was captured before the point. `Invalid`: not an address.
    pub async fn files(&self, address: &str) -> Result<Listed<FileForm>> {
        self.get(["v1", "points", address, "files"])?.read().await
    }

    /// Returns the bytes of a captured file as a stream, which buffers one piece.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such file; folders and links have no bytes. `Transport`, from the stream: the
    /// answer broke off.
    pub async fn file(&self, address: &str, path: &TreePath) -> Result<FileBytes> {
        let front = ["v1", "points", address, "files"];
        let segments = front.iter().map(|part| part.as_bytes()).chain(path.names());
        self.bytes(self.get(segments)?.accept("application/octet-stream")).await
    }

    /// Returns the state of the folder of a task: idle, being captured, being restored, or the
    /// reason why the last of these failed.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task.
    pub async fn workspace(&self, task: &str) -> Result<WorkspaceStateForm> {
        self.get(["v1", "tasks", task, "workspace"])?.read().await
    }

    /// Opens the bytes of an answer.
    pub(crate) async fn bytes(&self, request: ApiRequest) -> Result<FileBytes> {
        let response = request.open().await?;
        let piece = Piece {
            endpoint: request.method_and_path(),
            timeout: self.0.options.timeout,
            response,
        };
        Ok(FileBytes {
            len: piece.response.content_length(),
            most: self.0.options.answer,
            endpoint: request.method_and_path(),
            stream: Unfolded::new(piece, next),
        })
    }
}

impl FileBytes {
    /// Returns the length of the file, if known.
    pub fn size(&self) -> Option<u64> {
        self.len
    }

    /// Returns all bytes.
    ///
    /// # Errors
    ///
    /// `Transport`: the answer broke off. `Answer`: the file is larger than the answer limit.
    pub async fn whole(mut self) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await {
            let piece = piece?;
            if whole.len() + piece.len() > self.most {
                let most = self.most;
                let text = format!(
                    "the file has more than {most} bytes: take it piece by piece, or raise \
                     `ClientBuilder::answer_limit`"
                );
                return Err(Error::new(ErrorKind::Answer, &self.endpoint, text));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}

fn next(piece: Piece) -> Step<Piece, Result<Bytes>> {
    Box::pin(piece.next())
}

impl Piece {
    async fn next(mut self) -> (Option<Result<Bytes>>, Option<Self>) {
        match timeout(self.timeout, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => (Some(Ok(bytes)), Some(self)),
            Ok(Ok(None)) => (None, None),
            Ok(Err(error)) => {
                let error = Error::connection_lost(&self.endpoint, &error.without_url());
                (Some(Err(error)), None)
            }
            Err(_) => (Some(Err(Error::timed_out(&self.endpoint, self.timeout))), None),
        }
    }
}
