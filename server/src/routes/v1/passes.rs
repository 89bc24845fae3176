//! The states of all checkpoints of a lineage, in one pass, as JSON lines.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use milepost::calls::Cancel;
use milepost::state::{Chunks, RunReducer, States};
use milepost::{Lineage, LineageId};
use milepost_api::ReadProblems;
use milepost_service::forms;
use milepost_service::operations::{ordered, page_size};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::states::check_messages;
use crate::app::App;
use crate::auth::Caller;
use crate::budget::{TokenBudget, TokenShare};
use crate::buffer::one_line;
use crate::error::ApiError;
use crate::extract::{PathName, Query};
use crate::folds::{COPIED, Folded, UNCOUNTED};
use crate::forms::Big;
use crate::negotiate::{JSON_LINES, choose};
use crate::request_scope::RequestId;
use crate::state_text::StateText;
use crate::stream_body::{self, BUFFER, LONG, Source};

/// The maximum of `limit`, and the most states of one buffer.
const LIMIT_MAX: usize = 1000;
const AT_ONCE: usize = 64;

/// Memory per byte of a state: that of an answer, and the state of the pass.
const HELD: u64 = COPIED + 1;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(checkpoint_states))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StatesQuery {
    /// The first offset of a mark's event. Default: the first readable one.
    from: Option<Big>,
    /// The end offset, exclusive. Default: the head.
    to: Option<Big>,
    /// The maximum number of states: 1 to 1,000. Default: all.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The lineage. Default: the active one.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// Only this many of the last messages and pieces of guidance of each state: 0 to 1,000.
    /// Default: all.
    #[param(maximum = 1000)]
    messages: Option<u64>,
}

/// Returns the checkpoints whose marks are in a range of a lineage's events, including those before
/// its fork, oldest first, each with its state. The states are folded in one pass.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/states",
    operation_id = "states",
    tag = "points",
    params(("task" = String, Path, description = "The task's id"), StatesQuery),
    responses(
        (
            status = 200,
            description = "One object a line: `checkpoint`, `point` and `state`",
            body = String,
            content_type = "application/x-ndjson",
        ),
        ReadProblems,
        (status = 406),
        (status = 413, description = "A part of the first state is too large to be answered whole"),
        (status = 503, description = "States that are looked at hold all bytes that they may"),
    ),
)]
async fn checkpoint_states(
    State(app): State<App>,
    caller: Caller,
    id: RequestId,
    headers: HeaderMap,
    PathName(task): PathName,
    Query(query): Query<StatesQuery>,
) -> Result<Response, ApiError> {
    let kind = choose(&headers, &[JSON_LINES])?;
    let left = match query.limit {
        Some(_) => page_size(query.limit, LIMIT_MAX, LIMIT_MAX)?,
        None => usize::MAX,
    };
    check_messages(query.messages)?;
    let (from, to) = ordered(query.from, query.to)?;
    let (budget, messages) = (app.part(caller.of_token(), &app.budgets.states), query.messages);
    let pass = app.view(&caller, move |view| {
        let task = view.task(&task)?;
        let lineage = match query.lineage {
            Some(id) => task.lineage_named(LineageId(id))?,
            None => task.lineage().clone(),
        };
        let states = lineage.states(&RunReducer, from.unwrap_or(0)..to.unwrap_or(u64::MAX))?;
        Ok((lineage, states, view.chunks()))
    });
    let (lineage, states, chunks) = pass.await?;
    let pass = Pass {
        lineage,
        states,
        chunks,
        messages,
        left,
        text: None,
        held: None,
        is_piece: false,
        budget,
        share: None,
    };
    let body = stream_body::body(&app, &caller, id, pass).await?;
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}

/// The lines of an answer. It holds the state of the pass and that of the current line.
struct Pass {
    lineage: Lineage,
    states: States<'static, RunReducer>,
    chunks: Arc<dyn Chunks>,
    messages: Option<u64>,
    /// The number of further lines.
    left: usize,
    /// The rest of the current line.
    text: Option<StateText>,
    /// A piece of it that did not fit into the last buffer.
    held: Option<Vec<u8>>,
    /// `true` if the last buffer was a single piece of the current line.
    is_piece: bool,
    budget: TokenBudget,
    /// The bytes that the states hold, and the share for them.
    share: Option<(usize, TokenShare)>,
}

impl Pass {
    /// Begins the next line. Returns `false` if there is none.
    fn begin(&mut self) -> Result<bool, ApiError> {
        if self.left == 0 {
            return Ok(false);
        }
        let Some((checkpoint, state)) = self.states.next_state()? else {
            self.left = 0;
            return Ok(false);
        };
        let needed = state.weight().saturating_mul(HELD);
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        let held = self.share.as_ref().map_or(UNCOUNTED, |(held, _)| *held);
        if needed > held {
            // States grow: a little more than needed, so that not every line takes anew. Nothing
            // waits here, since a reader that waits must not hold bytes.
            self.share = None;
            let more = needed.saturating_add(needed / 4);
            self.share = Some((more, self.budget.now(more)?));
        }
        let state = Arc::new(Folded::new(state.clone(), None));
        let mut point = self.lineage.point(checkpoint.at)?;
        point.lineage = checkpoint.lineage;
        point.checkpoint = Some(checkpoint.id);
        let point = forms::point(&point, checkpoint.hash);
        let chunks = Arc::clone(&self.chunks);
        let line = (&forms::checkpoint(checkpoint), &point);
        self.text = Some(StateText::of_checkpoint(line, state, self.messages, chunks)?);
        self.left -= 1;
        Ok(true)
    }
}

impl Source for Pass {
    fn cancel(&self) -> Cancel {
        self.lineage.cancel().clone()
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut buffer = self.held.take().unwrap_or_default();
        self.is_piece = false;
        let mut begun = 0;
        while buffer.len() < BUFFER && begun < AT_ONCE {
            let Some(text) = &mut self.text else {
                if !self.begin()? {
                    break;
                }
                begun += 1;
                continue;
            };
            let mut piece = text.next()?;
            piece.as_deref_mut().map(one_line);
            match piece {
                None => {
                    buffer.push(b'\n');
                    self.text = None;
                }
                Some(piece) if buffer.is_empty() => {
                    self.is_piece = piece.len() > LONG;
                    buffer = piece;
                }
                Some(piece) if buffer.len() + piece.len() < LONG => buffer.extend(piece),
                Some(piece) => {
                    // A long piece is read again rather than held.
                    if piece.len() <= LONG || !text.again() {
                        self.held = Some(piece);
                    }
                    break;
                }
            }
        }
        Ok(Some(buffer).filter(|buffer| !buffer.is_empty()))
    }

    fn again(&mut self) -> bool {
        self.is_piece && self.text.as_mut().is_some_and(Source::again)
    }
}
