//! Imports that were killed, and done again.

use super::*;

/// Makes a store as an import leaves it that is killed behind the events of its last checkpoint,
/// before the mark of it.
fn killed_before_the_last_mark(from: &Place, to: &Place) {
    let options = || Options::default().snapshots(false);
    let done = Engine::open(from.store(), options()).unwrap();
    let killed = Engine::open(to.store(), options()).unwrap();
    let task = done.task("exec-001").unwrap();
    let copy = killed.start_task("exec-001", task.user()).unwrap();
    let events: Vec<_> = task.read(1..).unwrap().map(Result::unwrap).collect();
    let last = events.len() - 1;
    let mut at = 0;
    while at < last {
        let header = &events[at].header;
        if let Some(Body::CheckpointMarked(body)) = &events[at].body {
            let mark = Mark::new()
                .cause(MarkCause::Imported)
                .status(MarkStatus::Success)
                .time_us(header.time_us)
                .alias(body.aliases[0].as_str());
            copy.checkpoint(mark).unwrap();
            at += 1;
            continue;
        }
        let count = header.batch as usize;
        let bodies = events[at..at + count].iter();
        let append = Append::batch(bodies.map(|event| event.body.clone().unwrap()))
            .key(header.key.clone().unwrap())
            .actor("import")
            .time_us(header.time_us);
        copy.append(append).unwrap();
        at += count;
    }
    drop(copy);
    drop(task);
    done.close().unwrap();
    killed.close().unwrap();
}

#[test]
fn an_import_that_was_killed_before_a_mark_makes_the_mark_alone() {
    for more in [false, true] {
        let whole = place(3);
        whole.say("import old").ok();
        let killed = place(3);
        killed_before_the_last_mark(&whole, &killed);
        if more {
            // The task has grown since: the mark is not at the head any more.
            let said = "{\"kind\":\"message\",\"role\":\"user\"}\n";
            killed.write("exec-001.jsonl", said);
            killed.say("record exec-001.jsonl").ok();
        }
        let before = killed.lines("log exec-001");
        let said = killed.json("import old");
        assert_eq!(counts(&said["tasks"][0]), [0, 1, 2], "more: {more}");
        let after = killed.lines("log exec-001");
        assert_eq!(after[..before.len()], before);
        assert_eq!(after.len(), before.len() + 1, "one mark");
        let mark = &killed.items("checkpoints exec-001")[0];
        assert_eq!(mark["aliases"], json!(["ckpt-exec-001-2"]));
        assert_eq!(mark["at"], 18);
        assert_eq!(counts(&killed.json("import old")["tasks"][0]), [0, 0, 3]);
        for step in 0..3 {
            assert_state(&killed, &checkpoint("exec-001", step));
        }
    }
}

#[test]
fn events_that_were_appended_before_a_kill_are_not_appended_again() {
    // Nothing changes from step to step, so the same events would be made for a step once more.
    let calm = |step| {
        let mut file = checkpoint("exec-001", step);
        for name in ["state", "context", "variables"] {
            file[name] = json!({"same": null});
        }
        file
    };
    let (whole, killed) = (place(0), place(0));
    for step in 0..3 {
        save(&whole.path("old"), &calm(step));
        save(&killed.path("old"), &calm(step));
    }
    whole.say("import old").ok();
    killed_before_the_last_mark(&whole, &killed);
    assert_eq!(counts(&killed.json("import old")["tasks"][0]), [0, 1, 2]);
    assert_eq!(killed.lines("log exec-001").len(), 13);
}

#[test]
fn a_file_that_changed_behind_a_kill_is_not_marked_as_what_it_was() {
    let whole = place(2);
    whole.say("import old").ok();
    let killed = place(2);
    killed_before_the_last_mark(&whole, &killed);
    let mut changed = checkpoint("exec-001", 1);
    changed["variables"] = json!({"rows": "others"});
    save(&killed.path("old"), &changed);
    let ran = killed.say("import old");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("with another content"), "{}", ran.err);
    assert_eq!(killed.ids("checkpoints exec-001").len(), 1);
}
