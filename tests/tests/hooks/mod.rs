//! Hooks: notifications of events on a thread of their own, and external commands as hooks.

mod commands;
mod events;
mod processes;

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost::events::Message;
use milepost::hooks::{Alert, TaskId};
use milepost::{Event, Hook, Offset, Task};

/// Passes its notifications on, and waits for permission at the first event.
pub struct Listener {
    told: Sender<(String, u32, Offset)>,
    alerts: Sender<Alert>,
    gate: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

/// The other end of it.
pub struct Heard {
    told: Receiver<(String, u32, Offset)>,
    pub alerts: Receiver<Alert>,
    at_gate: Receiver<()>,
    leave: Sender<()>,
}

impl Listener {
    /// One that waits for [`Heard::let_go`].
    pub fn at_gate() -> (Arc<Self>, Heard) {
        let (tell, told) = channel();
        let (alert, alerts) = channel();
        let (arrive, at_gate) = channel();
        let (leave, left) = channel();
        let listener = Self { told: tell, alerts: alert, gate: Mutex::new(Some((arrive, left))) };
        let heard = Heard { told, alerts, at_gate, leave };
        (Arc::new(listener), heard)
    }

    pub fn new() -> (Arc<Self>, Heard) {
        let (listener, heard) = Self::at_gate();
        *listener.gate.lock().unwrap() = None;
        (listener, heard)
    }
}

impl Hook for Listener {
    fn name(&self) -> &str {
        "listener"
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&self, task: &TaskId, event: &Event) {
        let gate = self.gate.lock().unwrap().take();
        if let Some((arrive, left)) = gate {
            arrive.send(()).unwrap();
            // Dropping the other end releases it, too.
            let _ = left.recv();
        }
        let place = (task.id.clone(), event.lineage.0, event.offset);
        let _ = self.told.send(place);
    }

    fn on_alert(&self, alert: &Alert) {
        let _ = self.alerts.send(alert.clone());
    }
}

impl Heard {
    /// Waits until the listener waits.
    pub fn wait_at_gate(&self) {
        self.at_gate.recv().unwrap();
    }

    pub fn let_go(&self) {
        self.leave.send(()).unwrap();
    }

    /// Returns the notifications so far.
    pub fn all(&self) -> Vec<(String, u32, Offset)> {
        self.told.try_iter().collect()
    }

    /// Returns the next notification. It comes soon, or never.
    pub fn next(&self) -> (String, u32, Offset) {
        self.told.recv_timeout(Duration::from_secs(60)).unwrap()
    }
}

/// Appends this many messages.
pub fn append(task: &Task, count: usize) {
    for n in 0..count {
        task.append(Message::text("user", &n.to_string())).unwrap();
    }
}

/// Returns the lines of a file; none for a missing file.
pub fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
