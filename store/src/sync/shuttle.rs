//! Locks and channels of the scheduler that tries interleavings, with the API of the real ones.
#![allow(missing_docs, reason = "the methods of the real ones")]

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

/// Counterpart of `parking_lot::Mutex`.
#[derive(Debug, Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

/// The guard of a [`Mutex`]. It holds no lock only during a wait.
pub struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard)))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[expect(clippy::expect_used, reason = "only for tests")]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("a guard has its lock")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[expect(clippy::expect_used, reason = "only for tests")]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("a guard has its lock")
    }
}

/// Counterpart of `parking_lot::RwLock`.
#[derive(Debug, Default)]
pub struct RwLock<T>(shuttle::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub fn read(&self) -> shuttle::sync::RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> shuttle::sync::RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counterpart of `parking_lot::Condvar`.
#[derive(Debug, Default)]
pub struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(inner) = guard.0.take() {
            let inner = self.0.wait(inner).unwrap_or_else(PoisonError::into_inner);
            guard.0 = Some(inner);
        }
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Counterpart of the used part of `crossbeam_channel`.
pub mod channel {
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::time::Duration;

    pub use crossbeam_channel::{RecvError, RecvTimeoutError, SendError, TrySendError};

    use crate::sync::{Condvar, Mutex};

    #[derive(Debug)]
    struct Shared<T> {
        state: Mutex<State<T>>,
        changed: Condvar,
        room: usize,
    }

    #[derive(Debug)]
    struct State<T> {
        queue: VecDeque<T>,
        senders: usize,
        receivers: usize,
    }

    #[derive(Debug)]
    pub struct Sender<T>(Arc<Shared<T>>);

    #[derive(Debug)]
    pub struct Receiver<T>(Arc<Shared<T>>);

    pub fn bounded<T>(room: usize) -> (Sender<T>, Receiver<T>) {
        let state = State { queue: VecDeque::new(), senders: 1, receivers: 1 };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), room });
        (Sender(Arc::clone(&shared)), Receiver(shared))
    }

    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        bounded(usize::MAX)
    }

    impl<T> Sender<T> {
        pub fn send(&self, value: T) -> Result<(), SendError<T>> {
            let mut state = self.0.state.lock();
            while state.queue.len() >= self.0.room && state.receivers > 0 {
                self.0.changed.wait(&mut state);
            }
            if state.receivers == 0 {
                return Err(SendError(value));
            }
            state.queue.push_back(value);
            self.0.changed.notify_all();
            Ok(())
        }

        pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
            let mut state = self.0.state.lock();
            if state.receivers == 0 {
                return Err(TrySendError::Disconnected(value));
            }
            if state.queue.len() >= self.0.room {
                return Err(TrySendError::Full(value));
            }
            state.queue.push_back(value);
            self.0.changed.notify_all();
            Ok(())
        }
    }

    impl<T> Receiver<T> {
        pub fn recv(&self) -> Result<T, RecvError> {
            let mut state = self.0.state.lock();
            loop {
                if let Some(value) = state.queue.pop_front() {
                    self.0.changed.notify_all();
                    return Ok(value);
                }
                if state.senders == 0 {
                    return Err(RecvError);
                }
                self.0.changed.wait(&mut state);
            }
        }

        /// Receives without a time limit, since the scheduler has no time.
        pub fn recv_timeout(&self, _at_most: Duration) -> Result<T, RecvTimeoutError> {
            self.recv().map_err(|RecvError| RecvTimeoutError::Disconnected)
        }

        pub fn len(&self) -> usize {
            self.0.state.lock().queue.len()
        }
    }

    impl<T> Clone for Sender<T> {
        fn clone(&self) -> Self {
            self.0.state.lock().senders += 1;
            Self(Arc::clone(&self.0))
        }
    }

    impl<T> Clone for Receiver<T> {
        fn clone(&self) -> Self {
            self.0.state.lock().receivers += 1;
            Self(Arc::clone(&self.0))
        }
    }

    impl<T> Drop for Sender<T> {
        fn drop(&mut self) {
            self.0.state.lock().senders -= 1;
            self.0.changed.notify_all();
        }
    }

    impl<T> Drop for Receiver<T> {
        fn drop(&mut self) {
            self.0.state.lock().receivers -= 1;
            self.0.changed.notify_all();
        }
    }
}
