//! Event streams: the history of a task's active lineage as it grows, as server-sent events.
//!
//! A stream's place is a lineage and the next offset. A stream reads missed events from the log,
//! until it has caught up, and then the feed of its task. A slow reader therefore holds nothing
//! here, and any server of the store can continue a stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_core::Stream;
use milepost::subscribe::{Followed, Follower};
use milepost::{Engine, Task};
use tokio::sync::Semaphore;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, interval_at};

use crate::app::{App, StreamPermit};
use crate::auth::Caller;
use crate::budget::{LongPermit, LongPiece, TokenBudget};
use crate::error::ApiError;
use crate::feeds::Message;
use crate::permit::Heavy;
use crate::sse::{self, Place};

/// Interval of comments that keep an idle connection open.
pub(crate) const KEEP_OPEN: Duration = Duration::from_secs(15);

/// Maximum bytes and events of one piece.
const PIECE: usize = 64 << 10;
const PIECE_EVENTS: usize = 512;

/// Pieces larger than this need a permit for their bytes. A stream has one long piece at a time.
const LONG: usize = 96 << 10;

/// The request of a stream.
pub(crate) struct Wanted {
    pub(crate) task: Task,
    pub(crate) place: Place,
    /// True to continue past the head.
    pub(crate) follow: bool,
    /// The id of the request.
    pub(crate) id: Arc<str>,
}

/// Opens a stream. An error at its beginning is the answer; a later error is its last event.
pub(crate) async fn open(app: &App, caller: &Caller, wanted: Wanted) -> Result<Body, ApiError> {
    let permit = app.one_more_stream(caller)?;
    let feeds = app.feeds.clone();
    let joined = app.work(move |_| {
        // Joins the feed before the first read of the log: commits in between are in both.
        let feed = wanted.follow.then(|| feeds.join(&wanted.task)).transpose()?;
        let Place { lineage, next } = wanted.place;
        wanted.task.follow((lineage, next))?;
        Ok((feed, wanted))
    });
    let (feed, wanted) = joined.await?;
    let (pieces, waiting) = mpsc::channel(1);
    let reader = Reader {
        app: app.clone(),
        caller: caller.clone(),
        task: wanted.task,
        id: wanted.id,
        place: wanted.place,
        pieces,
        long: app.long(caller),
        one_long: Arc::new(Semaphore::new(1)),
        look: Instant::now() + KEEP_OPEN,
        _permit: permit,
    };
    tokio::spawn(reader.run(feed));
    Ok(Body::from_stream(Pieces(waiting)))
}

/// Runs the sending of a stream until the service stops or the client is gone. An error that it
/// returns is the last event.
pub(crate) async fn until_stopped(
    app: &App,
    id: &str,
    pieces: &Sender<Bytes>,
    sending: impl Future<Output = Option<ApiError>>,
) {
    let mut stop = app.stopped();
    let sent = async {
        if let Some(wrong) = sending.await {
            let problem = serde_json::to_value(wrong.problem(id)).unwrap_or_default();
            let _ = pieces.send(sse::problem(&problem)).await;
        }
    };
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => {}
        () = pieces.closed() => {}
        () = sent => {}
    }
}

/// The body of a stream.
pub(crate) struct Pieces(Receiver<Bytes>);

impl Pieces {
    pub(crate) fn new(pieces: Receiver<Bytes>) -> Self {
        Self(pieces)
    }
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().0.poll_recv(context).map(|piece| piece.map(Ok))
    }
}

struct Reader {
    app: App,
    caller: Caller,
    task: Task,
    id: Arc<str>,
    place: Place,
    pieces: Sender<Bytes>,
    long: TokenBudget,
    /// Held by the long piece in transit.
    one_long: Arc<Semaphore>,
    /// The time of the next check of the token.
    look: Instant,
    _permit: StreamPermit,
}

/// Signals that a reader has ended.
struct Ended;

/// The next step of a live reader.
enum Then {
    /// Read from the log what the feed lacks.
    CatchUp,
    /// The feed has ended: read the log once more.
    LastLook,
}

impl Reader {
    async fn run(mut self, mut feed: Option<broadcast::Receiver<Message>>) {
        let mut stop = self.app.stopped();
        let read = async {
            loop {
                self.catch_up().await?;
                let Some(live) = &mut feed else {
                    return Err(Ended);
                };
                match self.live(live).await? {
                    Then::CatchUp => {}
                    Then::LastLook => feed = None,
                }
            }
        };
        // Stops between two events: a piece is sent as a whole or not at all.
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {}
            Err::<(), _>(Ended) = read => {}
        }
    }

    /// Sends the events of the log up to its head.
    async fn catch_up(&mut self) -> Result<(), Ended> {
        // A permit for a long piece, and its length: the piece was read without one and dropped.
        let mut permit: Option<(LongPermit, usize)> = None;
        loop {
            // Read only when it can be sent: one piece waits here, and one is with the connection.
            let room = self.pieces.clone().reserve_owned().await;
            let room = room.map_err(|_| Ended)?;
            let (piece, one) = self.read().await;
            let len = piece.bytes.len();
            let bytes = match len > LONG {
                false => Bytes::from(piece.bytes),
                true => {
                    let had = permit.take().filter(|(_, bytes)| *bytes >= len);
                    match had.map(|(permit, _)| permit).or_else(|| self.try_permit(len)) {
                        Some(permit) => LongPiece::bytes(piece.bytes, permit),
                        None => {
                            drop((piece, one));
                            permit = Some((self.permit(len).await?, len));
                            continue;
                        }
                    }
                }
            };
            drop(one);
            self.place = piece.place;
            match bytes.is_empty() {
                true => drop(room),
                false => {
                    self.is_still()?;
                    room.send(bytes);
                }
            }
            if let Some(wrong) = piece.wrong {
                let problem = wrong.problem(&self.id);
                let problem = serde_json::to_value(problem).unwrap_or_default();
                self.send(sse::problem(&problem)).await?;
                return Err(Ended);
            }
            if piece.at_head {
                return Ok(());
            }
        }
    }

    /// Reads a piece, with the permit to hold until its bytes are counted or dropped.
    async fn read(&self) -> (Piece, Option<Heavy>) {
        let (task, place) = (self.task.clone(), self.place);
        let read = move |_: &Engine| Ok(Piece::read(&task, place));
        let read = self.app.long_work_held(self.caller.of_token(), read).await;
        read.unwrap_or_else(|wrong| (Piece::of(place, wrong), None))
    }

    /// Returns a permit for a long piece if one is free.
    fn try_permit(&self, bytes: usize) -> Option<LongPermit> {
        let one = Arc::clone(&self.one_long).try_acquire_owned().ok()?;
        Some((self.long.try_take(bytes)?, one))
    }

    /// Waits for a permit while the client is connected.
    async fn permit(&self, bytes: usize) -> Result<LongPermit, Ended> {
        let permit = async {
            let one = Arc::clone(&self.one_long).acquire_owned().await.ok()?;
            Some((self.long.wait(bytes).await?, one))
        };
        tokio::select! {
            permit = permit => permit.ok_or(Ended),
            () = self.pieces.closed() => Err(Ended),
        }
    }

    /// Sends messages of the feed while they continue at this reader's place.
    async fn live(&mut self, feed: &mut broadcast::Receiver<Message>) -> Result<Then, Ended> {
        let mut keep_open = interval_at(Instant::now() + KEEP_OPEN, KEEP_OPEN);
        loop {
            // Takes a message only when it can be sent.
            drop(self.pieces.reserve().await.map_err(|_| Ended)?);
            let first = tokio::select! {
                message = feed.recv() => message,
                () = self.pieces.closed() => return Err(Ended),
                _ = keep_open.tick() => {
                    self.send(Bytes::from_static(sse::COMMENT)).await?;
                    continue;
                }
            };
            let mut piece = Vec::new();
            let mut message = match first {
                Ok(message) => Some(message),
                Err(RecvError::Lagged(_)) => return Ok(Then::CatchUp),
                Err(RecvError::Closed) => return Ok(Then::LastLook),
            };
            let mut behind = false;
            while let Some(Message { place, sent }) = message.take() {
                let known = place.lineage == self.place.lineage && place.next < self.place.next;
                match sent {
                    Some(sent) if place == self.place => {
                        piece.extend_from_slice(&sent);
                        self.place.next += 1;
                    }
                    Some(_) if known => {}
                    _ => {
                        behind = true;
                        break;
                    }
                }
                if piece.len() < PIECE {
                    message = feed.try_recv().ok();
                }
            }
            if !piece.is_empty() {
                self.send(piece.into()).await?;
            }
            if behind {
                return Ok(Then::CatchUp);
            }
        }
    }

    /// Sends a piece, unless the token was revoked.
    async fn send(&mut self, piece: Bytes) -> Result<(), Ended> {
        self.is_still()?;
        self.pieces.send(piece).await.map_err(|_| Ended)
    }

    /// Checks at intervals that the token is still valid.
    fn is_still(&mut self) -> Result<(), Ended> {
        let now = Instant::now();
        if now >= self.look {
            self.look = now + KEEP_OPEN;
            let app = &self.app;
            if !self.caller.is_still(&app.tokens, &app.sessions, app.now_us()) {
                return Err(Ended);
            }
        }
        Ok(())
    }
}

/// A piece read from the log.
struct Piece {
    bytes: Vec<u8>,
    /// The place after the piece.
    place: Place,
    at_head: bool,
    wrong: Option<ApiError>,
}

impl Piece {
    fn of(place: Place, wrong: ApiError) -> Self {
        Self { bytes: Vec::new(), place, at_head: false, wrong: Some(wrong) }
    }

    fn read(task: &Task, place: Place) -> Self {
        let mut follower = match task.follow((place.lineage, place.next)) {
            Ok(follower) => follower,
            Err(error) => return Self::of(place, error.into()),
        };
        let mut piece = Self { bytes: Vec::new(), place, at_head: false, wrong: None };
        let mut events = 0;
        while piece.bytes.len() < PIECE && events < PIECE_EVENTS {
            match piece.take(&mut follower) {
                Ok(true) => events += 1,
                Ok(false) => {
                    piece.at_head = true;
                    break;
                }
                Err(error) => {
                    piece.wrong = Some(error.into());
                    break;
                }
            }
        }
        piece
    }

    fn take(&mut self, follower: &mut Follower) -> milepost::Result<bool> {
        let Some(found) = follower.try_next()? else {
            return Ok(false);
        };
        let (lineage, next) = follower.position();
        self.place = Place { lineage, next };
        match found {
            Followed::Event(event) => sse::event(&mut self.bytes, lineage, event),
            Followed::LineageChanged(moved) => sse::moved(&mut self.bytes, moved),
        }
        Ok(true)
    }
}
