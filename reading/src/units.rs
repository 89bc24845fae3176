//! Durations, sizes and numbers, for people.

/// Returns a duration in microseconds, for people.
pub fn duration(us: u64) -> String {
    match us {
        0..10_000 => format!("{:.2} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} ms", us as f64 / 1e3),
        1_000_000..100_000_000 => format!("{:.2} s", us as f64 / 1e6),
        _ => seconds(us),
    }
}

/// Returns a cost with three significant digits, for people.
pub fn cost(cost: f64, currency: Option<&str>) -> String {
    let digits = if cost >= 100.0 {
        0
    } else if cost >= 1.0 {
        2
    } else {
        3
    };
    match currency {
        Some("USD") => format!("${cost:.digits$}"),
        None => format!("{cost:.digits$}"),
        Some(other) => format!("{cost:.digits$} {other}"),
    }
}

/// Returns a time span in microseconds, for people, in its largest unit alone.
pub fn span(us: u64) -> String {
    let seconds = us / 1_000_000;
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    match units.iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => count(seconds / unit, name),
        None => count(seconds, "second"),
    }
}

/// Returns a time span in microseconds as a number and one letter, in at most 4 columns up to 27
/// years.
pub fn age(us: u64) -> String {
    let seconds = us / 1_000_000;
    let units = [(86_400, 'd'), (3600, 'h'), (60, 'm')];
    match units.iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, letter)) => format!("{}{letter}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

/// Returns a duration in microseconds in seconds, minutes or hours, in at most 6 columns up to 9999
/// hours.
pub fn seconds(us: u64) -> String {
    match us / 1_000_000 {
        0..100 => format!("{:.1} s", us as f64 / 1e6),
        seconds @ 100..6000 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// Returns a number with at most 5 columns up to 999,999 million.
pub fn grouped_short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..9_999_500 => format!("{}k", (number + 500) / 1000),
        _ => format!("{}M", number.saturating_add(500_000) / 1_000_000),
    }
}

/// Returns a size in bytes, for people.
pub fn size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

/// Returns a number of things, for people. `what` is the singular.
pub fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{} {}", grouped(number), plural(what)),
    }
}

/// Returns the plural of a word.
pub fn plural(what: &str) -> String {
    match what.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{what}s"),
    }
}

/// Returns a number for people, with a comma before every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_sizes_and_numbers_read_well() {
        assert_eq!(duration(230), "0.23 ms");
        assert_eq!(duration(1_500_000), "1.50 s");
        assert_eq!(duration(5_400_000_000), "90 min");
        assert_eq!(cost(0.0042, Some("USD")), "$0.004");
        assert_eq!(
            (cost(12.5, Some("EUR")), cost(512.4, None)),
            ("12.50 EUR".into(), "512".into())
        );
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(12), "12 B");
        assert_eq!(count(1, "event"), "1 event");
        assert_eq!(count(737, "day"), "737 days");
        assert_eq!(count(2, "entry"), "2 entries");
        assert_eq!(count(0, "event"), "0 events");
        assert_eq!(count(1, "entry"), "1 entry");
        assert_eq!(count(12_345, "entry"), "12,345 entries");
        assert_eq!((grouped(100), grouped(1_234_567)), ("100".into(), "1,234,567".into()));
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
