//! The generator of programs: the same program for the same seed.

use super::fault::Fault;
use super::program::{At, Bad, End, How, Life, Op, Program, Schedule, Spec, Step, TASKS, To, Who};
use crate::seed::Random;

/// Kinds of operations that a program may have: each program has some of them, so that one that
/// breaks much does not hide the others.
#[derive(Debug, Clone, Copy)]
struct Mix {
    refused: bool,
    large: bool,
    erases: bool,
    deletes: bool,
    cleans: bool,
    compacts: bool,
    keys: bool,
    counts: bool,
    watches: bool,
    faults: bool,
    files: bool,
    runs: bool,
    parts: bool,
    secrets: bool,
    attaches: bool,
    once: bool,
    clocks: bool,
}

impl Program {
    /// The program of a seed.
    pub fn generate(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut one_of = |n: u64| random.below(n) == 0;
        let mix = Mix {
            refused: one_of(3),
            large: one_of(3),
            erases: one_of(2),
            deletes: one_of(2),
            cleans: !one_of(3),
            compacts: !one_of(3),
            keys: !one_of(3),
            counts: one_of(3),
            watches: one_of(3),
            faults: one_of(2),
            files: one_of(3),
            runs: one_of(3),
            parts: one_of(3),
            secrets: one_of(2),
            attaches: one_of(2),
            once: one_of(3),
            clocks: one_of(3),
        };
        let tiny = one_of(2);
        let lives = 1 + random.below(4);
        let mut lives: Vec<Life> = (0..lives).map(|_| life(&mut random, mix)).collect();
        if let (0, Some(last)) = (random.below(8), lives.last_mut()) {
            last.end = End::Damage;
        }
        Self {
            seed,
            schedule: match random.below(3) {
                0 => Schedule::Threads(3),
                _ => Schedule::Sequential,
            },
            tiny,
            lives,
        }
    }

    /// Returns the number of steps, concurrent ones not counted.
    pub fn len(&self) -> usize {
        self.lives.iter().map(|life| life.steps.len()).sum()
    }

    /// Returns `true` if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn life(random: &mut Random, mix: Mix) -> Life {
    let count = 5 + random.below(40);
    let mut steps: Vec<Step> = (0..count).map(|_| step(random, mix, true)).collect();
    if mix.keys && mix.compacts && random.below(3) == 0 {
        // Enough commits for a compaction to report on.
        let op = Op::Keys(260);
        steps.insert(random.below(3) as usize, Step { task: 0, op });
    }
    let end = match random.below(12) {
        0..=2 => End::Close,
        3 => End::Repair,
        4 => End::Flip(random.number() as u32),
        5 => End::NoSled,
        6..=8 if mix.faults => End::Fault(Fault::draw(random)),
        _ => End::Kill,
    };
    let counted = mix.counts && random.below(3) > 0;
    Life { counted, supervised: random.below(8) == 0, steps, end }
}

fn step(random: &mut Random, mix: Mix, outer: bool) -> Step {
    // Most of the work is on one task, so that it has a history.
    let task = random.below(TASKS + 3).saturating_sub(3) as u8;
    Step { task, op: op(random, mix, outer) }
}

#[expect(clippy::too_many_lines, reason = "one match over all operations")]
fn op(random: &mut Random, mix: Mix, outer: bool) -> Op {
    loop {
        let n16 = random.number() as u16;
        let n8 = random.number() as u8;
        return match random.below(90) {
            0..=11 => append(random, mix),
            12 if mix.keys => Op::Keys(2 + random.below(if outer { 60 } else { 4 }) as u16),
            13..=18 => Op::Mark { who: who(random), at: (random.below(5) == 0).then_some(n16) },
            19..=21 => Op::Restore(to(random)),
            22 | 23 => Op::Branch(to(random)),
            24 => Op::Undo,
            25 | 26 => Op::Pin(n16),
            27 if mix.cleans => Op::RemoveMark(n16),
            28..=31 if mix.cleans => Op::Cleanup {
                all: random.below(3) == 0,
                keep: random.below(4) as u8,
                undo: random.below(3) as u8,
                marks_only: random.below(4) == 0,
                chosen: (random.below(4) == 0).then_some(n16),
                beside: match outer && mix.counts {
                    true => while_folding(random, mix),
                    false => Vec::new(),
                },
            },
            32 | 33 if mix.erases => Op::Erase(n8, n16),
            34 if mix.deletes => Op::Delete,
            35 | 36 if mix.compacts && outer => compact(random, mix),
            37 => Op::State(to(random)),
            38 => Op::Drain,
            39 if outer => Op::Check,
            40 | 41 if mix.refused => Op::Refused(who(random), bad(random)),
            42 => Op::Start,
            43 if mix.counts && outer => Op::Snapshots,
            44 | 45 if mix.watches => Op::Watch {
                who: who(random),
                from: n16,
                how: [How::Subscription, How::Follower, How::Iterator][usize::from(n8 % 3)],
            },
            50 if outer => Op::Carry { copy: n8.is_multiple_of(2) },
            51 if outer => Op::Anchor,
            52 | 53 if mix.files => Op::Files(random.number() as u32),
            54 if mix.files => Op::Rollback(n16),
            55 if mix.runs => Op::Run(random.number() as u32),
            56 if mix.parts => Op::Hooked,
            57 if mix.parts => Op::Part { n: n16, fails: n8.is_multiple_of(2) },
            58..=61 if mix.secrets => Op::Secret(random.number() as u32),
            46..=49 if mix.watches => Op::Look(n8),
            62 | 63 => Op::Switch(who(random)),
            // A redo needs an undo right before it, or another redo.
            64 => Op::Undo,
            65 => Op::Redo,
            66..=68 if mix.keys => {
                let count = 1 + random.below(5);
                let key = |random: &mut Random| (random.below(30) as u8, random.below(40) == 0);
                Op::Each { who: who(random), keys: (0..count).map(|_| key(random)).collect() }
            }
            70 | 71 | 88 | 89 if mix.attaches => Op::Attach {
                alias: random.below(2) as u8,
                index: random.below(4) as i8 - 1,
                salt: n16,
            },
            72 | 80..=83 if mix.attaches => Op::Alias(random.below(2) as u8),
            73 | 74 | 84..=86 if mix.once => Op::Once(n16),
            75..=77 if mix.once => Op::Again(n16),
            87 if mix.attaches && mix.cleans => Op::RemoveMark(n16),
            78 | 79 if mix.clocks => Op::Clock(n16 as i16 % 800),
            69 => {
                let Op::Append { bodies, mark, .. } = append(random, mix) else { continue };
                Op::BranchWith { to: to(random), bodies, mark }
            }
            _ => continue,
        };
    }
}

fn compact(random: &mut Random, mix: Mix) -> Op {
    let count = random.below(4);
    let mut beside: Vec<Step> = (0..count).map(|_| step(random, mix, false)).collect();
    if mix.cleans && random.below(2) == 0 {
        let cleanup = Op::Cleanup {
            all: true,
            keep: 1,
            undo: random.below(2) as u8,
            marks_only: false,
            chosen: None,
            beside: Vec::new(),
        };
        beside.push(Step { task: 0, op: cleanup });
    }
    Op::Compact {
        at: match random.below(2) {
            0 => At::Sled,
            _ => At::Number(random.below(4) as u8),
        },
        beside,
    }
}

/// Steps that do not wait for a cleanup.
fn while_folding(random: &mut Random, mix: Mix) -> Vec<Step> {
    let op = |random: &mut Random| match random.below(2) {
        0 => append(random, mix),
        _ => Op::Mark { who: Who::Named(random.number() as u8), at: None },
    };
    let count = random.below(4);
    let steps = (0..count)
        .map(|_| Step { task: random.below(TASKS + 3).saturating_sub(3) as u8, op: op(random) });
    steps.collect()
}

fn append(random: &mut Random, mix: Mix) -> Op {
    let keyed = mix.keys && random.below(3) == 0;
    let most = if random.below(4) == 0 { 12 } else { 2 };
    let count = 1 + random.below(most);
    // The same key mostly meets the same bodies.
    let key = keyed.then(|| random.below(24) as u16);
    let (salt, count) = match key {
        Some(key) if random.below(5) > 0 => (u64::from(key), 1 + u64::from(key % 3)),
        _ => (random.below(1 << 20), count),
    };
    let mut inner = Random::new(salt);
    let mut spec = |large: bool| Spec {
        kind: inner.below(11) as u8,
        salt: inner.below(1 << 20) as u32,
        size: match inner.below(12) {
            0 if large => 300_000,
            0..=2 => 9000,
            _ => 40 + inner.below(400) as u32,
        },
    };
    Op::Append {
        who: who(random),
        bodies: (0..count).map(|_| spec(mix.large)).collect(),
        key,
        expect: random.below(6) == 0,
        mark: random.below(8) == 0,
        submit: random.below(6) == 0,
    }
}

fn who(random: &mut Random) -> Who {
    match random.below(4) {
        0 => Who::Named(random.number() as u8),
        _ => Who::Active,
    }
}

fn to(random: &mut Random) -> To {
    match random.below(3) {
        0 => To::Offset(random.number() as u8, random.number() as u16),
        _ => To::Mark(random.number() as u16),
    }
}

fn bad(random: &mut Random) -> Bad {
    const ALL: [Bad; 9] = [
        Bad::HalfUnknown,
        Bad::Unknown,
        Bad::LongLabel,
        Bad::LongKey,
        Bad::Empty,
        Bad::WrongHead,
        Bad::MarkPastHead,
        Bad::LongMark,
        Bad::ByHand,
    ];
    ALL[random.below(ALL.len() as u64) as usize]
}
