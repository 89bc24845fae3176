//! Random operations on the engine and on a plain model of it, compared (I2, I3, I5, I7, I13,
//! I14), through close and reopen and through copies of the folder as a kill would leave it (I1).
//!
//! `MILEPOST_CASES` sets how many sequences are tried, `MILEPOST_SEED` which.

use milepost::Options;
use milepost_tests::bodies;
use milepost_tests::seed::{Random, number, seed};
use milepost_tests::world::{Adding, Expect, Marking, Who, World};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

#[derive(Debug, Clone)]
enum Op {
    Start,
    Append(u8, Vec<Adding>),
    Mark(u8, Marking),
    Branch(u8, u8, u16),
    Restore(u8, u8, u16, bool),
    Undo(u8),
    Drain,
    CloneAndDrop,
    Reopen,
    Kill,
    Range(u8, u8, u16, u16, bool),
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        6 => Just(Who::Current),
        1 => any::<u8>().prop_map(Who::Earlier),
        3 => any::<u8>().prop_map(Who::Named),
    ]
}

/// Few salts with a key: the same key meets the same bodies, and others.
fn adding() -> impl Strategy<Value = Adding> {
    let expect = prop_oneof![
        6 => Just(Expect::Nothing),
        2 => Just(Expect::Right),
        1 => any::<u8>().prop_map(Expect::Wrong),
    ];
    let one = (any::<u8>(), any::<u32>(), 0..12_000_usize);
    let plain = prop::collection::vec(one, 1..6).prop_map(|all| (None, all));
    let small = (Just(0_u8), 0..2_u32, Just(20_usize));
    let keyed = (0..5_u8, prop::collection::vec(small, 1..3));
    let keyed = keyed.prop_map(|(key, all)| (Some(key), all));
    let bodies = prop_oneof![2 => plain, 1 => keyed];
    (who(), expect, bodies).prop_map(|(who, expect, (key, all))| Adding {
        who,
        bodies: all
            .into_iter()
            .map(|(kind, salt, size)| bodies::body(kind, u64::from(salt), size))
            .collect(),
        expect,
        key,
    })
}

fn marking() -> impl Strategy<Value = Marking> {
    let (label, at) = (prop::option::of(0..4_u8), prop::option::weighted(0.2, any::<u16>()));
    (who(), label, any::<bool>(), at, prop::option::of(any::<u8>()))
        .prop_map(|(who, label, failed, at, metadata)| Marking { who, label, failed, at, metadata })
}

/// Any offset, and the ends more often than chance.
fn offset() -> impl Strategy<Value = u16> {
    prop_oneof![4 => any::<u16>(), 1 => Just(0), 1 => 0..4_u16]
}

fn op() -> impl Strategy<Value = Op> {
    let task = || any::<u8>();
    prop_oneof![
        1 => Just(Op::Start),
        16 => (task(), prop::collection::vec(adding(), 1..5))
            .prop_map(|(t, all)| Op::Append(t, all)),
        6 => (task(), marking()).prop_map(|(t, mark)| Op::Mark(t, mark)),
        3 => (task(), any::<u8>(), offset()).prop_map(|(t, l, at)| Op::Branch(t, l, at)),
        3 => (task(), any::<u8>(), offset(), any::<bool>())
            .prop_map(|(t, l, at, mark)| Op::Restore(t, l, at, mark)),
        3 => task().prop_map(Op::Undo),
        2 => Just(Op::Drain),
        1 => Just(Op::CloneAndDrop),
        2 => Just(Op::Reopen),
        2 => Just(Op::Kill),
        6 => (task(), any::<u8>(), any::<u16>(), any::<u16>(), any::<bool>())
            .prop_map(|(t, l, a, b, state)| Op::Range(t, l, a, b, state)),
    ]
}

fn apply(world: &mut World, op: &Op) {
    let pick = |world: &World, n: u8| world.pick(n).unwrap();
    match op {
        Op::Start if world.model.tasks.len() < 3 => world.start(),
        Op::Start => {}
        Op::Append(t, all) => world.append(pick(world, *t), all),
        Op::Mark(t, mark) => world.mark(pick(world, *t), mark),
        Op::Branch(t, l, at) => world.branch(pick(world, *t), *l, *at),
        Op::Restore(t, l, at, mark) => world.restore(pick(world, *t), *l, *at, *mark),
        Op::Undo(t) => world.undo(pick(world, *t)),
        Op::Drain => world.drain(),
        Op::CloneAndDrop => world.clone_and_drop(),
        Op::Reopen => world.reopen(),
        Op::Kill => world.kill(),
        Op::Range(t, l, a, b, state) => world.check_range(pick(world, *t), *l, *a, *b, *state),
    }
}

fn options(tiny: bool, snapshots: bool) -> Options {
    let options = Options::default().snapshots(snapshots);
    if tiny { options.backlog_bytes(1 << 20).cache_bytes(1 << 20) } else { options }
}

fn run(in_folder: bool, cases: u64) {
    let mut random = Random::new(seed());
    let config = Config {
        cases: number("MILEPOST_CASES").unwrap_or(cases) as u32,
        max_shrink_iters: 300,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &random.bytes(32));
    let mut runner = TestRunner::new_with_rng(config, rng);
    let ops = (prop::collection::vec(op(), 1..50), any::<bool>(), any::<bool>());
    let done = runner.run(&ops, |(ops, tiny, snapshots)| {
        let mut world = World::new(in_folder, options(tiny, snapshots));
        world.start();
        for op in &ops {
            apply(&mut world, op);
        }
        world.check();
        world.drain();
        world.check();
        world.reopen();
        world.check();
        world.kill();
        world.check();
        Ok(())
    });
    if let Err(error) = done {
        panic!("{error}");
    }
}

#[test]
fn a_store_in_memory_does_what_its_model_does() {
    run(false, 48);
}

#[test]
fn a_store_in_a_folder_does_what_its_model_does() {
    run(true, 24);
}
