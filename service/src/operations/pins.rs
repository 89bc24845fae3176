//! Pinned checkpoints.

use milepost::Error;
use milepost::retention::Pin as EnginePin;
use milepost_api::calls::{Pin, Pins, Unpin};
use milepost_api::{Listed, PinForm};

use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

impl Serve for Pins {
    fn serve(self, view: &View<'_>) -> OperationResult<Listed<PinForm>> {
        let form = |pin: EnginePin| {
            let checkpoint = view.query().checkpoint(&pin.checkpoint.to_string())?;
            Ok(forms::pin(pin, checkpoint))
        };
        let items = view
            .retention()
            .pins(&self.task)?
            .into_iter()
            .map(form)
            .collect::<milepost::Result<_>>()?;
        Ok(Listed { items, next: None })
    }
}

impl Serve for Pin {
    fn serve(self, view: &View<'_>) -> OperationResult<PinForm> {
        let checkpoint = view.query().checkpoint(&self.id)?;
        view.retention().pin(&checkpoint.id, self.body.reason.as_deref())?;
        let mut pins = view.retention().pins(&checkpoint.task)?.into_iter();
        let pin = pins.find(|pin| pin.checkpoint == checkpoint.id);
        let removed = || {
            let id = checkpoint.id;
            Error::not_found(format!("the pin of {id} was removed by another command"))
        };
        Ok(forms::pin(pin.ok_or_else(removed)?, checkpoint))
    }
}

impl Serve for Unpin {
    fn serve(self, view: &View<'_>) -> OperationResult<()> {
        Ok(view.retention().unpin(&view.query().checkpoint(&self.id)?.id)?)
    }
}
