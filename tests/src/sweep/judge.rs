//! Executes a case, and classifies its result.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use milepost::store::{Finding, Repair};
use milepost::{Detail, Engine, Error, ErrorKind};

use super::answers::{Answer, Answers, Difference, How, Questions, compare};
use super::cases::{Case, Damage};
use super::goes_on::{elsewhere, goes_on, is_written_to};
use super::list::OnlyCopies;
use super::stores::{Left, Stores, options};
use crate::folder;

/// Result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything answers as before, after one reopen at most.
    Whole,
    /// The same, with the damage still there: a finding or `verify` reports it.
    Left,
    /// Opening names the damage, and its place.
    Refused,
    /// Something is missing, and that is reported.
    Told,
    /// Intact, but without a report that the second copy of something is lost: with sled lost as
    /// well, it would be missing.
    Latent,
    /// A panic that reached the caller, or the end of the process.
    Panic,
    /// No answer within the time limit.
    Hang,
    /// Something is missing, and nothing tells.
    SilentLoss,
    /// An answer that is not the one from before.
    WrongAnswer,
    /// Refused, missing or of the wrong kind where there is a second copy.
    BrokenPromise,
    /// Damage of a file was repaired, and the store has no record that names the file.
    Unrecorded,
}

impl Outcome {
    pub const ALL: [Self; 11] = [
        Self::Whole,
        Self::Left,
        Self::Refused,
        Self::Told,
        Self::Latent,
        Self::Panic,
        Self::Hang,
        Self::SilentLoss,
        Self::WrongAnswer,
        Self::BrokenPromise,
        Self::Unrecorded,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Left => "left",
            Self::Refused => "refused",
            Self::Told => "told",
            Self::Latent => "latent",
            Self::Panic => "PANIC",
            Self::Hang => "HANG",
            Self::SilentLoss => "SILENT",
            Self::WrongAnswer => "WRONG",
            Self::BrokenPromise => "BROKEN",
            Self::Unrecorded => "UNRECORDED",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Returns `true` for a result that must never occur.
    pub fn is_bad(self) -> bool {
        self >= Self::Panic
    }
}

/// Result of a case, and the reason for it.
#[derive(Debug, Clone)]
pub struct Verdict {
    pub outcome: Outcome,
    pub reason: String,
}

impl Verdict {
    pub fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { outcome, reason }
    }
}

/// Observations of a damaged store.
#[derive(Default)]
struct Seen {
    /// The error of the last opening, where it failed.
    refused: Option<Error>,
    findings: Vec<Finding>,
    /// Repairs of the last verification that are not acknowledged.
    repairs: Vec<Repair>,
    differences: Vec<Difference>,
    /// Faults that the last verification found.
    faults: Vec<String>,
    /// Errors on the way that did not say that something is damaged.
    odd: Vec<String>,
}

/// Executor of cases.
pub struct Judge {
    stores: Stores,
    work: PathBuf,
    known: HashMap<Left, Known>,
    count: u64,
    loud: bool,
}

struct Known {
    questions: Questions,
    truth: Answers,
    only: OnlyCopies,
}

impl Judge {
    /// `loud` prints the observations.
    pub fn new(stores: Stores, work: &Path, loud: bool) -> Self {
        fs::create_dir_all(work).unwrap();
        Self { stores, work: work.to_owned(), known: HashMap::new(), count: 0, loud }
    }

    /// Carries out a case.
    pub fn judge(&mut self, case: &Case) -> Verdict {
        let (stores, work) = (self.stores.clone(), self.work.clone());
        let known =
            self.known.entry(case.left).or_insert_with(|| Known::of(&stores, case.left, &work));
        self.count += 1;
        let dir = self.work.join(format!("case {}", self.count));
        folder::copy(&stores.store(case.left), &dir).unwrap();
        case.apply(&stores, &dir);
        let loud = self.loud;
        let done = catch_unwind(AssertUnwindSafe(|| {
            let seen = known.look(&dir, loud);
            let mut verdict = known.verdict(case, &seen);
            if verdict.outcome == Outcome::Whole && has_second_copy(case) {
                verdict = known.without_sled(&dir, loud).unwrap_or(verdict);
            }
            if verdict.outcome == Outcome::Whole && is_written_to(case) {
                if case.file.starts_with("sled/") {
                    // As it was damaged: the applier meets it first, not a read.
                    fs::remove_dir_all(&dir).unwrap();
                    folder::copy(&stores.store(case.left), &dir).unwrap();
                    case.apply(&stores, &dir);
                }
                verdict = goes_on(&dir, loud).unwrap_or(verdict);
            }
            verdict
        }));
        fs::remove_dir_all(&dir).unwrap();
        done.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Verdict::new(Outcome::Panic, text.unwrap_or("a panic"))
        })
    }
}

/// Returns `true` if sled has the file's content as well.
fn has_second_copy(case: &Case) -> bool {
    matches!(case.kind(), "archive" | "segment")
}

impl Known {
    fn of(stores: &Stores, left: Left, work: &Path) -> Self {
        let dir = work.join(format!("whole {}", left.name()));
        folder::copy(&stores.store(left), &dir).unwrap();
        let engine = Engine::open(&dir, options()).unwrap();
        let questions = Questions::of(&engine, left);
        let truth = questions.ask(&engine);
        for (question, answer) in &truth {
            assert!(answer.is_ok(), "{question}: {answer:?}");
            let unknown = matches!(answer, Ok(Answer::Key(None)));
            assert!(!unknown, "{question}: asking changes the store");
        }
        drop(engine);
        fs::remove_dir_all(&dir).unwrap();
        let only = OnlyCopies::of(stores, left);
        Self { questions, truth, only }
    }

    /// Opens the store, asks everything, and does so once more where that did not go well.
    fn look(&self, dir: &Path, loud: bool) -> Seen {
        let mut seen = Seen::default();
        for round in 1..=2 {
            seen.refused = None;
            seen.differences.clear();
            seen.faults.clear();
            let engine = match Engine::open(dir, options()) {
                Ok(engine) => engine,
                Err(error) => {
                    if error.kind() != ErrorKind::Corrupt {
                        seen.odd.push(format!("opening: {}", text_of(&error)));
                    }
                    if loud {
                        println!("open {round}: {}", text_of(&error));
                    }
                    seen.refused = Some(error);
                    continue;
                }
            };
            let findings = &engine.store().report().findings;
            seen.findings.extend(findings.iter().cloned());
            seen.differences = compare(&self.truth, &self.questions.ask(&engine));
            match engine.integrity().verify(None, &mut |_, _| {}) {
                Ok(report) => {
                    seen.repairs = report.repairs;
                    let faults = report.faults.iter();
                    seen.faults = faults.map(|f| format!("{}: {}", f.place, f.message)).collect();
                }
                Err(error) => {
                    if error.kind() != ErrorKind::Corrupt {
                        seen.odd.push(format!("verify: {}", text_of(&error)));
                    }
                    seen.faults = vec![format!("verify failed: {}", text_of(&error))];
                }
            }
            if loud {
                let torn = engine.store().stats().map(|stats| stats.torn);
                println!("open {round}: {:?}, torn {torn:?}", engine.store().report());
                for difference in &seen.differences {
                    println!("  {difference:?}");
                }
                for fault in &seen.faults {
                    println!("  verify: {fault}");
                }
            }
            if let Err(error) = engine.close() {
                if loud {
                    println!("close {round}: {}", text_of(&error));
                }
                elsewhere(dir);
            }
            let failed = seen.differences.iter().filter(|d| d.how == How::Failed);
            seen.odd.extend(failed.map(|d| format!("{}: {}", d.question, d.text)));
            if seen.differences.is_empty() {
                break;
            }
        }
        seen
    }

    fn verdict(&self, case: &Case, seen: &Seen) -> Verdict {
        let allowed = self.only.hit_by(case);
        let copies = if allowed { "the only copy" } else { "there is a second copy" };
        // If it was the only copy, events may be refused or missing.
        let told = |outcome, reason: String| {
            let outcome = if allowed { outcome } else { Outcome::BrokenPromise };
            Verdict::new(outcome, format!("{reason}; {copies}"))
        };
        if let Some(error) = &seen.refused {
            let named = matches!(error.detail(),
                Some(Detail::Corruption { place, .. }) if !place.is_empty());
            let reason = format!("refused, {}", text_of(error));
            return if error.kind() == ErrorKind::Corrupt && named {
                told(Outcome::Refused, reason)
            } else {
                Verdict::new(Outcome::BrokenPromise, reason)
            };
        }
        let first = |how| seen.differences.iter().find(|d| d.how == how);
        let count = |how| seen.differences.iter().filter(|d| d.how == how).count();
        let describe = |how, d: &Difference| {
            let finding = seen.findings.first();
            let finding = finding.map_or_else(
                || "no finding".to_owned(),
                |f| format!("finding {}: {} ({:?})", f.place, f.message, f.outcome),
            );
            let fault = seen.faults.first();
            let fault = fault.map_or("verify is clean".to_owned(), |f| format!("verify: {f}"));
            let (question, text, n) = (&d.question, &d.text, count(how));
            format!("{n} answers, first {question}: {text}; {finding}; {fault}")
        };
        if let Some(d) = first(How::Wrong) {
            return Verdict::new(Outcome::WrongAnswer, describe(How::Wrong, d));
        }
        let found = seen.findings.iter().any(|finding| names(finding, case));
        if let Some(d) = first(How::Lost) {
            if found {
                return told(Outcome::Told, describe(How::Lost, d));
            }
            // If every event can be read or is reported as damaged, the index lacks something.
            let event = |d: &&Difference| d.how == How::Lost && d.question.starts_with("event");
            return match seen.differences.iter().find(event) {
                Some(event) => Verdict::new(Outcome::SilentLoss, describe(How::Lost, event)),
                None => Verdict::new(Outcome::WrongAnswer, describe(How::Lost, d)),
            };
        }
        if let Some(odd) = seen.odd.first() {
            return Verdict::new(Outcome::BrokenPromise, format!("not Corrupt: {odd}"));
        }
        if let Some(d) = first(How::Damaged) {
            return if found || !seen.faults.is_empty() {
                told(Outcome::Told, describe(How::Damaged, d))
            } else {
                Verdict::new(Outcome::SilentLoss, describe(How::Damaged, d))
            };
        }
        if let Some(finding) = seen.findings.iter().find(|finding| leaves_record(finding, case))
            && !seen.repairs.iter().any(|repair| is_of(&repair.place, case))
        {
            let reason = format!("repaired: {finding:?}; on record: {:?}", seen.repairs);
            return Verdict::new(Outcome::Unrecorded, reason);
        }
        let left = |f: &&Finding| f.outcome == milepost::store::Outcome::Left;
        match (seen.faults.first(), seen.findings.iter().find(left)) {
            (Some(fault), _) => Verdict::new(Outcome::Left, format!("verify: {fault}")),
            (_, Some(finding)) => Verdict::new(Outcome::Left, format!("{finding:?}")),
            _ => Verdict::new(Outcome::Whole, ""),
        }
    }

    /// Looks for content that is missing if sled is lost after silent damage.
    fn without_sled(&self, dir: &Path, loud: bool) -> Option<Verdict> {
        fs::remove_dir_all(dir.join("sled")).unwrap();
        if loud {
            println!("and sled removed");
        }
        let seen = self.look(dir, loud);
        let reason = match (&seen.refused, seen.differences.first()) {
            (Some(error), _) => format!("refused, {}", text_of(error)),
            (None, Some(d)) => format!("{}: {}", d.question, d.text),
            (None, None) => return None,
        };
        Some(Verdict::new(Outcome::Latent, format!("without sled: {reason}")))
    }
}

/// Returns `true` if a finding reports missing content, and names the file or its folder.
fn names(finding: &Finding, case: &Case) -> bool {
    let mut words = finding.place.split(['/', ' ', ':', ',']);
    finding.outcome != milepost::store::Outcome::Repaired
        && words.any(|word| {
            case.file.split('/').any(|part| part == word)
                || (word == "pack" && case.kind() == "pack")
        })
}

/// Returns `true` if the damage of a finding cannot come from a kill or a loss of power: of a store
/// that was closed, or of files that were synced before anything was built on them.
fn leaves_record(finding: &Finding, case: &Case) -> bool {
    finding.outcome == milepost::store::Outcome::Repaired
        && (case.left == Left::Closed || !case.file.starts_with("sled"))
}

/// Returns `true` if the place of a record names the file of a case, or the one that it was swapped
/// with. The name of a removed file cannot be known: then it is the folder.
fn is_of(place: &str, case: &Case) -> bool {
    let file = place.split([' ', ':']).next().unwrap_or_default();
    let named = |case_file: &str| {
        file == case_file || (case_file.starts_with("sled") && file.starts_with("sled"))
    };
    let otherwise = match &case.damage {
        Damage::Swap { with } => named(with),
        Damage::Remove => case.file.split('/').next() == file.split('/').next(),
        _ => false,
    };
    named(&case.file) || otherwise
}

pub(super) fn text_of(error: &Error) -> String {
    format!("{:?}: {error}", error.kind())
}
