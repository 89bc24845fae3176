//! Following a task: its events as they are committed.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use milepost_api::{Big, EventForm, MovedForm};
use milepost_codec::LineageId;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderName};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::request::ApiRequest;
use crate::retry::{RetryRule, Tries};
use crate::sse::{Message, Parser};
use crate::unfold::{Step, Unfolded};

const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The position of a stream: a lineage and its next offset, written as `LINEAGE:NEXT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The followed lineage.
    pub lineage: LineageId,
    /// The offset of the next event.
    pub next: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.lineage, self.next)
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let read = text.split_once(':').and_then(|(lineage, next)| {
            let (true, true) = (digits(lineage), digits(next)) else {
                return None;
            };
            let lineage = LineageId(lineage.parse().ok()?);
            let next = next.parse().ok()?;
            Some(Self { lineage, next })
        });
        read.ok_or_else(|| Error::invalid("place", "a place is LINEAGE:OFFSET, as a stream has it"))
    }
}

/// The start of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Start {
    /// The first readable event.
    #[default]
    Beginning,
    /// This offset of the active lineage.
    Offset(u64),
    /// The place of an earlier stream.
    Place(Place),
}

impl From<u64> for Start {
    fn from(offset: u64) -> Self {
        Self::Offset(offset)
    }
}

impl From<Place> for Start {
    fn from(place: Place) -> Self {
        Self::Place(place)
    }
}

/// An item of a stream that follows a task.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all of them are events, and they are handed on one by one"
)]
pub enum Followed {
    /// The next event of the active lineage.
    Event(EventForm),
    /// The task switched to another lineage: earlier items from `at` on are no longer part of the
    /// history, and the items that follow are of the new lineage.
    LineageChanged(MovedForm),
}

/// A stream of the active lineage's history as it grows, without gaps or duplicates, across
/// reconnects.
#[derive(Debug)]
pub struct Following {
    place: Option<Place>,
    stream: Unfolded<Reader, Result<(Followed, Place)>>,
}

impl Following {
    /// Returns the place after the last item. A stream started there continues with the next item.
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// Returns the next item; `None` after an error.
    pub async fn next(&mut self) -> Option<Result<Followed>> {
        let mut this = Pin::new(self);
        std::future::poll_fn(|context| this.as_mut().poll_next(context)).await
    }
}

impl Stream for Following {
    type Item = Result<Followed>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let next = ready!(Pin::new(&mut this.stream).poll_next(context));
        Poll::Ready(next.map(|next| {
            let (followed, place) = next?;
            this.place = Some(place);
            Ok(followed)
        }))
    }
}

impl Client {
    /// Follows a task: its events from `from` on, and then each event as it becomes durable, across
    /// restores and undos. A broken connection is reopened after the last item, without gaps or
    /// duplicates.
    ///
    /// ```no_run
    /// use milepost_client::{Client, Followed, Start};
    ///
    /// # async fn watch(client: Client) -> milepost_client::Result<()> {
    /// let mut following = client.follow("essay", Start::Beginning);
    /// while let Some(followed) = following.next().await {
    ///     match followed? {
    ///         Followed::Event(event) => println!("{} {}", event.offset.0, event.kind),
    ///         Followed::LineageChanged(moved) => println!("back to {}", moved.at.0),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The last item is an error: the service's reason for ending the stream (the task was deleted,
    /// retention removed the next event, the token was revoked), or `Transport` if nothing arrived
    /// over [`ClientBuilder::reconnects`] reconnects.
    ///
    /// [`ClientBuilder::reconnects`]: crate::ClientBuilder::reconnects
    pub fn follow(&self, task: &str, from: impl Into<Start>) -> Following {
        let start = from.into();
        let place = match start {
            Start::Place(place) => Some(place),
            Start::Beginning | Start::Offset(_) => None,
        };
        let reader = Reader {
            client: self.clone(),
            task: task.to_owned(),
            endpoint: String::new(),
            start,
            place,
            connection: None,
            tries: Tries::new(self.0.options.reconnects.saturating_add(1)),
        };
        Following { place, stream: Unfolded::new(reader, next) }
    }
}

/// Reads a stream over consecutive connections.
struct Reader {
    client: Client,
    task: String,
    /// Method and path of the request, for errors.
    endpoint: String,
    start: Start,
    place: Option<Place>,
    connection: Option<Connection>,
    /// Counts consecutive connections without data.
    tries: Tries,
}

struct Connection {
    response: Response,
    parser: Parser,
}

type Item = Result<(Followed, Place)>;

fn next(reader: Reader) -> Step<Reader, Item> {
    Box::pin(reader.next())
}

impl Reader {
    async fn next(mut self) -> (Option<Item>, Option<Self>) {
        loop {
            match self.step().await {
                Ok(None) => {}
                Ok(Some(item)) => return (Some(Ok(item)), Some(self)),
                Err(error) => return (Some(Err(error)), None),
            }
        }
    }

    /// Performs one step, which may return an item.
    async fn step(&mut self) -> Result<Option<(Followed, Place)>> {
        let Some(connection) = &mut self.connection else {
            return self.connect().await.map(|()| None);
        };
        if let Some(message) = connection.parser.next() {
            let read = self.place_behind(&message)?;
            return Ok(read.inspect(|(_, place)| self.place = Some(*place)));
        }
        let silence = self.client.0.options.silence;
        let broken = match timeout(silence, connection.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let pushed = connection.parser.push(&bytes);
                pushed.map_err(|error| answer(&self.endpoint, error.to_string()))?;
                if connection.parser.has_received() {
                    self.tries.reset();
                }
                return Ok(None);
            }
            Ok(Ok(None)) => {
                let text = "the stream ended, again and again";
                Error::new(ErrorKind::Transport, &self.endpoint, text)
            }
            Ok(Err(error)) => Error::connection_lost(&self.endpoint, &error.without_url()),
            Err(_) => Error::timed_out(&self.endpoint, silence),
        };
        self.connection = None;
        self.tries.failed(RetryRule::Always, broken).await?;
        Ok(None)
    }

    /// Connects at the current place, or waits for the next try.
    async fn connect(&mut self) -> Result<()> {
        let request = self.request()?;
        self.endpoint = request.method_and_path();
        let response = match request.open_once().await {
            Ok(response) => response,
            Err(error) => return self.tries.failed(RetryRule::Always, error).await,
        };
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with(EVENT_STREAM) {
            let text = format!("the answer is no stream of events, but `{kind}`");
            return Err(answer(&self.endpoint, text));
        }
        self.connection =
            Some(Connection { response, parser: Parser::new(self.client.0.options.answer) });
        Ok(())
    }

    fn request(&self) -> Result<ApiRequest> {
        let request = self.client.get(["v1", "tasks", &self.task, "events"])?;
        let request = request.accept(EVENT_STREAM);
        match (self.place, self.start) {
            (Some(place), _) => request.header(LAST_EVENT_ID, &place.to_string()),
            (None, Start::Offset(from)) => Ok(request.query("from", Some(from))),
            (None, _) => Ok(request),
        }
    }

    /// Parses a message and checks that its place directly follows the previous one. Returns `None`
    /// for a message without an id.
    fn place_behind(&self, message: &Message) -> Result<Option<(Followed, Place)>> {
        let endpoint = &self.endpoint;
        if message.event == "problem" {
            return Err(Error::of_problem(endpoint, parsed(message, endpoint)?));
        }
        let Some(id) = &message.id else {
            return Ok(None);
        };
        let place: Place = id.parse().map_err(|_| {
            let text = format!("`{id}` is no place of a stream");
            answer(endpoint, text)
        })?;
        let (followed, is_expected) = match message.event.as_str() {
            "lineage" => {
                let change: MovedForm = parsed(message, endpoint)?;
                let (lineage, Big(next)) = (change.to, change.at);
                let is_from = self.place.is_none_or(|last| last.lineage == change.from);
                let is_expected = is_from && place == Place { lineage, next };
                (Followed::LineageChanged(change), is_expected)
            }
            _ => {
                let event: EventForm = parsed(message, endpoint)?;
                let Big(offset) = event.offset;
                let is_expected = self.is_next(place.lineage, offset)
                    && offset.checked_add(1) == Some(place.next);
                (Followed::Event(event), is_expected)
            }
        };
        match is_expected {
            true => Ok(Some((followed, place))),
            false => {
                let last = self.place.map(|last| last.to_string());
                let last = last.unwrap_or_else(|| "the beginning".into());
                Err(answer(endpoint, format!("what leads to {place} does not follow on {last}")))
            }
        }
    }

    fn is_next(&self, lineage: LineageId, offset: u64) -> bool {
        match (self.place, self.start) {
            (Some(last), _) => last.lineage == lineage && last.next == offset,
            (None, Start::Offset(from)) => offset == from,
            (None, _) => true,
        }
    }
}

/// Parses the data of a message.
fn parsed<T: DeserializeOwned>(message: &Message, endpoint: &str) -> Result<T> {
    serde_json::from_str(&message.data).map_err(|error| {
        let text = format!("a message of the stream is not understood: {error}");
        answer(endpoint, text)
    })
}

fn answer(endpoint: &str, text: String) -> Error {
    Error::new(ErrorKind::Answer, endpoint, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written_and_nothing_else_is_one() {
        let place = Place { lineage: LineageId(3), next: u64::MAX };
        assert_eq!(place.to_string().parse::<Place>().unwrap(), place);
        for text in ["", "1", ":", "1:", ":1", "-1:2", "1:+2", "1:2:3", " 1:2"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
