//! Events for a lineage that retention drops in the same commit.
// tidy: one hazard

use milepost_codec::{Control, Dropped, ErrorKind, Message};

use crate::{Append, Engine, Mark, Options};

#[test]
fn an_append_behind_the_drop_of_its_lineage_is_refused_and_not_lost() {
    for is_checkpoint in [false, true] {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("essay", "ana").unwrap();
        task.append(Message::text("user", "hello")).unwrap();
        let branch = engine.branch(&engine.point("essay@2").unwrap()).run().unwrap();
        branch.append(Message::text("user", "aside")).unwrap();
        let (committer, retention) = (&engine.inner.committer, engine.retention());
        // Both are queued before the leader takes them, so one batch has both.
        let (dropped, appended, elsewhere) = committer.hold(|| {
            let drop = Control::from(Dropped { lineage: branch.id() });
            let dropped = retention.control_request(task.no(), vec![drop]).unwrap();
            let dropped = engine.inner.committer.submit(dropped).unwrap();
            let mut append = Append::from(Message::text("user", "late"));
            if is_checkpoint {
                append = append.mark(Mark::new());
            }
            let appended = branch.submit(append).unwrap();
            let elsewhere = task.submit(Message::text("user", "here")).unwrap();
            (dropped, appended, elsewhere)
        });
        dropped.wait().unwrap();
        assert_eq!(appended.wait().unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(elsewhere.wait().unwrap().first, 2);
        assert_eq!(task.checkpoints().unwrap(), 0);
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.faults.is_empty(), "{:#?}", report.faults);
    }
}
