//! The list of violations that are there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::Violation;

/// A rule and a place.
type Key = (String, String);

/// Number of violations.
type Counts = BTreeMap<Key, usize>;

/// Fails where there are other violations than the list has.
pub fn compare(list: &Path, found: Vec<Violation>) {
    let allowed = read(&std::fs::read_to_string(list).unwrap_or_default());
    let counts = count(&found);
    if std::env::var("MILEPOST_TIDY").as_deref() == Ok("update") {
        let mut smaller = counts.clone();
        if !allowed.is_empty() {
            smaller.retain(|key, count| {
                *count = (*count).min(allowed.get(key).copied().unwrap_or(0));
                *count > 0
            });
        }
        std::fs::write(list, write(&smaller)).unwrap();
    }
    let allowed = read(&std::fs::read_to_string(list).unwrap_or_default());
    let (new, gone) = differences(&allowed, &counts);
    let mut said = String::new();
    for (rule, place) in &new {
        for one in found.iter().filter(|one| one.rule == rule && one.place == *place) {
            writeln!(said, "{one}").unwrap();
        }
    }
    for (rule, place) in &gone {
        writeln!(said, "allowed and not needed any more: {rule} {place}").unwrap();
    }
    assert!(
        said.is_empty(),
        "{said}\nmend what is new; MILEPOST_TIDY=update takes what is gone off the list"
    );
}

pub fn count(found: &[Violation]) -> Counts {
    let mut counts = Counts::new();
    for one in found {
        *counts.entry((one.rule.to_owned(), one.place.clone())).or_default() += 1;
    }
    counts
}

/// Places with more violations than the list has, and with fewer.
pub fn differences(allowed: &Counts, found: &Counts) -> (Vec<Key>, Vec<Key>) {
    let over = |more: &Counts, than: &Counts| {
        let is_over =
            |(key, count): &(&Key, &usize)| **count > than.get(*key).copied().unwrap_or(0);
        more.iter().filter(is_over).map(|(key, _)| key.clone()).collect()
    };
    (over(found, allowed), over(allowed, found))
}

fn read(text: &str) -> Counts {
    let line = |line: &str| {
        let (count, rest) = line.trim().split_once(' ')?;
        let (rule, place) = rest.split_once(' ')?;
        Some(((rule.to_owned(), place.to_owned()), count.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn write(counts: &Counts) -> String {
    let line = |((rule, place), count): (&Key, &usize)| format!("{count:4} {rule} {place}\n");
    counts.iter().map(line).collect()
}
