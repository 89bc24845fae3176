//! Comparison of every answer of the engine with the model.

use super::*;

impl World {
    /// Compares a part of a lineage: events of a range, and the state at its end.
    pub fn check_range(&self, task: usize, lineage: u8, from: u16, to: u16, state: bool) {
        let model = &self.model.tasks[task];
        let lineage = usize::from(lineage) % model.lineages.len();
        let history = model.history(lineage);
        let len = history.len() as u64 + 1;
        let (a, b) = (u64::from(from) % len, u64::from(to) % len);
        let (from, to) = (a.min(b), a.max(b));
        let handle = self.handles[task][0].0.lineage_named(LineageId(lineage as u32));
        let handle = handle.unwrap();
        let read: Vec<_> = handle.read(from..to).unwrap().map(|e| e.unwrap()).collect();
        assert_eq!(read, &history[from as usize..to as usize]);
        assert_eq!(handle.read(len..).unwrap_err().kind(), ErrorKind::Invalid, "past the head");
        if state {
            self.check_state(task, lineage, to);
        }
    }

    fn check_state(&self, task: usize, lineage: usize, offset: u64) {
        let model = &self.model.tasks[task];
        let point = format!("{}/{lineage}@{offset}", model.name);
        let state = self.engine.run_state(&self.engine.point(&point).unwrap());
        let (state, folded) = (state.unwrap(), model.state(lineage, offset, &self.chunks));
        assert_eq!(state, folded, "I5: {point}");
        let bytes = |state| RunReducer.encode(state).unwrap();
        assert_eq!(bytes(&state), bytes(&folded), "I5: {point}");
    }

    /// Compares everything.
    pub fn check(&mut self) {
        for task in 0..self.model.tasks.len() {
            self.check_task(task);
        }
        self.check_lists();
        let report = self.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(report.checkpoints, self.model.marks.len() as u64);
        let lineages = self.model.tasks.iter().map(|t| t.lineages.len() as u64);
        assert_eq!(report.lineages, lineages.sum::<u64>());
        assert_eq!(report.tasks, self.model.tasks.len() as u64);
    }

    fn check_task(&mut self, task: usize) {
        let model = &self.model.tasks[task];
        let handle = self.engine.task(&model.name).unwrap();
        assert_eq!(handle.user(), model.user);
        assert_eq!(handle.epoch(), model.epoch());
        assert_eq!(handle.lineage().id().0 as usize, model.active());
        let infos = handle.lineages().unwrap();
        assert_eq!(infos.len(), model.lineages.len());
        for (n, info) in infos.iter().enumerate() {
            let lineage = &model.lineages[n];
            assert_eq!(info.id.0 as usize, n);
            assert_eq!(info.lineage_type, lineage.lineage_type);
            assert_eq!(info.description, lineage.description);
            assert_eq!(info.active, n == model.active());
            assert_eq!(info.events as usize, lineage.events.len());
            assert_eq!(info.head.next, model.head(n), "I2");
            let parent = info.parent.map(|p| (p.lineage.0 as usize, p.offset));
            assert_eq!(parent, lineage.parent);
            let named = handle.lineage_named(info.id).unwrap();
            let history = model.history(n);
            let read: Vec<_> = named.read(..).unwrap().map(|e| e.unwrap()).collect();
            assert_eq!(read.len(), history.len(), "I2: dense");
            assert_eq!(read, history);
            for (offset, hash) in &lineage.hashes {
                let point = named.point(*offset).unwrap();
                assert_eq!(self.engine.hash_at(&point).unwrap(), *hash, "I3: {point}");
            }
            self.check_addresses(task, n);
            self.check_state(task, n, model.head(n));
            let last = named.last_successful().unwrap().map(|c| c.id);
            assert_eq!(last, self.model.last_successful(task, n));
        }
        for (n, info) in infos.iter().enumerate() {
            note(&mut self.model.tasks[task].lineages[n], info.head);
        }
    }

    fn check_addresses(&self, task: usize, lineage: usize) {
        let model = &self.model.tasks[task];
        let name = format!("{}/{lineage}", model.name);
        let head = model.head(lineage);
        assert_eq!(self.engine.point(&name).unwrap().offset, head);
        let past = self.engine.point(&format!("{name}@{}", head + 1));
        assert_eq!(past.unwrap_err().kind(), ErrorKind::Invalid);
        let marks = self.model.marks_of(task, lineage);
        for (n, mark) in marks.iter().enumerate() {
            let point = self.engine.point(&format!("{name}~{}", n + 1)).unwrap();
            assert_eq!((point.offset, point.checkpoint), (mark.at, Some(mark.id)));
        }
        let more = self.engine.point(&format!("{name}~{}", marks.len() + 1));
        assert_eq!(more.unwrap_err().kind(), ErrorKind::NotFound);
        for label in 0..4 {
            let text = format!("label/{label}@");
            let newest = marks.iter().find(|m| m.body.label.as_deref() == Some(text.as_str()));
            let found = self.engine.point(&format!("{name}@label%2F{label}%40"));
            match newest {
                Some(mark) => assert_eq!(found.unwrap().checkpoint, Some(mark.id)),
                None => assert_eq!(found.unwrap_err().kind(), ErrorKind::NotFound),
            }
        }
        if lineage == model.active() {
            let whole = self.engine.point(&model.name).unwrap();
            assert_eq!((whole.lineage.0 as usize, whole.offset), (lineage, head));
        }
    }

    fn check_lists(&self) {
        for mark in &self.model.marks {
            let found = self.engine.query().checkpoint(&mark.id.to_string()).unwrap();
            check_mark(&found, mark);
            let name = &self.model.tasks[mark.task].name;
            assert_eq!(found.task, *name);
        }
        let all = CheckpointQuery::default;
        let mut queries = vec![all()];
        for status in [MarkStatus::Success, MarkStatus::Failure] {
            queries.push(CheckpointQuery { status: Some(status), ..all() });
        }
        for n in 0..3 {
            queries.push(CheckpointQuery { filter: vec![("n".into(), n.into())], ..all() });
        }
        for task in &self.model.tasks {
            queries.push(CheckpointQuery { task: Some(task.name.clone()), ..all() });
            queries.push(CheckpointQuery {
                task: Some(task.name.clone()),
                lineage: Some(LineageId(0)),
                ..all()
            });
        }
        for query in queries {
            let wanted: Vec<_> = self
                .model
                .marks
                .iter()
                .rev()
                .filter(|mark| self.fits(mark, &query))
                .map(|mark| mark.id)
                .collect();
            for limit in [1, 3, 100] {
                let limited = CheckpointQuery { limit: Some(limit), ..query.clone() };
                assert_eq!(self.all_pages(limited, limit), wanted, "{query:?}");
            }
        }
    }

    fn all_pages(&self, mut query: CheckpointQuery, limit: usize) -> Vec<milepost::CheckpointId> {
        let mut found = Vec::new();
        loop {
            let Page { items, next } = self.engine.query().checkpoints(&query).unwrap();
            assert!(items.len() <= limit);
            found.extend(items.iter().map(|c| c.id));
            query.cursor = next;
            if query.cursor.is_none() {
                return found;
            }
        }
    }

    fn fits(&self, mark: &MarkModel, query: &CheckpointQuery) -> bool {
        let name = &self.model.tasks[mark.task].name;
        let metadata = mark.body.metadata.as_ref().map(|m| m.value().unwrap());
        let metadata = metadata.unwrap_or_default();
        query.task.as_ref().is_none_or(|task| task == name)
            && query.lineage.is_none_or(|only| only.0 as usize == mark.lineage)
            && query.status.is_none_or(|status| status == mark.body.status)
            && query.filter.iter().all(|(name, value)| metadata.get(name) == Some(value))
    }
}

pub(super) fn check_mark(found: &Checkpoint, mark: &MarkModel) {
    assert_eq!(found.id, mark.id);
    assert_eq!(found.lineage.0 as usize, mark.lineage);
    assert_eq!((found.mark, found.at), (mark.mark, mark.at));
    assert_eq!(found.parent, mark.body.parent, "the newest mark before it");
    assert_eq!(found.label, mark.body.label);
    assert_eq!(found.status, mark.body.status);
    assert_eq!(found.metadata, mark.body.metadata);
    if let Some(at) = mark.body.at {
        assert_eq!(found.hash, at.hash);
    }
}
