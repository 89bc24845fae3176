//! Owners: a user sees their own tasks, and a task of another user answers exactly like a missing
//! one.

use milepost::events::Message;
use milepost::query::{CheckpointQuery, TaskQuery};
use milepost::{Engine, Error, ErrorKind, Mark, Options, Result, View};

/// Ana has `diary` with a checkpoint, Bob has `notes` with one.
fn two_users() -> (Engine, String, String) {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let mut ids = Vec::new();
    for (task, user) in [("diary", "ana"), ("notes", "bob")] {
        let task = engine.as_user(user).start_task(task).unwrap();
        task.append(Message::text("user", user)).unwrap();
        let mark = task.checkpoint(Mark::new().label("first")).unwrap();
        ids.push(mark.id.to_string());
    }
    let bobs = ids.pop().unwrap();
    (engine, ids.pop().unwrap(), bobs)
}

/// Returns the error of a question about a name, with the name taken out.
fn asked<T>(name: &str, answer: Result<T>) -> Option<(ErrorKind, String)> {
    let error: Error = answer.err()?;
    Some((error.kind(), error.to_string().replace(name, "NAME")))
}

fn all(user: &View, name: &str) -> Vec<Option<(ErrorKind, String)>> {
    let query = CheckpointQuery { task: Some(name.to_owned()), ..CheckpointQuery::default() };
    vec![
        asked(name, user.task(name)),
        asked(name, user.point(name)),
        asked(name, user.point(&format!("{name}@1"))),
        asked(name, user.point(&format!("{name}@999"))),
        asked(name, user.point(&format!("{name}@first"))),
        asked(name, user.point(&format!("{name}~1"))),
        asked(name, user.point(&format!("{name}/0"))),
        asked(name, user.undo(name).run()),
        asked(name, user.query().checkpoints(&query)),
    ]
}

#[test]
fn somebody_elses_task_answers_exactly_like_one_that_does_not_exist() {
    let (engine, _, _) = two_users();
    let ana = engine.as_user("ana");
    let (theirs, none) = (all(&ana, "notes"), all(&ana, "nobody"));
    assert_eq!(theirs, none);
    assert!(theirs.iter().all(|answer| answer.as_ref().unwrap().0 == ErrorKind::NotFound));
    let own = all(&ana, "diary");
    assert!(own[0].is_none() && own[8].is_none());
}

#[test]
fn somebody_elses_checkpoint_answers_exactly_like_one_that_does_not_exist() {
    let (engine, anas, bobs) = two_users();
    let ana = engine.as_user("ana");
    let none = "0".repeat(64);
    assert!(ana.query().checkpoint(&anas).is_ok());
    for digits in [8, 20, 64] {
        let (bobs, none) = (&bobs[..digits], &none[..digits]);
        let at = |name: &str| format!("@{name}");
        assert_eq!(
            asked(bobs, ana.query().checkpoint(bobs)),
            asked(none, ana.query().checkpoint(none))
        );
        let theirs = asked(bobs, ana.point(&at(bobs)));
        assert_eq!(theirs, asked(none, ana.point(&at(none))));
        assert_eq!(asked(bobs, ana.point(bobs)), asked(none, ana.point(none)));
        assert_eq!(theirs.unwrap().0, ErrorKind::NotFound);
    }
}

#[test]
fn lists_have_the_users_own_whatever_is_asked_for() {
    let (engine, anas, _) = two_users();
    let ana = engine.as_user("ana");
    let query = TaskQuery { user: Some("bob".into()), ..TaskQuery::default() };
    let tasks = ana.query().tasks(&query).unwrap().items;
    assert_eq!(tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["diary"]);
    let marks = ana.query().checkpoints(&CheckpointQuery::default()).unwrap().items;
    assert_eq!(marks.iter().map(|mark| mark.id.to_string()).collect::<Vec<_>>(), [anas]);
    assert_eq!(engine.query().tasks(&TaskQuery::default()).unwrap().items.len(), 2);
    assert!(engine.as_user("carl").query().tasks(&TaskQuery::default()).unwrap().items.is_empty());
}

#[test]
fn a_view_of_one_task_shows_no_other() {
    let (engine, anas, bobs) = two_users();
    engine.as_user("ana").start_task("letters").unwrap();
    for view in [engine.view().only("diary"), engine.as_user("ana").only("diary")] {
        assert_eq!(view.task("diary").unwrap().user(), "ana");
        let tasks = view.query().tasks(&TaskQuery::default()).unwrap().items;
        assert_eq!(tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["diary"]);
        let marks = view.query().checkpoints(&CheckpointQuery::default()).unwrap().items;
        assert_eq!(marks.iter().map(|mark| mark.id.to_string()).collect::<Vec<_>>(), [&*anas]);
        let stats = view.query().task_stats(Some("ana")).unwrap();
        assert_eq!(stats.iter().map(|stats| stats.task.as_str()).collect::<Vec<_>>(), ["diary"]);
        assert!(!view.shows_all());
        for other in ["letters", "notes", "nothing"] {
            let point = engine.point(other).ok();
            let refused = [
                view.task(other).map(drop),
                view.point(other).map(drop),
                view.retention().pins(other).map(drop),
                view.retention().delete_task(other),
                view.undo(other).run().map(drop),
                view.only(other).task(other).map(drop),
                view.only(other).task("diary").map(drop),
                point.map_or(Err(Error::not_found("")), |point| {
                    view.retention().erase(&point, None)
                }),
            ];
            for refused in refused {
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound, "{other}");
            }
        }
        let of_bob = engine.query().checkpoint(&bobs).unwrap().id;
        for refused in [
            view.query().checkpoint(&bobs).map(drop),
            view.retention().pin(&of_bob, None),
            view.retention().unpin(&of_bob),
            view.retention().unmark(&[of_bob]),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound);
        }
        assert_eq!(view.start_task("new").unwrap_err().kind(), ErrorKind::Invalid);
        let users = TaskQuery { user: Some("bob".into()), ..TaskQuery::default() };
        let of_bob = view.query().tasks(&users).unwrap().items.len();
        assert_eq!(of_bob, usize::from(view.user().is_some()), "a user's view ignores it");
    }
    assert!(engine.view().shows_all() && engine.task("letters").is_ok());
}

#[test]
fn a_list_says_that_there_is_more_only_where_that_is_the_users_own() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    // More of the other's between and behind than are looked at together.
    for (task, user) in (0..200).map(|n| (n, if n % 90 == 80 { "ana" } else { "bob" })) {
        let task = engine.start_task(&format!("t{task}"), user).unwrap();
        task.checkpoint(Mark::new()).unwrap();
    }
    let ana = engine.as_user("ana");
    let tasks = |limit, cursor| {
        let query = TaskQuery { limit: Some(limit), cursor, ..TaskQuery::default() };
        let page = ana.query().tasks(&query).unwrap();
        let ids: Vec<_> = page.items.into_iter().map(|task| task.id).collect();
        (ids, page.next)
    };
    assert_eq!(tasks(2, None), (vec!["t170".into(), "t80".into()], None));
    let (first, next) = tasks(1, None);
    assert_eq!((first, next.is_some()), (vec!["t170".to_owned()], true));
    assert_eq!(tasks(1, next), (vec!["t80".into()], None));
    let marks = |limit, cursor| {
        let query = CheckpointQuery { limit: Some(limit), cursor, ..CheckpointQuery::default() };
        let page = ana.query().checkpoints(&query).unwrap();
        let tasks: Vec<_> = page.items.into_iter().map(|mark| mark.task).collect();
        (tasks, page.next)
    };
    assert_eq!(marks(2, None), (vec!["t170".into(), "t80".into()], None));
    let (first, next) = marks(1, None);
    assert_eq!((first, next.is_some()), (vec!["t170".to_owned()], true));
    assert_eq!(marks(1, next), (vec!["t80".into()], None));
}

#[test]
fn a_point_from_elsewhere_is_refused() {
    let (engine, _, _) = two_users();
    let ana = engine.as_user("ana");
    let bobs = engine.point("notes@1").unwrap();
    // A task's number cannot be smuggled in under a name of one's own.
    let mut mixed = engine.point("diary@1").unwrap();
    mixed.no = bobs.no;
    for point in [&bobs, &mixed] {
        let refused = [
            ana.run_state(point).map(drop),
            ana.event(point).map(drop),
            ana.hash_at(point).map(drop),
            ana.restore(point).run().map(drop),
            ana.branch(point).run().map(drop),
        ];
        for refused in refused {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound);
        }
    }
    assert_eq!(engine.task("notes").unwrap().lineages().unwrap().len(), 1);
    let own = ana.point("diary@1").unwrap();
    assert!(ana.run_state(&own).is_ok());
    ana.restore(&own).run().unwrap();
    ana.undo("diary").run().unwrap();
}

#[test]
fn a_checkpoint_id_is_one_where_only_somebody_else_has_a_task_of_that_name() {
    let (engine, anas, _) = two_users();
    engine.as_user("bob").start_task(&anas).unwrap();
    let point = engine.as_user("ana").point(&anas).unwrap();
    assert_eq!(point.task, "diary");
    assert_eq!(engine.as_user("bob").point(&anas).unwrap().task, anas);
}
