//! Restores of restores: the depth of a lineage costs nothing that grows with it.

use milepost::events::Message;
use milepost::{Append, Engine, Mark, Options};

#[test]
fn a_lineage_of_many_short_forks_gets_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let mut task = engine.start_task("essay", "ana").unwrap();
    let mut restores = 0;
    // Each lineage has a few hundred bytes of its own. The snapshotter is another thread.
    while engine.store().stats().unwrap().snapshots < 3 {
        let text = format!("{restores} {}", "x".repeat(500));
        task.append(Message::text("user", &text)).unwrap();
        let head = task.head().unwrap().next;
        task = engine.restore(&task.point(head).unwrap()).run().unwrap();
        restores += 1;
        assert!(restores < 20_000, "no snapshot in {restores} restores");
    }
    // A spacing is 64 KiB at least: not each lineage has one.
    let made = engine.store().stats().unwrap().snapshots;
    assert!(made < restores / 10, "{made} snapshots of {restores} lineages");
    let state = engine.run_state(&engine.point("essay").unwrap()).unwrap();
    assert_eq!(state.messages.len(), restores);
}

#[test]
fn keys_labels_and_parents_are_found_through_a_thousand_restores() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let mut task = engine.start_task("essay", "ana").unwrap();
    let pay = || Append::from(Message::text("user", "pay 100 to bob")).key("payment-17");
    let root = task.append(pay()).unwrap();
    let first = task.checkpoint(Mark::new().label("first")).unwrap();
    let second = task.checkpoint(Mark::new().label("second")).unwrap();
    for n in 0..1000 {
        let head = task.head().unwrap().next;
        task = engine.restore(&task.point(head).unwrap()).run().unwrap();
        // Siblings in between, with marks, labels and keys of their own.
        if n % 10 == 0 {
            let branch = engine.branch(&task.point(2).unwrap()).run().unwrap();
            branch.checkpoint(Mark::new().label("first")).unwrap();
            let text = Message::text("user", "of the branch");
            branch.append(Append::from(text).key("payment-18")).unwrap();
        }
    }
    let again = task.append(pay()).unwrap();
    assert!(again.repeated);
    assert_eq!(again.first, root.first);
    let other = Append::from(Message::text("user", "pay 18")).key("payment-18");
    assert!(!task.append(other).unwrap().repeated);
    assert_eq!(engine.point("essay@first").unwrap().checkpoint, Some(first.id));
    let marked = task.checkpoint(Mark::new()).unwrap();
    assert_eq!(marked.parent, Some(second.id));
    // Before the payment its key is free, and after it is not.
    let before = engine.restore(&task.point(root.first).unwrap()).run().unwrap();
    assert!(!before.append(pay()).unwrap().repeated);
    assert!(engine.undo("essay").run().unwrap().append(pay()).unwrap().repeated);
    assert_eq!(task.lineages().unwrap().len(), 1 + 1000 + 100 + 1);
}
