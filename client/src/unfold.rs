//! Streams made of consecutive steps.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

/// The result of a step: an item, or `None` at the end; and the state of the next step, or `None`
/// after the last.
pub(crate) type Step<S, T> = Pin<Box<dyn Future<Output = (Option<T>, Option<S>)> + Send>>;

/// A stream of the items of consecutive steps.
pub(crate) struct Unfolded<S, T> {
    step: fn(S) -> Step<S, T>,
    at: At<S, T>,
}

enum At<S, T> {
    Before(S),
    In(Step<S, T>),
    Ended,
}

impl<S, T> Unfolded<S, T> {
    pub(crate) fn new(begin: S, step: fn(S) -> Step<S, T>) -> Self {
        let at = At::Before(begin);
        Self { step, at }
    }
}

impl<S: Unpin, T> Stream for Unfolded<S, T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        let mut step = match std::mem::replace(&mut this.at, At::Ended) {
            At::Before(state) => (this.step)(state),
            At::In(step) => step,
            At::Ended => return Poll::Ready(None),
        };
        let polled = step.as_mut().poll(context);
        if polled.is_pending() {
            this.at = At::In(step);
        }
        let (item, next) = ready!(polled);
        if let Some(next) = next {
            this.at = At::Before(next);
        }
        Poll::Ready(item)
    }
}

impl<S, T> fmt::Debug for Unfolded<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unfolded").finish_non_exhaustive()
    }
}

/// Gives a type with an inner stream a `next` method and a `Stream` implementation.
macro_rules! stream {
    ($name:ident, $item:ty) => {
        impl $name {
            /// Returns the next item; `None` at the end and after an error.
            pub async fn next(&mut self) -> Option<crate::Result<$item>> {
                let mut this = std::pin::Pin::new(self);
                let next = |context: &mut std::task::Context<'_>| {
                    futures_core::Stream::poll_next(this.as_mut(), context)
                };
                std::future::poll_fn(next).await
            }
        }

        impl futures_core::Stream for $name {
            type Item = crate::Result<$item>;

            fn poll_next(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Self::Item>> {
                futures_core::Stream::poll_next(
                    std::pin::Pin::new(&mut self.get_mut().stream),
                    context,
                )
            }
        }
    };
}

pub(crate) use stream;
