//! The moment that a call began, and its end.

use super::call::{Call, Done, Failed};
use super::judge::{Answer, judge};
use super::model::Model;

/// The moment that a call began.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    pub id: u64,
    /// Checkpoints that had been marked.
    before: u64,
    /// Tasks that had the name of its task.
    generation: u32,
}

impl Begun {
    /// A call begins.
    pub fn now(model: &mut Model, call: &Call) -> Self {
        let generation = call.task().and_then(|name| model.tasks.get(name));
        Self {
            generation: generation.map_or(0, |task| task.generation),
            before: model.marked,
            id: model.begin(*call != Call::Drain),
        }
    }

    /// Ends the call.
    pub fn end(
        self,
        model: &mut Model,
        call: &Call,
        got: &Result<Done, Failed>,
        counted: bool,
    ) -> Result<(), String> {
        let crossed = model.end(self.id);
        let now = call.task().and_then(|name| model.tasks.get(name));
        // Calls that crossed earlier may have made another lineage active.
        let crossed = crossed || now.is_some_and(|task| task.loose.is_some());
        let now = now.map_or(0, |task| task.generation);
        if crossed && now != self.generation {
            // Another task has its name by now.
            return Ok(());
        }
        let answer = Answer { call, got, crossed, before: self.before, counted };
        judge(model, &answer)
    }
}
