//! Tickets: order, futures and drops.

use super::*;

#[test]
fn tickets_of_a_thread_are_committed_in_the_order_they_were_submitted() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        thread::scope(|scope| {
            for writer in 0..8 {
                let task = task.clone();
                scope.spawn(move || {
                    let tickets: Vec<_> = (0..100)
                        .map(|n| task.submit(text(format!("{writer} {n:03}"))).unwrap())
                        .collect();
                    let firsts: Vec<_> =
                        tickets.into_iter().map(|t| t.wait().unwrap().first).collect();
                    assert!(firsts.is_sorted());
                });
            }
        });
        let all = texts(&task);
        assert_eq!(all.len(), 800);
        for writer in 0..8 {
            let own = all.iter().filter(|t| t.starts_with(&format!("{writer} ")));
            let own: Vec<_> = own.collect();
            assert_eq!(own.len(), 100);
            assert!(own.is_sorted());
        }
        clean(&engine);
    });
}

/// Wakes a thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future, as the plainest of runtimes does.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_ticket_is_a_future_that_is_ready_when_the_events_are_durable_or_refused() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        let tickets: Vec<_> = (0..100).map(|n| task.submit(text(n)).unwrap()).collect();
        for (ticket, first) in tickets.into_iter().zip(1..) {
            assert_eq!(block_on(ticket).unwrap().first, first);
        }
        // Its waker may be another each time; the last one counts.
        let mut ticket = pin!(task.submit(text(100)).unwrap());
        let polled = ticket.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let done = match polled {
            // The ticket was done before the first poll, and no other poll follows.
            Poll::Ready(done) => done,
            Poll::Pending => block_on(ticket),
        };
        assert_eq!(done.unwrap().first, 101);
        let behind = Append::from(text(101)).expect_head(7);
        let refused = block_on(task.submit(behind).unwrap()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
    });
}

#[test]
fn a_ticket_that_is_dropped_takes_nothing_back() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        for n in 0..10 {
            drop(task.submit(text(n)).unwrap());
        }
        task.append(text("last")).unwrap();
        assert_eq!(texts(&task).len(), 11);
    });
}
