//! A scripted model in place of a network. Its answers are a function of the seed, the round and
//! the question, so that two runs can be compared.

use serde::{Deserialize, Serialize};

/// Points of an empty prompt.
const BASE: u64 = 300;

/// Cost of each word, in points.
const WORD: u64 = 5;

/// The range of variation of a prompt's points between rounds.
const JITTER: u64 = 10;

/// The most patterns in one answer.
const PATTERNS: usize = 3;

/// The sentence for the guidance "warmer".
const WARM: &str = "Be warm.";

/// A fault of answers, and sentences against it.
struct Habit {
    fault: &'static str,
    worth: u64,
    long: &'static str,
    short: &'static str,
}

const HABITS: [Habit; 7] = [
    Habit {
        fault: "does not answer the question first",
        worth: 130,
        long: "Answer the question in the very first sentence, before all else.",
        short: "Answer first.",
    },
    Habit {
        fault: "promises what nobody knows",
        worth: 120,
        long: "Promise nothing that is not in the policy you were given.",
        short: "Promise nothing.",
    },
    Habit {
        fault: "leaves out the next step",
        worth: 110,
        long: "End with the one thing that the customer has to do next.",
        short: "End with the next step.",
    },
    Habit {
        fault: "guesses what is missing",
        worth: 100,
        long: "Where something is missing, ask for it instead of guessing.",
        short: "Ask, do not guess.",
    },
    Habit {
        fault: "names no source",
        worth: 95,
        long: "Name the page of the policy that your answer relies on.",
        short: "Name the page.",
    },
    Habit {
        fault: "talks like the company",
        worth: 90,
        long: "Use the words that the customer used, not those of the company.",
        short: "Use their words.",
    },
    Habit {
        fault: "does not greet",
        worth: 80,
        long: "Greet the customer by name at the beginning of the answer.",
        short: "Greet by name.",
    },
];

impl Habit {
    fn is_in(&self, prompt: &str) -> bool {
        prompt.contains(self.long) || prompt.contains(self.short)
    }
}

/// The lesson of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    /// A sentence for the rule system.
    pub learned: String,
    /// The fault to ignore for a round.
    pub set_aside: Option<String>,
}

/// The scripted model.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    seed: u64,
}

impl Model {
    /// Creates the model with a seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the faults of the answers to a prompt.
    pub fn patterns(&self, prompt: &str, round: u64, set_aside: Option<&str>) -> Vec<String> {
        let faults = HABITS.iter().filter(|habit| !habit.is_in(prompt));
        let faults = faults.map(|habit| habit.fault);
        let mut faults: Vec<_> = faults.filter(|fault| set_aside != Some(fault)).collect();
        faults.sort_by_key(|fault| self.draw(round, fault));
        faults.truncate(PATTERNS);
        faults.into_iter().map(str::to_owned).collect()
    }

    /// Returns prompts against patterns: one against each, and one against the first two. Of the
    /// guidance, the model understands "shorter" and "warmer".
    pub fn candidates(
        &self,
        prompt: &str,
        patterns: &[String],
        guidance: &[String],
    ) -> Vec<String> {
        let wished = |word: &str| guidance.iter().any(|said| said.contains(word));
        let (shorter, warmer) = (wished("shorter"), wished("warmer"));
        let against = |fault: &String| {
            let habit = HABITS.iter().find(|habit| habit.fault == fault)?;
            Some(if shorter { habit.short } else { habit.long })
        };
        let sentences: Vec<_> = patterns.iter().filter_map(against).collect();
        let mut further: Vec<_> = sentences.iter().map(ToString::to_string).collect();
        if let [first, second, ..] = sentences.as_slice() {
            further.push(format!("{first} {second}"));
        }
        let warm = match warmer && !prompt.contains(WARM) {
            true => format!(" {WARM}"),
            false => String::new(),
        };
        let candidate = |further: String| format!("{prompt}{warm} {further}");
        further.into_iter().map(candidate).collect()
    }

    /// Returns the points of a prompt. They are integers, which JSON preserves.
    pub fn score(&self, prompt: &str, round: u64) -> u64 {
        let worth = |habit: &Habit| if habit.is_in(prompt) { habit.worth } else { 0 };
        let worth: u64 = HABITS.iter().map(worth).sum();
        let words = prompt.split_whitespace().fold(0, |words, _| words + 1);
        let points = BASE + worth + self.draw(round, prompt) % JITTER;
        points.saturating_sub(words * WORD)
    }

    /// Returns the lesson from the points of the candidates.
    pub fn reflection(&self, prompt: &str, scores: &[(String, u64)]) -> Reflection {
        let news = |candidate: &str| {
            let new = |habit: &&Habit| habit.is_in(candidate) && !habit.is_in(prompt);
            HABITS.iter().find(new).map(|habit| habit.fault)
        };
        let best = scores.iter().rev().max_by_key(|(_, points)| points);
        let worst = scores.iter().min_by_key(|(_, points)| points);
        let learned = match best.and_then(|(candidate, _)| news(candidate)) {
            Some(fault) => format!("it pays to say something where an answer {fault}"),
            None => "nothing new".to_owned(),
        };
        let set_aside = worst.and_then(|(candidate, _)| news(candidate));
        let set_aside = set_aside.map(str::to_owned);
        Reflection { learned, set_aside }
    }

    fn draw(&self, round: u64, text: &str) -> u64 {
        hash(&[&self.seed.to_string(), &round.to_string(), text])
    }
}

/// FNV-1a of delimited texts, with a final mix. The standard library's hash is not stable.
pub(crate) fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff]));
    let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mixed = bytes.fold(0xcbf2_9ce4_8422_2325, fnv);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_is_worth_more_than_its_words_and_the_short_one_most() {
        let model = Model::seeded(1);
        let nothing = model.score("", 1);
        for habit in &HABITS {
            let (long, short) = (model.score(habit.long, 1), model.score(habit.short, 1));
            assert!(long > nothing && short > long, "{}", habit.fault);
        }
    }

    #[test]
    fn guidance_changes_the_candidates_and_nothing_else_does() {
        let model = Model::seeded(1);
        let patterns = model.patterns("Be brief.", 1, None);
        let with = |said: &[&str]| {
            let said: Vec<_> = said.iter().map(ToString::to_string).collect();
            model.candidates("Be brief.", &patterns, &said)
        };
        let words = |of: &[String]| of.iter().map(|p| p.split(' ').count()).sum::<usize>();
        assert_eq!(with(&[]), with(&["hello"]));
        assert!(words(&with(&["shorter, please"])) < words(&with(&[])));
        assert!(with(&["warmer"]).iter().all(|prompt| prompt.contains(WARM)));
    }

    #[test]
    fn texts_hash_with_their_ends() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
