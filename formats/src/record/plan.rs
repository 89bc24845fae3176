//! The plan of a recorded run: events and marks, made before anything is written.

use milepost::events::{MarkStatus, PatchForm, StepStarted, VariablesPatched};
use milepost::{Body, Json};

use super::list_patch;
use crate::json_object::Object;

/// An item of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// An event.
    Event(Body),
    /// A checkpoint at the end of a step.
    Mark {
        /// The result of the step.
        status: MarkStatus,
        /// The number of the step.
        step: u64,
    },
}

/// A run, recorded as one lineage.
#[derive(Debug, Default)]
pub struct Run {
    /// Description of the lineage, if the task has several runs.
    pub description: Option<String>,
    /// Its events and marks, in order.
    pub items: Vec<Item>,
}

impl Run {
    /// Adds an event.
    pub fn event(&mut self, body: impl Into<Body>) {
        self.items.push(Item::Event(body.into()));
    }

    /// Adds the beginning of a step.
    pub fn begin_step(&mut self, step: u64) {
        self.event(StepStarted { step, ..StepStarted::default() });
    }

    /// Adds a checkpoint at the end of a step.
    pub fn mark(&mut self, step: u64, status: MarkStatus) {
        self.items.push(Item::Mark { status, step });
    }

    /// Sets variables to the fields by a JSON patch. A merge patch would drop nulls in them.
    pub fn set_variables(&mut self, fields: Object) -> Result<(), String> {
        if fields.is_empty() {
            return Ok(());
        }
        let fields = fields.into_fields().into_iter();
        let patch: Vec<Object> =
            fields.map(|(name, value)| list_patch::set(&name, value)).collect();
        let patch = Json::from_value(&patch).map_err(|error| error.to_string())?;
        let form = PatchForm::Patch;
        self.event(VariablesPatched { form, patch });
        Ok(())
    }

    /// Returns the size of the largest encoded body, in bytes.
    pub fn event_max(&self) -> usize {
        let size = |item: &Item| match item {
            Item::Event(body) => body.encode().1.len(),
            Item::Mark { .. } => 0,
        };
        self.items.iter().map(size).max().unwrap_or_default()
    }
}

/// All runs of one task. The first is the root lineage; each other one branches from an earlier
/// run.
#[derive(Debug)]
pub struct Plan {
    /// Suffix of the task's name, if the file has several tasks.
    pub suffix: Option<String>,
    /// The runs, in order.
    pub runs: Vec<Run>,
}

/// Returns the number of leading items that two runs share.
pub fn common_prefix(a: &[Item], b: &[Item]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
