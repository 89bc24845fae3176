//! `wrk`: its requests, and their results.

use std::path::Path;
use std::process::Command;

/// A request that is repeated.
pub struct Load<'a> {
    /// As `wrk` has it in a script: sets `wrk.method`, `wrk.body` and `wrk.headers`.
    pub script: &'a str,
    pub path: &'a str,
    pub connections: usize,
    pub seconds: u64,
}

/// Result of a load.
pub struct Came {
    /// Requests a second.
    pub rate: f64,
    /// Milliseconds that 99 of 100 took at most.
    pub most: f64,
}

/// Printed behind the run, to be read here.
const DONE: &str = r#"
done = function(summary, latency, requests)
  local e = summary.errors
  local wrong = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("came %d %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), wrong))
end
"#;

impl Load<'_> {
    /// Runs it against a service. An error in an answer ends the bench.
    pub fn run(&self, at: &str, dir: &Path) -> Came {
        let script = dir.join(format!("load-{}.lua", self.connections));
        std::fs::write(&script, format!("{}\n{DONE}", self.script)).unwrap();
        let threads = self.connections.min(2);
        let output = Command::new("wrk")
            .args([format!("-t{threads}"), format!("-c{}", self.connections)])
            .args([format!("-d{}s", self.seconds), "-s".into()])
            .arg(&script)
            .arg(format!("http://{at}{}", self.path))
            .output()
            .expect("wrk has to be installed");
        let text = String::from_utf8(output.stdout).unwrap();
        let came = text.lines().find_map(|line| line.strip_prefix("came "));
        let came = came.unwrap_or_else(|| panic!("wrk said: {text}"));
        let came: Vec<f64> = came.split(' ').map(|n| n.parse().unwrap()).collect();
        assert!(came[4] == 0.0, "{} requests went wrong: {text}", came[4]);
        Came { rate: came[0] / (came[1] / 1e6), most: came[3] / 1e3 }
    }
}
