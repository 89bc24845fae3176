//! Drops steps from a program that fails, for as long as it still fails.

use super::life::run;
use super::program::Program;

/// A shorter program that fails too, and its error; `tries` runs at most.
pub fn shrink(program: &Program, error: &str, tries: usize) -> (Program, String) {
    let wanted = kind(error);
    let mut left = tries;
    let (mut best, mut said) = (program.clone(), error.to_owned());
    let mut part = best.len().max(1).div_ceil(2);
    loop {
        let mut at = 0;
        let mut dropped = false;
        while at < best.len() && left > 0 {
            let shorter = without(&best, at, part);
            left -= 1;
            match run(&shorter).1 {
                Err(error) if kind(&error) == wanted => {
                    (best, said) = (shorter, error);
                    dropped = true;
                }
                _ => at += part,
            }
        }
        if left == 0 || part == 1 && !dropped {
            return (best, said);
        }
        part = part.div_ceil(2).max(1);
    }
}

/// A program without some steps, counted over all lives; lives that are empty then go too.
fn without(program: &Program, at: usize, count: usize) -> Program {
    let mut shorter = program.clone();
    let mut place = 0;
    for life in &mut shorter.lives {
        life.steps.retain(|_| {
            place += 1;
            !(at + 1..=at + count).contains(&place)
        });
    }
    shorter.lives.retain(|life| !life.steps.is_empty());
    shorter
}

/// Returns an error's kind: its words, without numbers and quotations.
pub fn kind(error: &str) -> String {
    let quoted = ["{", "[", "(", " came to ", "t0", "t1", "t2"];
    let words = error.split(": ").filter(|part| {
        let place = ["life ", "step ", "task ", "lineage ", "offset ", "opened", "check"];
        let aside = ["before the end", "beside a ", "fault "];
        !place.iter().chain(&aside).any(|place| part.starts_with(place))
    });
    let text = words.take(2).collect::<Vec<_>>().join(": ");
    let end = quoted.iter().filter_map(|quote| text.find(quote)).min();
    let text = &text[..end.unwrap_or(text.len())];
    // Ids and offsets do not make another.
    let plain = |word: &&str| !word.contains(|c: char| c.is_ascii_digit());
    let words: Vec<&str> = text.split_whitespace().filter(plain).collect();
    words.join(" ").chars().take(70).collect()
}
