//! Lists of the tasks whose id begins with a text: by id, in pages, for each viewer.

use milepost::query::TaskQuery;
use milepost::{Engine, ErrorKind, Options};
use proptest::prelude::*;

/// Returns the ids of a list read in pages of `limit`.
fn ids(engine: &Engine, user: Option<&str>, prefix: &str, limit: usize) -> Vec<String> {
    let mut query = TaskQuery {
        user: user.map(str::to_owned),
        prefix: Some(prefix.to_owned()),
        limit: Some(limit),
        cursor: None,
    };
    let mut found = Vec::new();
    loop {
        let page = engine.query().tasks(&query).unwrap();
        assert!(page.items.len() <= limit);
        found.extend(page.items.into_iter().map(|task| task.id));
        query.cursor = page.next;
        if query.cursor.is_none() {
            return found;
        }
    }
}

#[test]
fn a_deleted_task_is_not_listed_until_its_id_is_used_again() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    for id in ["run/2", "run/1", "runs", "ru"] {
        engine.start_task(id, "ana").unwrap();
    }
    assert_eq!(ids(&engine, None, "run", 1), ["run/1", "run/2", "runs"]);
    engine.retention().delete_task("run/1").unwrap();
    assert_eq!(ids(&engine, None, "run", 1), ["run/2", "runs"]);
    engine.start_task("run/1", "bob").unwrap();
    assert_eq!(ids(&engine, None, "run", 1), ["run/1", "run/2", "runs"]);
    assert_eq!(ids(&engine, Some("ana"), "run", 1), ["run/2", "runs"]);
}

#[test]
fn a_cursor_of_another_list_is_refused() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    for id in ["a1", "a2", "b1", "b2"] {
        engine.start_task(id, "ana").unwrap();
    }
    let page = |prefix: Option<&str>, cursor| {
        let prefix = prefix.map(str::to_owned);
        engine.query().tasks(&TaskQuery { prefix, limit: Some(1), cursor, user: None })
    };
    let of_a = page(Some("a"), None).unwrap().next;
    let newest = page(None, None).unwrap().next;
    for (prefix, cursor) in [(None, of_a.clone()), (Some("b"), of_a), (Some("a"), newest)] {
        assert!(cursor.is_some());
        assert_eq!(page(prefix, cursor).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_list_by_prefix_has_what_a_plain_filter_finds(
        tasks in prop::collection::btree_map("[abé]{1,4}", (any::<bool>(), any::<bool>()), 1..90),
        prefix in "[abé]{0,2}",
        limit in 1_usize..70,
    ) {
        let engine = Engine::in_memory(Options::default()).unwrap();
        for (id, (is_anas, _)) in tasks.iter().rev() {
            engine.start_task(id, if *is_anas { "ana" } else { "bob" }).unwrap();
        }
        for (id, _) in tasks.iter().filter(|(_, (_, is_deleted))| *is_deleted) {
            engine.retention().delete_task(id).unwrap();
        }
        let plain = |user: Option<bool>| {
            let fits = |(id, (is_anas, is_deleted)): &(&String, &(bool, bool))| {
                id.starts_with(&prefix) && !is_deleted && user.is_none_or(|it| it == *is_anas)
            };
            tasks.iter().filter(fits).map(|(id, _)| id.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(ids(&engine, None, &prefix, limit), plain(None));
        prop_assert_eq!(ids(&engine, Some("ana"), &prefix, limit), plain(Some(true)));
    }
}
