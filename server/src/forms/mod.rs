//! JSON requests and answers. Most answers are the forms that clients read.

mod append;
mod location;
mod ranges;
mod stats;

pub(crate) use append::{EventGiven, Line, LineGiven};
pub(crate) use location::location;
pub(crate) use milepost_forms::{
    AppendedForm, Big, BlamedForm, ChangesForm, CheckpointForm, ControlForm, CountsForm,
    ErasedForm, EventAt, EventForm, FileForm, LineageForm, Listed, MovedForm, PinForm, PointForm,
    Problem, RangeForm, RestorePlanForm, RestoredForm, RetentionForm, StateOrPart, StatsForm,
    TaskForm, TaskStatsForm, UserForm, VerifyForm, big_or_none,
};
pub(crate) use ranges::{item, line};
pub(crate) use stats::page_of;
