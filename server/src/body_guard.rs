//! Values that are held until an answer is complete.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use hyper::body::{Frame, SizeHint};

/// Returns an answer that holds `something` until its body is consumed or dropped.
pub(crate) fn held<T: Send + Unpin + 'static>(
    answer: Response<Body>,
    something: T,
) -> Response<Body> {
    answer.map(|body| Body::new(HeldBody { body, _something: something }))
}

struct HeldBody<T> {
    body: Body,
    _something: T,
}

impl<T: Unpin> HttpBody for HeldBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
