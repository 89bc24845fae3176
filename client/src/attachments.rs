//! Data attached to checkpoints by their aliases.

// tidy: one method, whose retry depends on its arguments

use milepost_api::{AttachRequest, AttachedForm, AttachmentForm};
use reqwest::Method;

use crate::client::Client;
use crate::error::Result;
use crate::retry::RetryRule;

impl Client {
    /// Attaches data to the checkpoint that has an alias, whether it is marked already or later. An
    /// attachment whose writer and index exist already is left out, so that a repeated call does
    /// nothing. With a negative index the last one counts: such a call is retried only if no
    /// connection was made.
    ///
    /// # Errors
    ///
    /// `Invalid`: the alias is empty, over 1024 bytes, or has a control character. `NotFound`: no
    /// such task.
    pub async fn attach(
        &self,
        task: &str,
        alias: &str,
        attachments: Vec<AttachmentForm>,
    ) -> Result<AttachedForm> {
        let is_repeatable = attachments.iter().all(|one| one.index >= 0);
        let asked = AttachRequest { alias: alias.to_owned(), attachments };
        let request = self.request(Method::POST, ["v1", "tasks", task, "attachments"])?;
        let request = request.json(&asked)?;
        match is_repeatable {
            true => request.retry(RetryRule::Always).read().await,
            false => request.read().await,
        }
    }
}
