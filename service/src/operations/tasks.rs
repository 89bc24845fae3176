//! Tasks and their lineages.

use milepost::Error;
use milepost::query::TaskQuery as EngineQuery;
use milepost_api::calls::{DeleteTask, Lineages, StartTask, Summary, Task, TaskQuery, Tasks};
use milepost_api::{LineageForm, Listed, SummaryForm, TaskForm, TaskRequest};

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
        let page = view.query().tasks(&EngineQuery { user, prefix, limit, cursor })?;
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
        Ok(forms::summary(view.query().summary(&self.task)?))
    }
}

impl Serve for Lineages {
    fn serve(self, view: &View<'_>) -> OperationResult<Listed<LineageForm>> {
        let lineages = view.task(&self.task)?.lineages()?;
        Ok(Listed { items: lineages.into_iter().map(forms::lineage).collect(), next: None })
    }
}

impl Serve for StartTask {
    fn serve(self, view: &View<'_>) -> OperationResult<TaskForm> {
        self.body.check()?;
        let TaskRequest { id, user, initial, copy_of } = self.body;
        let user = user.as_deref().or(view.user());
        let user = user.ok_or_else(|| Error::invalid("a task has an owner: name it in `user`"))?;
        let task = match copy_of {
            Some(original) => view.copy_task(&original, &id, user),
            None => view.start_task(&id, user, initial),
        };
        Ok(forms::task(task?.info()?))
    }
}

impl Serve for DeleteTask {
    fn serve(self, view: &View<'_>) -> OperationResult<()> {
        Ok(view.retention().delete_task(&self.task)?)
    }
}
