//! Appends.

use milepost_api::{AppendedForm, BranchedForm, MarkRequest};
use milepost_codec::Body;
use serde::Serialize;

use crate::client::Client;
use crate::conditions::Conditions;
use crate::error::{Error, Result};
use crate::request::ApiRequest;
use crate::retry::RetryRule;

const LINES: &str = "application/x-ndjson";

/// Events to append together: all or none, in one commit.
///
/// ```
/// use milepost_client::Append;
/// use milepost_client::api::MarkRequest;
/// use milepost_client::codec::{Body, Message, StepStarted};
///
/// let one = Append::from(Message::text("user", "hello")).key("request-17");
/// let two: [Body; 2] = [StepStarted { step: 1, ..Default::default() }.into(),
///                       Message::text("assistant", "hi").into()];
/// let mark = MarkRequest { label: Some("one".into()), ..MarkRequest::default() };
/// let batch = Append::batch(two).expect_head(5).mark(mark);
/// # let _ = (one, batch);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Append {
    bodies: Vec<Body>,
    /// The keys of the events, if each has its own.
    keys: Vec<String>,
    mark: Option<MarkRequest>,
    lineage: Option<u32>,
    work: Work,
    conditions: Conditions,
}

/// Facts about the work, for the service's policy of checkpoints.
#[derive(Debug, Clone, Default)]
struct Work {
    touched: Option<u64>,
    destructive: Option<bool>,
    asked: Option<bool>,
    policy: Option<String>,
}

impl Append {
    /// Creates an append of 1 to 10,000 events. In a batch, a JSON value that spans several lines
    /// is joined into one line; a single event is sent verbatim.
    pub fn batch<B: Into<Body>>(bodies: impl IntoIterator<Item = B>) -> Self {
        Self { bodies: bodies.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Creates an append of 1 to 10,000 events that each have an idempotency key, 1 to 1,024 bytes.
    /// Events whose key the lineage has already are left out, and the others are appended, all in
    /// one commit: [`AppendedForm::events`] has the place of each. A key of the append is refused.
    ///
    /// ```
    /// use milepost_client::Append;
    /// use milepost_client::codec::Message;
    ///
    /// let lines = [("8f14", "one"), ("c9f0", "two")];
    /// let append = Append::each_keyed(lines.map(|(id, text)| (id, Message::text("user", text))));
    /// # let _ = append;
    /// ```
    pub fn each_keyed<K: Into<String>, B: Into<Body>>(
        events: impl IntoIterator<Item = (K, B)>,
    ) -> Self {
        let events = events.into_iter().map(|(key, body)| (key.into(), body.into()));
        let (keys, bodies) = events.unzip();
        Self { keys, bodies, ..Self::default() }
    }

    /// Returns the request under the conditions. Keys of its events are conditions enough.
    fn on(&self, conditions: &Conditions, request: ApiRequest) -> Result<ApiRequest> {
        match self.keys.is_empty() {
            true => conditions.on(request),
            false => Ok(conditions.add_explicit(request)?.retry(RetryRule::Always)),
        }
    }

    /// Sets an idempotency key: see [`Conditions::key`].
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.conditions = self.conditions.key(key);
        self
    }

    /// Requires the lineage's head to be `head`: see [`Conditions::expect_head`].
    #[must_use]
    pub fn expect_head(mut self, head: u64) -> Self {
        self.conditions = self.conditions.expect_head(head);
        self
    }

    /// Marks a checkpoint after the events, in the same commit.
    #[must_use]
    pub fn mark(mut self, mark: MarkRequest) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Sets the lineage to append to. Default: the active lineage.
    #[must_use]
    pub fn lineage(mut self, lineage: u32) -> Self {
        self.lineage = Some(lineage);
        self
    }

    /// Reports the number of files that the work touched, or is about to touch, to the service's
    /// policy of checkpoints.
    #[must_use]
    pub fn touched(mut self, files: u64) -> Self {
        self.work.touched = Some(files);
        self
    }

    /// Reports to the service's policy of checkpoints that the work destroys something.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.work.destructive = Some(true);
        self
    }

    /// Reports to the service's policy of checkpoints that the user asks for one.
    #[must_use]
    pub fn asked(mut self) -> Self {
        self.work.asked = Some(true);
        self
    }

    /// Sets the policy of checkpoints for this append: `steps`, `steps:N`, `phases`, `risk` or
    /// `never`. Default: that of the service.
    #[must_use]
    pub fn policy(mut self, name: impl Into<String>) -> Self {
        self.work.policy = Some(name.into());
        self
    }

    /// Sets the request's body to the events.
    fn in_body(&self, request: ApiRequest) -> Result<ApiRequest> {
        let endpoint = request.method_and_path();
        let invalid = |error: serde_json::Error| Error::invalid(&endpoint, error.to_string());
        if let [body] = self.bodies.as_slice() {
            return request.json(&AppendBody::of(body, self.keys.first(), self.mark.as_ref()));
        }
        let mut lines = Vec::new();
        let mut keys = self.keys.iter();
        for body in &self.bodies {
            let event = AppendBody::of(body, keys.next(), None);
            let line = serde_json::to_vec(&event).map_err(invalid)?;
            // JSON has raw newlines only between tokens; in strings they are escaped.
            lines.extend(line.into_iter().map(|byte| match byte {
                b'\n' => b' ',
                byte => byte,
            }));
            lines.push(b'\n');
        }
        if let Some(mark) = &self.mark {
            let line = serde_json::to_vec(&MarkLine { mark }).map_err(invalid)?;
            lines.extend(line.into_iter().filter(|byte| *byte != b'\n'));
        }
        Ok(request.body(LINES, lines))
    }
}

impl<B: Into<Body>> From<B> for Append {
    fn from(body: B) -> Self {
        Self::batch([body])
    }
}

/// An event in a request.
#[derive(Serialize)]
struct AppendBody<'a> {
    kind: &'static str,
    body: &'a Body,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<&'a MarkRequest>,
}

impl<'a> AppendBody<'a> {
    fn of(body: &'a Body, key: Option<&'a String>, mark: Option<&'a MarkRequest>) -> Self {
        let kind = body.kind_name();
        Self { kind, body, key, mark }
    }
}

/// The last line of a batch.
#[derive(Serialize)]
struct MarkLine<'a> {
    mark: &'a MarkRequest,
}

impl Client {
    /// Appends events. They are durable when this returns, and retries append them once: see
    /// [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `Conflict`: the head is a different one ([`Error::head`]), the key was used for other
    /// events, or another lineage was activated. `Invalid`: no events, too many, or events of a
    /// kind that only the engine writes. `Transport`, `Timeout`, `Unavailable`: the outcome is
    /// unknown; with a key of your own, retry with that key.
    pub async fn append(&self, task: &str, append: impl Into<Append>) -> Result<AppendedForm> {
        let append = append.into();
        let request = self.request(reqwest::Method::POST, ["v1", "tasks", task, "events"])?;
        let request = request.query("lineage", append.lineage);
        let Work { touched, destructive, asked, policy } = &append.work;
        let request = request.query("touched", *touched).query("destructive", *destructive);
        let request = request.query("asked", *asked).query("policy", policy.as_deref());
        let request = append.in_body(append.on(&append.conditions, request)?)?;
        request.read().await
    }

    /// Opens a new lineage at a point and appends events to it, with the checkpoint of the append,
    /// in one commit. The active lineage stays the same. With the same key one lineage is opened at
    /// the point; retries have a key. The lineage, head and work of the append do not count.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point, or retention removed it. `Conflict`: the key was used for other
    /// events. Others as [`Client::append`] and [`Branch`](milepost_api::calls::Branch).
    pub async fn append_branch(
        &self,
        address: &str,
        description: Option<&str>,
        append: impl Into<Append>,
    ) -> Result<BranchedForm> {
        let append = append.into();
        let conditions = Conditions { head: None, ..append.conditions.clone() };
        let path = ["v1", "points", address, "events"];
        let request = self.request(reqwest::Method::POST, path)?;
        let request = request.query("description", description);
        append.in_body(append.on(&conditions, request)?)?.read().await
    }
}
