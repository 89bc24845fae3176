//! Points.

// tidy: one operation

use milepost_api::ErasedForm;
use milepost_api::calls::Erase;

use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

impl Serve for Erase {
    fn serve(self, view: &View<'_>) -> OperationResult<ErasedForm> {
        let point = view.point(&self.address)?;
        let event = forms::event(view.event(&point)?.0);
        let erased = ErasedForm::of(&point.task, event);
        if !erased.was_erased {
            view.erase(&point, self.body.reason.as_deref())?;
        }
        Ok(erased)
    }
}
