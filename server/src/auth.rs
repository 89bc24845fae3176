//! The caller of a request and the caller's rights.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use blake3::Hash;
use milepost::{Engine, Result};
use milepost_service::{Shown, View};

use crate::error::ApiError;
use crate::sessions::{Basis, Session, Sessions};
use crate::tokens::{Current, Refused, TokenInfo, TokenLimits, Tokens};

/// The user of a store without tokens.
const LOCAL: &str = "local";

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) user: Arc<str>,
    pub(crate) admin: bool,
    /// The token's id; `None` if no tokens exist.
    pub(crate) token: Option<String>,
    pub(crate) limits: Arc<TokenLimits>,
    /// The time when the token or the session expires.
    pub(crate) expires_us: Option<u64>,
    /// The digest of the session, if the request has one.
    pub(crate) session: Option<Hash>,
}

/// A request without a valid token.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// The id of an existing token, and the reason for the refusal, for the log.
    pub(crate) token: Option<String>,
    pub(crate) why: Option<Refused>,
}

impl Caller {
    /// Returns the caller of a store without tokens, who has all rights.
    pub(crate) fn local() -> Self {
        let user = LOCAL.into();
        let limits = Arc::default();
        Self { user, admin: true, token: None, limits, expires_us: None, session: None }
    }

    /// Returns the caller with a token.
    fn with_token(info: TokenInfo) -> Self {
        Self {
            user: info.user.into(),
            admin: info.admin,
            token: Some(info.id),
            limits: info.limits.into(),
            expires_us: info.expires_us,
            session: None,
        }
    }

    /// Returns the caller with a session, unless the source of its rights has ended.
    fn with_session(session: Session, tokens: &Current, now_us: u64) -> Option<Self> {
        let caller = match session.basis {
            Basis::Token(id) => Self::with_token(tokens.info(&id, now_us)?),
            Basis::Open if !tokens.is_empty() => return None,
            Basis::Open | Basis::Code => Self::local(),
        };
        let (expires_us, session) = (Some(session.expires_us), Some(session.digest));
        Some(Self { expires_us, session, ..caller })
    }

    /// Returns the id of the token; the empty text for all callers without tokens.
    pub(crate) fn of_token(&self) -> &str {
        self.token.as_deref().unwrap_or_default()
    }

    /// Identifies the caller by the request's headers.
    pub(crate) fn of(
        tokens: &Tokens,
        sessions: &Sessions,
        headers: &HeaderMap,
        now_us: u64,
    ) -> Result<std::result::Result<Self, Unknown>> {
        let tokens = tokens.current()?;
        let given = bearer(headers);
        let session = given.and_then(|text| sessions.find(text, now_us));
        let caller = session.and_then(|session| Self::with_session(session, &tokens, now_us));
        if let Some(caller) = caller {
            return Ok(Ok(caller));
        }
        if tokens.is_empty() && !sessions.are_required() {
            return Ok(Ok(Self::local()));
        }
        let Some(token) = given else {
            return Ok(Err(Unknown { token: None, why: None }));
        };
        Ok(match tokens.check(token, now_us) {
            Ok(info) => Ok(Self::with_token(info)),
            Err(why) => {
                // The text of an unknown token is not logged.
                let known = why != Refused::Unknown;
                let id = token.split('_').nth(1).filter(|_| known);
                Err(Unknown { token: id.map(str::to_owned), why: Some(why) })
            }
        })
    }

    /// Returns the engine as the caller sees it: all of it for an admin, own tasks for a user, a
    /// single task for a token with that limit.
    pub(crate) fn view<'a>(&'a self, engine: &'a Engine) -> View<'a> {
        View::new(engine, self.sees(), self.limits.task.as_deref())
    }

    /// Returns the tasks that the caller may see of a user, or of all, with a prefix.
    pub(crate) fn shown(
        &self,
        user: Option<String>,
        prefix: Option<String>,
    ) -> std::result::Result<Shown, ApiError> {
        let user = self.asks_about(user)?;
        Ok(Shown { user, prefix, only: self.limits.task.clone() })
    }

    /// Returns the user whose tasks the caller sees; `None` for all users.
    pub(crate) fn sees(&self) -> Option<&str> {
        (!self.admin).then_some(&self.user)
    }

    /// Returns true if the caller's session or token is still valid.
    pub(crate) fn is_still(&self, tokens: &Tokens, sessions: &Sessions, now_us: u64) -> bool {
        let Ok(tokens) = tokens.current() else {
            return false;
        };
        match (&self.session, &self.token) {
            (Some(session), _) => {
                let session = sessions.get(session, now_us);
                session.and_then(|it| Self::with_session(it, &tokens, now_us)).is_some()
            }
            (None, Some(id)) => tokens.info(id, now_us).is_some(),
            (None, None) => tokens.is_empty(),
        }
    }

    /// Returns the user that a request asks about. `None` means all users, for admins only. The
    /// user's existence is not checked.
    pub(crate) fn asks_about(
        &self,
        user: Option<String>,
    ) -> std::result::Result<Option<String>, ApiError> {
        match (self.sees(), user) {
            (Some(own), Some(user)) if own != user => {
                Err(ApiError::Forbidden("what others have is for admins"))
            }
            (Some(own), _) => Ok(Some(own.to_owned())),
            (None, user) => Ok(user),
        }
    }

    /// Checks that the token may use a route. `changes`: the route changes something.
    pub(crate) fn may(&self, route: &str, changes: bool) -> std::result::Result<(), ApiError> {
        if changes && self.limits.read_only {
            return Err(ApiError::Forbidden("the token is read-only"));
        }
        let of_a_task = ["/v1/tasks", "/v1/points", "/v1/checkpoints", "/v1/restores"];
        let of_a_task = |route: &str| of_a_task.iter().any(|begin| route.starts_with(begin));
        let one = of_a_task(route.strip_prefix("/api").unwrap_or(route));
        let own = route == "/v1/me" || route.starts_with("/v1/sessions");
        match self.limits.task.is_some() && !one && !own {
            true => Err(ApiError::Forbidden("the token is for one task")),
            false => Ok(()),
        }
    }

    /// Checks that the caller is an admin, and the token not limited to a task.
    pub(crate) fn is_admin(&self, wanted: &'static str) -> std::result::Result<(), ApiError> {
        match self.admin && self.limits.task.is_none() {
            true => Ok(()),
            false => Err(ApiError::Forbidden(wanted)),
        }
    }
}

/// Returns the token of a request with one `Authorization` header of the scheme `Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (one, more) = (given.next()?, given.next());
    let (scheme, token) = one.to_str().ok()?.split_once(' ')?;
    (more.is_none() && scheme.eq_ignore_ascii_case("bearer")).then(|| token.trim())
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Self, ApiError> {
        parts.extensions.get().cloned().ok_or(ApiError::Unauthorized)
    }
}
