//! Runs: their control, guidance and artifacts.

use milepost::calls::Conditions;
use milepost::events::{ArtifactsEdited, ControlChanged, RunControl};
use milepost::state::transition;
use milepost::{Append, Appended, Error, ErrorKind, Result, Task};
use milepost_api::calls::{Control, EditArtifacts, Guide};
use milepost_api::{AppendedForm, Call, ControlForm, ControlRequest};

use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

/// An operation that only appends to the active lineage of a task.
pub trait Appends: Call<Answer = AppendedForm> {
    /// Returns the id of the task.
    fn task(&self) -> &str;

    /// Returns the length of the texts and values of the request, in bytes.
    fn bytes(&self) -> usize;

    /// Returns the events.
    ///
    /// # Errors
    ///
    /// `Invalid`: the request has nothing to append, or a value that cannot be stored.
    fn append(self) -> Result<Append>;
}

impl<C: Appends> Serve for C {
    fn serve(self, view: &View<'_>) -> OperationResult<AppendedForm> {
        let task = self.task().to_owned();
        let append = self.append()?.conditions(view.conditions());
        Ok(forms::appended(&view.task(&task)?.append(append)?))
    }
}

impl Appends for Guide {
    fn task(&self) -> &str {
        &self.task
    }

    fn bytes(&self) -> usize {
        self.body.text.len() + self.body.target.as_ref().map_or(0, String::len)
    }

    fn append(self) -> Result<Append> {
        Ok(forms::guidance(self.body)?.into())
    }
}

impl Appends for EditArtifacts {
    fn task(&self) -> &str {
        &self.task
    }

    fn bytes(&self) -> usize {
        self.body.0.iter().map(|(name, value)| name.len() + value.text().len()).sum()
    }

    fn append(self) -> Result<Append> {
        if self.body.0.is_empty() {
            return Err(Error::invalid("no artifact is named"));
        }
        Ok(ArtifactsEdited { artifacts: self.body.0 }.into())
    }
}

/// Maximum tries of a change of control while other requests change it.
const TRIES: usize = 8;

impl Serve for Control {
    fn serve(self, view: &View<'_>) -> OperationResult<ControlForm> {
        let repeated =
            change_control(view.conditions(), &view.task(&self.task)?, &self.body)?.repeated;
        Ok(ControlForm { control: self.body.to, repeated })
    }
}

/// Changes the control of a run from its current value, or returns the change already made under
/// the key.
///
/// # Errors
///
/// `Conflict`: there is no such change, or other requests change the control.
pub fn change_control(
    conditions: &Conditions,
    task: &Task,
    asked: &ControlRequest,
) -> Result<Appended> {
    let append = |from| {
        let (to, reason) = (asked.to, asked.reason.clone());
        task.append(Append::from(ControlChanged { from, to, reason }).conditions(conditions))
    };
    for _ in 0..TRIES {
        if is_used(conditions, task)? {
            return repeated(append);
        }
        let from = task.control().now()?;
        if let Err(error) = transition(from, asked.to) {
            // A duplicate of this request may have been first.
            match is_used(conditions, task)? {
                true => continue,
                false => return Err(Error::new(ErrorKind::Conflict, error.to_string())),
            }
        }
        match append(from) {
            // Another request changed the control in between: try again.
            Err(error) if error.kind() == ErrorKind::Invalid && task.control().now()? != from => {}
            done => return done,
        }
    }
    let text = "others change the control all the time: ask again";
    Err(Error::new(ErrorKind::Conflict, text))
}

/// Returns true if an append with the key exists.
fn is_used(conditions: &Conditions, task: &Task) -> Result<bool> {
    match conditions.key_given() {
        Some(key) => Ok(task.lineage().appended_under(key)?.is_some()),
        None => Ok(false),
    }
}

/// Returns the result of the append with the same key. The control before it is unknown, so each
/// value is tried.
fn repeated(append: impl Fn(RunControl) -> Result<Appended>) -> Result<Appended> {
    use RunControl::{Idle, Paused, Running, Stopped};
    for from in [Idle, Running, Paused] {
        match append(from) {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            done => return done,
        }
    }
    append(Stopped)
}
