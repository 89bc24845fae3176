//! Operations that an engine in this process does, or another program.

use milepost::events::Attachment;
use milepost::{Append, Body, Engine};
use milepost_api::MarkRequest;
use milepost_client::Client;
use milepost_client::calls::{AliasQuery, Attachments};
use milepost_service::forms;
use pyo3::prelude::*;

use crate::errors::Outcome;
use crate::events;
use crate::ticket::Value;

/// An operation on a store.
pub trait Operation: Send + 'static {
    /// Does it in this process.
    fn here(self, engine: &Engine) -> Outcome<Value>;

    /// Has it done by the program that has the store open.
    fn there(self, client: Client) -> impl Future<Output = Outcome<Value>> + Send + 'static;
}

/// Lineage, idempotency key and expected head of an append.
pub type Conditions = (Option<u32>, Option<String>, Option<u64>);

/// The events of an append, and its conditions.
pub struct Appending {
    bodies: Vec<Body>,
    mark: Option<MarkRequest>,
    pub lineage: Option<u32>,
    key: Option<String>,
    head: Option<u64>,
}

impl Appending {
    pub fn parsed(
        bodies: &[Bound<'_, PyAny>],
        mark: Option<&str>,
        (lineage, key, head): Conditions,
    ) -> PyResult<Self> {
        let mark = mark.map(events::mark).transpose()?;
        Ok(Self { bodies: events::bodies(bodies)?, mark, lineage, key, head })
    }

    pub fn for_engine(self) -> Append {
        let mut append = Append::batch(self.bodies);
        if let Some(mark) = self.mark {
            append = append.mark(forms::mark(mark));
        }
        if let Some(key) = self.key {
            append = append.key(key);
        }
        if let Some(head) = self.head {
            append = append.expect_head(head);
        }
        append
    }

    pub fn for_client(self) -> milepost_client::Append {
        let mut append = milepost_client::Append::batch(self.bodies);
        if let Some(mark) = self.mark {
            append = append.mark(mark);
        }
        if let Some(lineage) = self.lineage {
            append = append.lineage(lineage);
        }
        if let Some(key) = self.key {
            append = append.key(key);
        }
        if let Some(head) = self.head {
            append = append.expect_head(head);
        }
        append
    }
}

/// A new lineage with its first events.
pub struct Branching {
    pub address: String,
    pub description: Option<String>,
    pub appending: Appending,
}

impl Operation for Branching {
    fn here(self, engine: &Engine) -> Outcome<Value> {
        let point = engine.point(&self.address)?;
        let append = self.appending.for_engine();
        let (lineage, appended) =
            engine.branch(&point).description(self.description.as_deref()).append(append)?;
        Ok(Value::Branched(lineage.id().0, appended.into()))
    }

    async fn there(self, client: Client) -> Outcome<Value> {
        let append = self.appending.for_client();
        let branched = client.append_branch(&self.address, self.description.as_deref(), append);
        Ok(branched.await?.into())
    }
}

/// Data for a checkpoint.
pub struct Attaching {
    pub task: String,
    pub alias: String,
    pub attachments: Vec<Attachment>,
}

impl Operation for Attaching {
    fn here(self, engine: &Engine) -> Outcome<Value> {
        let Self { task, alias, attachments } = self;
        Ok(Value::Count(engine.task(&task)?.attach(&alias, attachments)?))
    }

    async fn there(self, client: Client) -> Outcome<Value> {
        let forms = self.attachments.into_iter().map(forms::attachment).collect();
        Ok(Value::Count(client.attach(&self.task, &self.alias, forms).await?.added))
    }
}

/// The data of a checkpoint.
pub struct Attached {
    pub task: String,
    pub alias: String,
}

impl Operation for Attached {
    fn here(self, engine: &Engine) -> Outcome<Value> {
        Ok(Value::Attached(engine.task(&self.task)?.attached(&self.alias)?))
    }

    async fn there(self, client: Client) -> Outcome<Value> {
        let query = AliasQuery { alias: self.alias };
        let listed = client.call(&Attachments::new(self.task, query)).await?;
        Ok(Value::Attached(listed.items.into_iter().map(forms::to_attachment).collect()))
    }
}
