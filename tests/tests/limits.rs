//! Limits: requests that are refused before anything is written (I2, I12), and the largest that are
//! taken.

use std::collections::{BTreeMap, BTreeSet};

use milepost::events::{Attachment, Data, Message, StepStarted};
use milepost::query::{CheckpointOrder, CheckpointQuery, TaskQuery};
use milepost::transfer::ExportItem;
use milepost::{Append, Engine, ErrorKind, Json, Mark, Options};
use milepost_tests::bodies;
use milepost_tests::seed::{Random, number, seed};

#[test]
fn one_event_larger_than_the_backlog_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().backlog_bytes(1 << 20);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..3_u64 {
        let batch: Vec<_> = (0..16).map(|i| bodies::bytes(n * 16 + i, 250 << 10)).collect();
        task.append(batch).unwrap();
    }
    assert_eq!(task.head().unwrap().next, 49);
}

#[test]
fn what_is_too_large_or_empty_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let head = task.head().unwrap();
    let invalid = |result: milepost::Result<()>, what: &str| {
        let error = result.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
    };
    let hello = || Append::from(Message::text("user", "hello"));
    let append = |append: Append| task.append(append).map(drop);
    let mark = |mark: Mark| task.checkpoint(mark).map(drop);
    invalid(append(Append::default()), "no events");
    invalid(append(hello().key("")), "an empty key");
    invalid(append(hello().actor("a".repeat(1025))), "a long actor");
    let many: Vec<_> = (0..80).map(|n| bodies::bytes(n, 250 << 10)).collect();
    invalid(append(many.into()), "20 MiB inline in one append");
    invalid(mark(Mark::new().label("17")), "a label of digits");
    invalid(mark(Mark::new().label("a\nb")), "a control character");
    invalid(mark(Mark::new().at(2)), "a mark past the head");
    let metadata = serde_json::json!({ "text": "x".repeat(65 << 10) });
    let metadata = Json::from_value(&metadata).unwrap();
    invalid(mark(Mark::new().metadata(metadata)), "long metadata");
    invalid(engine.start_task("", "ana").map(drop), "no task id");
    let long = "d".repeat(5000);
    let point = task.point(1).unwrap();
    invalid(engine.branch(&point).description(long.as_str()).run().map(drop), "a long description");
    invalid(engine.restore(&point).description(&long).run().map(drop), "a long description");
    assert_eq!(task.head().unwrap(), head);
    assert_eq!(task.lineages().unwrap().len(), 1);
    // The longest that is taken goes all the way to where it stays.
    engine.branch(&point).description(&*"d".repeat(1024)).run().unwrap();
    task.append(hello().key("k".repeat(1024)).actor("a".repeat(1024))).unwrap();
    let metadata = serde_json::json!({ "text": "x".repeat(60 << 10) });
    let metadata = Json::from_value(&metadata).unwrap();
    let (label, alias) = ("l".repeat(200), "a".repeat(1024));
    let largest = Mark::new().label(label).alias(&alias).alias("b".repeat(1024));
    task.checkpoint(largest.metadata(metadata.clone())).unwrap();
    invalid(mark(Mark::new().label("l".repeat(201))), "a long label");
    invalid(mark(Mark::new().alias("a".repeat(1025))), "a long alias");
    invalid(mark(Mark::new().alias(&alias).alias(&alias).alias("b")), "long aliases");
    let attachment = || Attachment::new("w", 0, Data::Bytes(vec![1]));
    let attach = |alias: &str| task.attach(alias, vec![attachment()]);
    invalid(attach(&"a".repeat(1025)).map(drop), "a long alias of attached data");
    attach(&alias).unwrap();
    invalid(engine.start_task(&"t".repeat(1025), "ana").map(drop), "a long task id");
    invalid(engine.start_task("u", &"u".repeat(201)).map(drop), "a long user");
    let largest = Mark::new().alias(&alias).metadata(metadata);
    task.checkpoint(largest).unwrap();
    engine.store().drain().unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// Returns a name of 1,024 bytes, most of them of two bytes each, that ends in `end`.
fn long(end: char) -> String {
    format!("{}:{end}", "é".repeat(511))
}

/// Checks a task with long names: its marks by alias, and the data attached to them.
fn check_long(engine: &Engine, id: &str, aliases: &[String]) {
    let query = CheckpointQuery {
        task: Some(id.to_owned()),
        order: CheckpointOrder::Alias,
        limit: Some(1),
        ..CheckpointQuery::default()
    };
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = engine.query().checkpoints(&CheckpointQuery { cursor, ..query.clone() });
        let page = page.unwrap();
        found.extend(page.items.into_iter().flat_map(|checkpoint| checkpoint.aliases));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, aliases.iter().rev().cloned().collect::<Vec<_>>());
    let task = engine.task(id).unwrap();
    for alias in aliases {
        let only = CheckpointQuery { alias: Some(alias.clone()), limit: None, ..query.clone() };
        assert_eq!(engine.query().checkpoints(&only).unwrap().items.len(), 1);
        assert_eq!(task.attached(alias).unwrap().len(), 1, "{alias}");
    }
    let tasks = TaskQuery { prefix: Some(id.to_owned()), ..TaskQuery::default() };
    assert_eq!(engine.query().tasks(&tasks).unwrap().items.len(), 1);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn ids_and_aliases_of_1024_bytes_are_found_after_reopens_rebuilds_restores_and_imports() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let (id, aliases) = (long('t'), ['a', 'b', 'c', 'd'].map(long));
    assert!(aliases.iter().chain([&id]).all(|name| name.len() == 1024));
    let engine = Engine::open(&path, Options::default()).unwrap();
    let task = engine.start_task(&id, "ana").unwrap();
    for alias in &aliases {
        let said = Append::from(Message::text("user", "hello"));
        task.append(said.mark(Mark::new().alias(alias))).unwrap();
        task.attach(alias, vec![Attachment::new("w", 0, Data::Bytes(vec![1]))]).unwrap();
    }
    let point = engine.point(&format!("{id}@{}", aliases[1])).unwrap();
    engine.restore(&point).run().unwrap();
    check_long(&engine, &id, &aliases);
    engine.close().unwrap();
    let engine = Engine::open(&path, Options::default()).unwrap();
    check_long(&engine, &id, &aliases);
    engine.close().unwrap();
    // The index is made again from the archive.
    std::fs::remove_dir_all(path.join("sled")).unwrap();
    let engine = Engine::open(&path, Options::default()).unwrap();
    check_long(&engine, &id, &aliases);
    let other = Engine::open(dir.path().join("other"), Options::default()).unwrap();
    let mut import = other.transfer().import();
    let mut take = |item: ExportItem<'_>| match item {
        ExportItem::Task(task) => import.task(task),
        ExportItem::Chunk(chunk) => import.chunk(chunk),
        ExportItem::Event(event) => import.event(event),
        _ => Ok(()),
    };
    engine.transfer().export(false).unwrap().task(&id, &mut take).unwrap();
    import.finish().unwrap();
    check_long(&other, &id, &aliases);
}

/// A name of parts that sort, end or count in another way than others, up to more bytes than are
/// accepted.
fn name(random: &mut Random) -> String {
    const PARTS: [&str; 12] =
        ["a", "b", "0", "\u{1}", "\0", " ", "\u{7f}", "é", "\u{ffff}", "\u{10ffff}", "/", "-"];
    let some = |random: &mut Random| PARTS[random.below(PARTS.len() as u64) as usize];
    let mut name: String = (0..random.below(4)).map(|_| some(random)).collect();
    if random.below(4) == 0 {
        let part = some(random);
        let due = 1021 + random.below(6) as usize;
        while name.len() + part.len() <= due {
            name.push_str(part);
        }
    }
    name
}

/// All pages of a list of tasks.
fn tasks_of(engine: &Engine, query: &TaskQuery) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let query = TaskQuery { limit: Some(3), cursor, ..query.clone() };
        let page = engine.query().tasks(&query).unwrap();
        found.extend(page.items.into_iter().map(|task| task.id));
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}

/// All pages of a list of the checkpoints of a task: their times, and the greatest alias of each.
fn checkpoints_of(engine: &Engine, id: &str, order: CheckpointOrder) -> Vec<(u64, String)> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let (task, limit) = (Some(id.to_owned()), Some(3));
        let query = CheckpointQuery { task, limit, order, cursor, ..CheckpointQuery::default() };
        let page = engine.query().checkpoints(&query).unwrap();
        let of = |mut found: milepost::Checkpoint| {
            (found.time_us, found.aliases.pop().unwrap_or_default())
        };
        found.extend(page.items.into_iter().map(of));
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}

/// Starts a task, and up to 40 more with such names and users. Returns those that are taken.
fn started(engine: &Engine, random: &mut Random) -> BTreeMap<String, String> {
    engine.start_task("t", "ana").unwrap();
    let mut tasks = BTreeMap::from([("t".to_owned(), "ana".to_owned())]);
    for _ in 0..40 {
        let (id, mut user) = (name(random), name(random));
        if random.below(2) == 0 {
            user = "ana".to_owned();
        }
        match engine.start_task(&id, &user) {
            Ok(_) => assert_eq!(tasks.insert(id, user), None),
            Err(error) if error.kind() == ErrorKind::Conflict => {
                assert!(tasks.contains_key(&id), "{id:?}");
            }
            Err(error) => {
                let plain = |name: &String, most| {
                    (1..=most).contains(&name.len()) && !name.contains(char::is_control)
                };
                assert_eq!(error.kind(), ErrorKind::Invalid, "{id:?} {user:?}: {error}");
                assert!(!plain(&id, 1024) || !plain(&user, 200), "{id:?} {user:?}: {error}");
            }
        }
    }
    tasks
}

#[test]
fn names_and_times_at_their_bounds_are_refused_or_found_in_their_order() {
    const TIMES: [u64; 6] = [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX - 1, u64::MAX];
    let first = seed();
    let (mut refused, mut taken) = (0, 0);
    for n in 0..number("MILEPOST_CASES").unwrap_or(8) {
        let mut random = Random::new(first.wrapping_add(n));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let engine = Engine::open(&path, Options::default()).unwrap();
        let tasks = started(&engine, &mut random);
        refused += 41 - tasks.len();
        let id = tasks.keys().next_back().unwrap().clone();
        let (task, mut marks) = (engine.task(&id).unwrap(), Vec::new());
        for _ in 0..40 {
            let (alias, time) = (name(&mut random), TIMES[random.below(6) as usize]);
            let step = StepStarted { step: time, ..StepStarted::default() };
            let mark = Mark::new().alias(&alias).time_us(time);
            match task.append(Append::from(step).mark(mark)) {
                Ok(_) => marks.push((time, alias)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{alias:?}: {error}"),
            }
        }
        taken += tasks.len() + marks.len();
        let check = |engine: &Engine| {
            let all =
                |prefix: &str| TaskQuery { prefix: Some(prefix.into()), ..TaskQuery::default() };
            let in_order: Vec<String> = tasks.keys().cloned().collect();
            assert_eq!(tasks_of(engine, &all("")), in_order);
            for (id, user) in &tasks {
                assert_eq!(engine.task(id).unwrap().user(), user);
                let begin: String = id.chars().take(2).collect();
                let due: Vec<_> = in_order.iter().filter(|id| id.starts_with(&begin)).collect();
                assert_eq!(tasks_of(engine, &all(&begin)).iter().collect::<Vec<_>>(), due);
                let query = TaskQuery { user: Some(user.clone()), ..TaskQuery::default() };
                let due: BTreeSet<_> = tasks.iter().filter(|(_, of)| *of == user).collect();
                let due: BTreeSet<_> = due.into_iter().map(|(id, _)| id.clone()).collect();
                assert_eq!(tasks_of(engine, &query).into_iter().collect::<BTreeSet<_>>(), due);
            }
            let times = |found: Vec<(u64, String)>| found.into_iter().map(|(time, _)| time);
            let mut due: Vec<_> = times(marks.clone()).collect();
            due.sort_unstable_by(|one, other| other.cmp(one));
            let found = checkpoints_of(engine, &id, CheckpointOrder::Created);
            assert_eq!(times(found).collect::<Vec<_>>(), due);
            let names: BTreeSet<_> = marks.iter().map(|(_, alias)| alias.clone()).collect();
            let found = checkpoints_of(engine, &id, CheckpointOrder::Alias);
            let found: Vec<_> = found.into_iter().map(|(_, alias)| alias).collect();
            assert!(found.is_sorted_by(|one, next| one >= next), "{found:?}");
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), names);
            engine.run_state(&engine.task(&id).unwrap().point(1).unwrap()).unwrap();
            assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
        };
        check(&engine);
        engine.close().unwrap();
        // The index is made again from the archive.
        std::fs::remove_dir_all(path.join("sled")).unwrap();
        let engine = Engine::open(&path, Options::default()).unwrap();
        check(&engine);
        engine.close().unwrap();
    }
    println!("{taken} taken, {refused} refused");
    assert!(taken > 20 && refused > 10, "{taken} taken, {refused} refused");
}
