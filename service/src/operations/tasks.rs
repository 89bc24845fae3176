//! Tasks and their lineages.

use milepost::query::TaskQuery as EngineQuery;
use milepost_api::calls::{Lineages, Summary, Task, TaskQuery, Tasks};
use milepost_api::{LineageForm, Listed, SummaryForm, TaskForm};

use super::{PAGE, PAGE_MAX, page_size};
use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

impl Serve for Tasks {
    fn serve(self, view: &View<'_>) -> OperationResult<Listed<TaskForm>> {
        let TaskQuery { user, prefix, limit, cursor } = self.query;
        let user = view.asks_about(user)?;
        let limit = Some(page_size(limit, PAGE, PAGE_MAX)?);
        let page = view.tasks(&EngineQuery { user, prefix, limit, cursor })?;
        Ok(forms::page(page, forms::task))
    }
}

impl Serve for Task {
    fn serve(self, view: &View<'_>) -> OperationResult<TaskForm> {
        Ok(forms::task(view.task(&self.task)?.info()?))
    }
}

impl Serve for Summary {
    fn serve(self, view: &View<'_>) -> OperationResult<SummaryForm> {
        Ok(forms::summary(view.summary(&self.task)?))
    }
}

impl Serve for Lineages {
    fn serve(self, view: &View<'_>) -> OperationResult<Listed<LineageForm>> {
        let lineages = view.task(&self.task)?.lineages()?;
        Ok(Listed { items: lineages.into_iter().map(forms::lineage).collect(), next: None })
    }
}
