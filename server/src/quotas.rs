//! Quotas: rate of appends and bytes of each token, and number of tasks of each user.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Usage of each token, and the number of tasks of each user.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    tokens: Mutex<HashMap<String, Used>>,
    tasks: Mutex<HashMap<String, u64>>,
}

#[derive(Debug, Default)]
struct Used {
    /// Remaining appends of the current second, and the time of the update.
    left: Option<(f64, Instant)>,
    /// Stored bytes of the user at the first check, plus those received since.
    bytes: Option<u64>,
}

impl Quotas {
    /// Counts an append; returns false if the token exceeds its rate.
    pub(crate) fn appends(&self, token: &str, a_second: u32) -> bool {
        let (now, most) = (Instant::now(), f64::from(a_second));
        let mut all = self.tokens.lock();
        let used = all.entry(token.to_owned()).or_default();
        let left = used.left.map_or(most, |(left, at)| {
            let since = now.duration_since(at).as_secs_f64();
            (left + since * most).min(most)
        });
        let fits = left >= 1.0;
        used.left = Some((if fits { left - 1.0 } else { left }, now));
        fits
    }

    /// Returns true if the stored bytes of a token's user are known.
    pub(crate) fn knows(&self, token: &str) -> bool {
        let all = self.tokens.lock();
        all.get(token).is_some_and(|used| used.bytes.is_some())
    }

    /// Counts a task that a user starts. Returns `None` if the user's tasks were not counted yet,
    /// and false if the user has `most` tasks already.
    pub(crate) fn starts(&self, user: &str, most: u64) -> Option<bool> {
        let mut tasks = self.tasks.lock();
        let count = tasks.get_mut(user)?;
        let fits = *count < most;
        *count += u64::from(fits);
        Some(fits)
    }

    /// Sets the number of a user's tasks, unless it is known.
    pub(crate) fn has(&self, user: &str, tasks: u64) {
        self.tasks.lock().entry(user.to_owned()).or_insert(tasks);
    }

    /// Uncounts a task of a user that was deleted or not started.
    pub(crate) fn ends(&self, user: &str) {
        if let Some(count) = self.tasks.lock().get_mut(user) {
            *count = count.saturating_sub(1);
        }
    }

    /// Counts bytes; returns false if the sum exceeds `most`. `stored`: the bytes before the first
    /// count.
    pub(crate) fn bytes(&self, token: &str, stored: u64, more: u64, most: u64) -> bool {
        let mut all = self.tokens.lock();
        let used = all.entry(token.to_owned()).or_default();
        let bytes = used.bytes.get_or_insert(stored);
        let sum = bytes.saturating_add(more);
        let fits = sum <= most;
        if fits {
            *bytes = sum;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn appends_are_counted_by_the_second() {
        let quotas = Quotas::default();
        assert!(quotas.appends("a", 2) && quotas.appends("a", 2));
        assert!(!quotas.appends("a", 2) && quotas.appends("b", 2));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert!(quotas.appends("a", 2) && !quotas.appends("a", 2));
    }

    #[test]
    fn bytes_are_counted_on_from_what_is_stored() {
        let quotas = Quotas::default();
        assert!(!quotas.knows("a") && quotas.bytes("a", 10, 5, 20) && quotas.knows("a"));
        assert!(!quotas.bytes("a", 0, 6, 20) && quotas.bytes("a", 0, 5, 20));
    }

    #[test]
    fn a_user_starts_as_many_tasks_as_one_may_have() {
        let quotas = Quotas::default();
        assert_eq!(quotas.starts("ana", 2), None);
        quotas.has("ana", 1);
        quotas.has("ana", 0);
        assert_eq!(quotas.starts("ana", 2), Some(true));
        assert_eq!(quotas.starts("ana", 2), Some(false));
        quotas.ends("ana");
        assert_eq!(quotas.starts("ana", 2), Some(true));
    }
}
