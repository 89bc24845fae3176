//! Lists.

use milepost::Page;
use serde::Serialize;
use utoipa::ToSchema;

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    /// The cursor of the next page; `null` where this is the last.
    pub(crate) next: Option<String>,
}

impl<T> Listed<T> {
    pub(crate) fn of<I>(page: Page<I>, form: impl FnMut(I) -> T) -> Self {
        Self {
            items: page.items.into_iter().map(form).collect(),
            next: page.next,
        }
    }
}
