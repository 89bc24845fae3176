//! Refused imports have no effect.

use milepost::events::{Control, Message};
use milepost::ids::LogKind;
use milepost::transfer::{ExportBody, ExportEvent};
use milepost::{Engine, Error, ErrorKind, Hash, Header, LineageId, Mark, Offset, Options};
use milepost_codec::{BodyForm, Chain, Dropped, Head, LogId, TaskNo, body_hash};

use super::{Given, assert_clean, given, import};

/// Returns the export of a store with a task of two lineages.
fn some() -> Vec<Given> {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(Message::text("user", "hello")).unwrap();
    task.checkpoint(Mark::new().label("one")).unwrap();
    task.append(Message::text("user", "and more")).unwrap();
    let point = engine.point("essay@one").unwrap();
    let task = engine.restore(&point).run().unwrap();
    task.append(Message::text("user", "better")).unwrap();
    given(&engine, false)
}

/// Returns the error of a changed export; asserts that nothing of it was imported.
fn refused(change: impl FnOnce(&mut Vec<Given>)) -> Error {
    let mut all = some();
    change(&mut all);
    let engine = Engine::in_memory(Options::default()).unwrap();
    let error = import(&engine, &all).unwrap_err();
    assert_eq!(engine.transfer().export(true).unwrap().tasks().unwrap(), [""; 0]);
    assert_clean(&engine);
    println!("{error}");
    error
}

fn event(all: &mut [Given], lineage: u32, offset: Offset) -> &mut milepost::transfer::ExportEvent {
    let log = LogKind::Lineage(LineageId(lineage));
    let wanted = |one| match one {
        &mut Given::Event(ref mut event) if (event.log, event.offset) == (log, offset) => {
            Some(event)
        }
        _ => None,
    };
    all.iter_mut().find_map(wanted).unwrap()
}

fn task(all: &mut [Given]) -> &mut milepost::transfer::ExportTask {
    match &mut all[0] {
        Given::Task(task) => task,
        _ => panic!("no task"),
    }
}

#[test]
fn a_changed_event_is_refused_by_its_place() {
    let error = refused(|all| {
        let said = milepost::Body::from(Message::text("user", "hullo"));
        event(all, 0, 1).body = ExportBody::Inline(said.encode().1);
    });
    assert_eq!(error.kind(), ErrorKind::Diverged);
    let said = error.to_string();
    assert!(said.contains("lineage 0 at offset 1"), "{said}");
}

#[test]
fn another_id_of_a_checkpoint_is_refused() {
    for other in [None, Some(milepost::CheckpointId([7; 32]))] {
        let error = refused(|all| event(all, 0, 2).checkpoint = other);
        let said = error.to_string();
        assert!(said.contains("the checkpoint that it marks has the id"), "{said}");
    }
    let error = refused(|all| {
        let id = event(all, 0, 2).checkpoint;
        assert!(id.is_some());
        event(all, 0, 1).checkpoint = id;
    });
    assert!(error.to_string().contains("it marks no checkpoint"), "{error}");
}

#[test]
fn what_is_cut_or_out_of_order_is_refused() {
    refused(|all| all.truncate(all.len() - 1));
    refused(|all| all.truncate(1));
    refused(|all| {
        all.remove(4);
    });
    refused(|all| all.swap(3, 4));
    let error = refused(|all| all.push(all[all.len() - 1].clone()));
    assert!(error.to_string().contains("comes next"), "{error}");
}

#[test]
fn a_lineage_whose_parent_is_said_to_be_dropped_is_refused() {
    let error = refused(|all| {
        let lost = LogKind::Lineage(LineageId(0));
        all.retain(|one| !matches!(one, Given::Event(event) if event.log == lost));
        let task = task(all);
        task.heads.retain(|(log, _)| *log != lost);
        let (origin, head) = (task.origin, task.heads[0].1);
        let dropped = Control::from(Dropped { lineage: LineageId(0) });
        let (kind, payload) = dropped.encode();
        let header = Header { kind, time_us: 1, ..Header::default() }.encode();
        let body = body_hash(&[7; 16], BodyForm::Inline, &payload);
        let chain = Chain::new(origin, LogId::control(TaskNo(1)));
        let hash = chain.next(head.next, &head.hash, &header, &body);
        task.heads[0].1 = Head { next: head.next + 1, hash };
        all.push(Given::Event(ExportEvent {
            log: LogKind::Control,
            offset: head.next,
            header,
            body: ExportBody::Inline(payload),
            salt: Some([7; 16]),
            hash: Some(hash),
            checkpoint: None,
        }));
    });
    assert!(error.to_string().contains("forks from events that are not there"), "{error}");
}

#[test]
fn numbers_that_nothing_could_follow_are_refused() {
    // Without hashes, which would not fit either.
    let mend = |all: &mut Vec<Given>| {
        for one in all {
            if let Given::Event(event) = one {
                event.hash = None;
            }
        }
    };
    for offset in [u64::MAX, u64::MAX - 1, 1 << 63, 5] {
        refused(|all| {
            mend(all);
            event(all, 0, 1).offset = offset;
        });
    }
    let registered = |lineage, parent, epoch| {
        use milepost::events::Control;
        let registered = format!(
            r#"{{"kind":"lineage_registered","lineage":{lineage},"lineage_type":"restore","parent":{parent}}}"#
        );
        let activated = format!(
            r#"{{"kind":"activated","lineage":{lineage},"epoch":{epoch},"cause":"opened"}}"#
        );
        [registered, activated].map(|text| Control::from_json(&text).unwrap().encode())
    };
    let hash = Hash([7; 32]);
    let far = format!(r#"{{"lineage":0,"offset":{},"hash":"{hash}"}}"#, u64::MAX);
    let own = format!(r#"{{"lineage":1,"offset":1,"hash":"{hash}"}}"#);
    let none = "null".to_owned();
    for (lineage, parent, epoch) in [
        (1, &far, 2),
        (1, &own, 2),
        (u32::MAX, &none, 2),
        (u32::MAX - 1, &none, 2),
        (0, &none, 2),
        (1, &none, u64::MAX),
        (9, &none, 2),
    ] {
        refused(|all| {
            mend(all);
            let mut new = registered(lineage, parent, epoch).into_iter();
            for one in all {
                if let Given::Event(event) = one
                    && event.log == LogKind::Control
                    && event.offset >= 2
                {
                    let (_, payload) = new.next().unwrap();
                    event.body = ExportBody::Inline(payload);
                }
            }
        });
    }
}

#[test]
fn a_head_that_is_another_is_refused() {
    refused(|all| task(all).heads[1].1.next += 1);
    refused(|all| task(all).heads[1].1.hash = Hash::ZERO);
    refused(|all| {
        task(all).heads.pop();
    });
    refused(|all| task(all).active = LineageId(0));
    refused(|all| {
        let head = task(all).heads[1].1;
        let lineage = LineageId(0);
        task(all).begins = vec![milepost::events::LineageBegin { lineage, head }];
    });
}

#[test]
fn a_body_that_says_it_was_erased_is_refused_where_nothing_erased_it() {
    let error = refused(|all| {
        let event = event(all, 0, 1);
        let ExportBody::Inline(payload) = &event.body else {
            panic!("{event:?}");
        };
        let form = milepost_codec::BodyForm::Inline;
        let hash = milepost_codec::body_hash(&event.salt.unwrap(), form, payload);
        event.body = ExportBody::Erased(hash);
        event.salt = None;
    });
    // The chain is whole all the same.
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn a_task_that_is_there_is_refused_under_any_name() {
    let all = some();
    let engine = Engine::in_memory(Options::default()).unwrap();
    import(&engine, &all).unwrap();
    let error = import(&engine, &all).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let mut other = all.clone();
    task(&mut other).id = "another".into();
    let error = import(&engine, &other).unwrap_err();
    assert!(error.to_string().contains("as task `essay`"), "{error}");
    engine.start_task("mine", "ana").unwrap();
    let mut other = all;
    task(&mut other).id = "mine".into();
    task(&mut other).origin = milepost::ids::Origin([9; 16]);
    let error = import(&engine, &other).unwrap_err();
    assert!(error.to_string().contains("there is a task `mine`"));
    assert_clean(&engine);
}

#[test]
fn a_deleted_task_may_come_in_again() {
    let all = some();
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    import(&engine, &all).unwrap();
    engine.retention().delete_task("essay").unwrap();
    import(&engine, &all).unwrap();
    assert_eq!(given(&engine, false), all);
    assert_clean(&engine);
    engine.retention().compact(&mut |_| {}).unwrap();
    assert_eq!(given(&engine, false), all);
    assert_clean(&engine);
}
