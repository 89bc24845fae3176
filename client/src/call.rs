//! Operations that are values.

use milepost_api::{AcceptedConditions, Call, Effect, Method, RequestBody};
use serde_json::Value;

use crate::client::Client;
use crate::conditions::Conditions;
use crate::error::Result;
use crate::request::ApiRequest;
use crate::retry::RetryRule;

impl Client {
    /// Performs an operation. A read is repeated if its answer does not arrive, and so is a change
    /// under an idempotency key, which the client makes.
    ///
    /// ```no_run
    /// use milepost_client::Client;
    /// use milepost_client::api::PinRequest;
    /// use milepost_client::calls::{Pin, Pins};
    ///
    /// # async fn keep(client: Client) -> milepost_client::Result<()> {
    /// let reason = Some("the best one".into());
    /// client.call(&Pin::new("0a1b2c3d", PinRequest { reason })).await?;
    /// for pin in client.call(&Pins::new("essay")).await?.items {
    ///     println!("{} {}", pin.checkpoint, pin.reason.unwrap_or_default());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of the operation, and those of a request: [`ErrorKind`](crate::ErrorKind) lists them.
    pub async fn call<C: Call>(&self, call: &C) -> Result<C::Answer> {
        self.call_under(call, &Conditions::default()).await
    }

    /// Performs an operation under conditions: an idempotency key, an expected head. A read ignores
    /// them.
    ///
    /// ```no_run
    /// use milepost_client::api::ControlRequest;
    /// use milepost_client::calls::Control;
    /// use milepost_client::codec::RunControl;
    /// use milepost_client::{Client, Conditions};
    ///
    /// # async fn pause(client: Client) -> milepost_client::Result<()> {
    /// let pause = ControlRequest { to: RunControl::Paused, reason: Some("let me look".into()) };
    /// let conditions = Conditions::new().key("pause-17").expect_head(5);
    /// client.call_under(&Control::new("essay", pause), &conditions).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Client::call`]. `Conflict`: the head is a different one, or the key was used for
    /// another request. `Invalid`: the operation takes no such condition, as a restore with files.
    pub async fn call_under<C: Call>(
        &self,
        call: &C,
        conditions: &Conditions,
    ) -> Result<C::Answer> {
        let request = self.request(method(C::METHOD), call.path())?;
        let query = serde_json::to_value(call.query());
        let mut request = asked(request, C::EFFECT, call.takes(), conditions, query)?;
        if C::BODY != RequestBody::Empty {
            request = request.json(call.body())?;
        }
        request.read().await
    }
}

fn method(of: Method) -> reqwest::Method {
    match of {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}

/// Adds the conditions, the rule of repeats and the query to a request of any operation.
fn asked(
    mut request: ApiRequest,
    effect: Effect,
    takes: AcceptedConditions,
    conditions: &Conditions,
    query: serde_json::Result<Value>,
) -> Result<ApiRequest> {
    request = match effect {
        Effect::Read => request.retry(RetryRule::Always),
        Effect::Change | Effect::Conditional if takes.key => conditions.on(request)?,
        Effect::Change | Effect::Conditional => conditions.add_explicit(request)?,
    };
    for (name, value) in pairs(query.map_err(|error| request.invalid(error.to_string()))?) {
        request = request.query(&name, Some(value));
    }
    Ok(request)
}

/// Returns the parameters of a query: the fields of an object, or a list of pairs.
fn pairs(query: Value) -> Vec<(String, String)> {
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    match query {
        Value::Object(fields) => {
            fields.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect()
        }
        list => serde_json::from_value(list).unwrap_or_default(),
    }
}
