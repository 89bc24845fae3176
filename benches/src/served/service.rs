//! `milepost serve` as a child.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::program;

/// A service that is stopped on drop.
pub struct Service {
    child: Child,
    /// Host and port.
    pub at: String,
}

impl Service {
    /// Serves a store in a folder that is there, on a free port.
    pub fn of(store: &Path) -> Self {
        let mut child = Command::new(program())
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "none", "--json"])
            .arg("--store")
            .arg(store)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut said).unwrap();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let at = said["listening"].as_str().unwrap();
        let at = at.strip_prefix("http://").unwrap().to_owned();
        Self { child, at }
    }

    /// Returns its current and its highest use of memory, in MiB.
    pub fn memory(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let figure = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            kib / 1024.0
        };
        (figure("VmRSS:"), figure("VmHWM:"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").arg(pid).status();
        if !asked.is_ok_and(|asked| asked.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
