//! Conversions of attached data.

// tidy: two conversions
use milepost::events::Attachment;
use milepost_api::AttachmentForm;

/// Converts data attached to a checkpoint.
pub fn attachment(attachment: Attachment) -> AttachmentForm {
    let Attachment { writer, index, name, data, .. } = attachment;
    AttachmentForm { writer, index, name, data }
}

/// Converts data to attach to a checkpoint.
pub fn to_attachment(form: AttachmentForm) -> Attachment {
    Attachment::new(form.writer, form.index, form.data).name(form.name)
}
