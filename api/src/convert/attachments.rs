//! Conversions of attached data.

// tidy: two conversions

use milepost::events::Attachment;

use crate::AttachmentForm;

impl From<Attachment> for AttachmentForm {
    fn from(attachment: Attachment) -> Self {
        let Attachment { writer, index, name, data, .. } = attachment;
        Self { writer, index, name, data }
    }
}

impl From<AttachmentForm> for Attachment {
    fn from(form: AttachmentForm) -> Self {
        Self::new(form.writer, form.index, form.data).name(form.name)
    }
}
