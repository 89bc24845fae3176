//! What a recorded run becomes: a plan of events and marks, made before anything is written.

use milepost::{Body, Json, MarkStatus, PatchForm, StepStarted, VariablesPatched};

use super::json_object::Object;
use super::list_patch;

/// One thing to record.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// An event.
    Event(Body),
    /// A checkpoint at the end of a step.
    Mark { status: MarkStatus, step: u64 },
}

/// One run, as it goes into one lineage.
#[derive(Debug, Default)]
pub struct Run {
    /// What the lineage is called where the run is not the only one of its task.
    pub description: Option<String>,
    pub items: Vec<Item>,
}

impl Run {
    pub fn event(&mut self, body: impl Into<Body>) {
        self.items.push(Item::Event(body.into()));
    }

    pub fn begin_step(&mut self, step: u64) {
        self.event(StepStarted { step, ..StepStarted::default() });
    }

    pub fn mark(&mut self, step: u64, status: MarkStatus) {
        self.items.push(Item::Mark { status, step });
    }

    /// Sets variables to the fields, each as it is. A merge patch would drop the nulls in them.
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

    /// The size of the largest event's stored body, in bytes.
    pub fn event_max(&self) -> usize {
        let size = |item: &Item| match item {
            Item::Event(body) => body.encode().1.len(),
            Item::Mark { .. } => 0,
        };
        self.items.iter().map(size).max().unwrap_or_default()
    }
}

/// All runs of one task. The first is the root lineage; the others part from those before.
#[derive(Debug)]
pub struct Plan {
    /// What goes behind the task's name, where a file holds several tasks.
    pub suffix: Option<String>,
    pub runs: Vec<Run>,
}

/// How many items two runs share at their beginning.
pub fn common_prefix(a: &[Item], b: &[Item]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
