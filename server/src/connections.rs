//! Connections: accepted up to a limit, served one request at a time, and drained on a stop.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;
use tracing::{debug, warn};

use crate::app::App;
use crate::body_guard::held;
use crate::listener::{Io, Listening, Peer};
use crate::write_timeout::{Patient, Traffic};

/// Wait after a failed accept, such as when the process has too many open files.
const BREATHER: Duration = Duration::from_millis(100);

/// True once the server is stopping.
pub(crate) type Stop = watch::Receiver<bool>;

/// Serves connections until the server stops, then drains accepted ones within the drain limit.
pub(crate) async fn answer(app: &App, router: Router, listening: Listening, stop: Stop) {
    let mut all = JoinSet::new();
    let drain = app.options.drain;
    let one = Connection { app: app.clone(), router, stop, peer: Peer::Elsewhere };
    take(one, &listening, &mut all).await;
    // Closes the listener: waiting connections are refused as well.
    drop(listening);
    let ended = async { while all.join_next().await.is_some() {} };
    // Dropping the set ends connections that take longer.
    let _ = timeout(drain, ended).await;
}

/// Accepts connections until the server stops.
async fn take(one: Connection, listening: &Listening, all: &mut JoinSet<()>) {
    let limit = Arc::new(Semaphore::new(one.app.options.connections));
    let mut stop = one.stop.clone();
    let mut stopped = pin!(stop.wait_for(|stop| *stop));
    loop {
        let next = async {
            // Connections over the limit wait in the kernel's backlog.
            let permit = Arc::clone(&limit).acquire_owned().await;
            (permit, listening.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            _ = &mut stopped => return,
            next = next => next,
        };
        while all.try_join_next().is_some() {}
        match accepted {
            // No task is spawned, so that repeated connection attempts stay cheap.
            Ok((io, _, false)) => refuse(io, listening.with_tls().is_some()).await,
            Ok((io, peer, true)) => {
                let one = Connection { peer, ..one.clone() };
                let tls = listening.with_tls();
                all.spawn(async move {
                    let _permit = permit;
                    one.run(io, tls.map(|tls| tls.acceptor())).await;
                });
            }
            // The client closed the connection before it was accepted.
            Err(error) if is_of_one(&error) => {}
            Err(error) => {
                warn!(target: "milepost::http", %error, "no connection can be taken");
                sleep(BREATHER).await;
            }
        }
    }
}

/// Answers 503 if that does not block, and closes the connection.
async fn refuse(mut io: Box<dyn Io>, is_tls: bool) {
    debug!(target: "milepost::http", "too many files are open for one more connection");
    if !is_tls {
        let text = "too many connections are open: ask again later\n";
        let answer = format!(
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
             Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        );
        // The send buffer of a new socket has room, so this does not block.
        let _ = timeout(Duration::ZERO, io.write_all(answer.as_bytes())).await;
    }
}

fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[derive(Clone)]
struct Connection {
    app: App,
    router: Router,
    stop: Stop,
    peer: Peer,
}

impl Connection {
    async fn run(self, io: Box<dyn Io>, tls: Option<tokio_rustls::TlsAcceptor>) {
        let traffic = Traffic::default();
        let read_timeout = self.app.options.read_timeout;
        let io = Patient::new(io, traffic.clone(), read_timeout.saturating_mul(2));
        let ended = match tls {
            None => self.answer(io, traffic).await,
            Some(tls) => match self.unless_stopped(timeout(read_timeout, tls.accept(io))).await {
                Some(Ok(Ok(io))) => self.answer(io, traffic).await,
                Some(Ok(Err(error))) => Err(error.into()),
                Some(Err(late)) => Err(late.into()),
                None => Ok(()),
            },
        };
        if let Err(error) = ended {
            debug!(target: "milepost::http", error, "a connection ended");
        }
    }

    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut stop = self.stop.clone();
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => None,
            done = work => Some(done),
        }
    }

    async fn answer(
        self,
        io: impl Io,
        traffic: Traffic,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let options = &self.app.options;
        let mut builder = Builder::new();
        builder.timer(TokioTimer::new());
        builder.header_read_timeout(options.read_timeout);
        builder.max_buf_size(options.header);
        let (router, peer, requests) = (self.router.clone(), self.peer, traffic.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            let one = requests.one_more();
            request.extensions_mut().insert(peer);
            let answer = router.clone().oneshot(request.map(Body::new));
            async move {
                let answer: Result<Response<Body>, Infallible> = answer.await;
                answer.map(|answer| held(answer, one))
            }
        });
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
        if let Some(ended) = self.unless_stopped(connection.as_mut()).await {
            return Ok(ended?);
        }
        connection.as_mut().graceful_shutdown();
        let last = poll_fn(|context| match connection.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            // A partly sent request is not accepted yet, and not awaited.
            Poll::Pending if traffic.is_idle() => Poll::Ready(Ok(())),
            Poll::Pending => Poll::Pending,
        });
        Ok(last.await?)
    }
}
