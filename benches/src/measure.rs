//! Alternating rounds, medians, ratios.

use std::time::Instant;

/// Seconds that `work` takes.
pub fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// The middle of some figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Runs contestants in turn, so that a machine whose speed drifts treats them alike; gives each
/// one's median.
pub fn alternate<const N: usize>(
    rounds: usize,
    mut contestants: [&mut dyn FnMut() -> f64; N],
) -> [f64; N] {
    let mut figures = [(); N].map(|()| Vec::new());
    for _ in 0..rounds {
        for (contestant, figures) in contestants.iter_mut().zip(&mut figures) {
            figures.push(contestant());
        }
    }
    figures.map(median)
}

/// The most memory that this process ever held, in MiB.
pub fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let peak: f64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    peak / 1024.0
}

/// Prints one line of the table: a figure, its alternative, and its target.
pub fn row(what: &str, ours: String, peer: String, ratio: f64, target: f64, at_most: bool) {
    let met = if at_most { ratio <= target } else { ratio >= target };
    let sign = if at_most { "<=" } else { ">=" };
    let verdict = if met { "met" } else { "MISSED" };
    println!("{what:<46} {ours:>16} {peer:>22} {ratio:>8.2} {sign} {target:<6} {verdict}");
}

/// The heading of the table.
pub fn heading() {
    println!("{:<46} {:>16} {:>22} {:>8}    {:<6}", "what", "milepost", "peer", "ratio", "target");
}
