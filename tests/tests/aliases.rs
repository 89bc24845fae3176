//! Lists of checkpoints by alias, on all lineages of a task, against a plain list.

use milepost::events::{MarkStatus, Message};
use milepost::query::{CheckpointOrder, CheckpointQuery};
use milepost::{CheckpointId, Engine, ErrorKind, LineageId, Mark, Options};
use proptest::prelude::*;

/// A checkpoint of the plain list, in the order of the marks.
#[derive(Debug, Clone)]
struct Marked {
    id: CheckpointId,
    aliases: Vec<String>,
    lineage: u32,
    offset: u64,
    status: MarkStatus,
}

fn of_task() -> CheckpointQuery {
    CheckpointQuery { task: Some("t".into()), ..CheckpointQuery::default() }
}

/// Returns the ids of a list read in pages of `limit`.
fn ids(engine: &Engine, query: &CheckpointQuery, limit: usize) -> Vec<CheckpointId> {
    let mut query = CheckpointQuery { limit: Some(limit), cursor: None, ..query.clone() };
    let mut found = Vec::new();
    loop {
        let page = engine.query().checkpoints(&query).unwrap();
        assert!(page.items.len() <= limit);
        found.extend(page.items.into_iter().map(|checkpoint| checkpoint.id));
        query.cursor = page.next;
        if query.cursor.is_none() {
            return found;
        }
    }
}

/// Returns the expected result of a query.
fn plain(all: &[Marked], query: &CheckpointQuery) -> Vec<CheckpointId> {
    let alias_of = |mark: &Marked| {
        let fits = |alias: &&String| {
            query.alias.as_ref().is_none_or(|only| only == *alias)
                && query.before.as_ref().is_none_or(|before| *alias < before)
        };
        mark.aliases.iter().filter(fits).max().cloned()
    };
    let by_alias = query.order == CheckpointOrder::Alias;
    let asks = by_alias || query.alias.is_some() || query.before.is_some();
    let fits = |mark: &&Marked| {
        (!asks || alias_of(mark).is_some())
            && query.status.is_none_or(|status| status == mark.status)
            && query.lineage.is_none_or(|lineage| lineage.0 == mark.lineage)
    };
    let mut found: Vec<_> = all.iter().rev().filter(fits).collect();
    if by_alias {
        found.sort_by_key(|mark| std::cmp::Reverse((alias_of(mark), mark.lineage, mark.offset)));
    }
    found.into_iter().map(|mark| mark.id).collect()
}

#[test]
fn a_list_by_alias_without_a_task_is_refused() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let queries = [
        CheckpointQuery { alias: Some("a".into()), ..CheckpointQuery::default() },
        CheckpointQuery { before: Some("a".into()), ..CheckpointQuery::default() },
        CheckpointQuery { order: CheckpointOrder::Alias, ..CheckpointQuery::default() },
    ];
    for query in queries {
        let error = engine.query().checkpoints(&query).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("give `task` too"), "{error}");
    }
}

#[test]
fn checkpoints_of_a_deleted_task_are_not_listed_by_alias() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    engine.start_task("t", "ana").unwrap().checkpoint(Mark::new().alias("a")).unwrap();
    let query = CheckpointQuery { order: CheckpointOrder::Alias, ..of_task() };
    assert_eq!(ids(&engine, &query, 10).len(), 1);
    engine.retention().delete_task("t").unwrap();
    let error = engine.query().checkpoints(&query).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    engine.start_task("t", "ana").unwrap();
    assert_eq!(ids(&engine, &query, 10), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn lists_by_alias_have_what_a_plain_list_has(
        steps in prop::collection::vec(
            (0_u32..3, prop::collection::btree_set("[abé]{1,2}", 0..4), any::<bool>(), 0_u8..4),
            1..50,
        ),
        alias in prop::option::of("[abé]{1,2}"),
        before in prop::option::of("[abé]{0,2}[abé\\x00]"),
        only in (any::<bool>(), any::<bool>(), any::<bool>()),
        limit in 1_usize..20,
    ) {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        task.append(Message::text("user", "hello")).unwrap();
        for _ in 0..2 {
            engine.branch(&engine.point("t").unwrap()).run().unwrap();
        }
        let mut all = Vec::new();
        for (lineage, aliases, is_good, gone) in steps {
            let status = if is_good { MarkStatus::Success } else { MarkStatus::Failure };
            let mark = aliases.iter().fold(Mark::new().status(status), |mark, alias| {
                mark.alias(alias.clone())
            });
            let on = task.lineage_named(LineageId(lineage)).unwrap();
            let checkpoint = on.checkpoint(mark).unwrap();
            let (id, offset) = (checkpoint.id, checkpoint.mark);
            let aliases = aliases.into_iter().collect();
            all.push(Marked { id, aliases, lineage, offset, status });
            if gone == 0 {
                let removed = all.remove(all.len() / 2);
                engine.retention().unmark(&[removed.id]).unwrap();
            }
        }
        for order in [CheckpointOrder::Committed, CheckpointOrder::Alias] {
            let query = CheckpointQuery {
                alias: alias.clone().filter(|_| only.0),
                before: before.clone(),
                status: only.1.then_some(MarkStatus::Success),
                lineage: only.2.then_some(LineageId(1)),
                order,
                ..of_task()
            };
            prop_assert_eq!(ids(&engine, &query, limit), plain(&all, &query));
        }
    }
}
