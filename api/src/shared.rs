//! Shapes that all routes share: lists and errors.

// tidy: two structures that belong to no family of routes
use std::borrow::Cow;

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, FilesForm, Remedy};

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Listed<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The cursor of the next page; `null` on the last page.
    pub next: Option<String>,
}

/// Problem details by RFC 9457.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Problem {
    /// `https://milepost.dev/problems/KIND`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind, in words.
    pub title: Cow<'static, str>,
    /// The status of the answer.
    pub status: u16,
    /// The cause, and the next step.
    pub detail: String,
    /// The id of the request.
    pub instance: String,
    /// The actual head, if the request expected another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Big>,
    /// The next step, if it is more than the kind says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// The plan of a refused restore with a folder, with its conflicts, and the recovery that came
    /// first. The error of a job leaves it out: the job has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<FilesForm>>,
}
